"""A copy of the old checkpoint beside it, from which a recipe leaves out files or whose files it alters."""

from __future__ import annotations

from core.recovery.kit.run import Run, under_another_name
from core.recovery.kit.sink import check_sink_is_ours
from core.recovery.kit.words import Checks, Refused, is_hidden, is_verified, show


class Copy:
    """Which files of the old checkpoint are in the copy, and with which text. A recipe overrides what
    differs."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def is_wanted(self, path: str) -> bool:
        """Whether a file is in the copy."""
        return True

    def altered(self, path: str) -> str | None:
        """The text of a file that is not copied as it is; None for all the others."""
        return None

    def check_sink(self) -> None:
        """Asked in the dry run, and once more right before the copy gets its name."""
        check_sink_is_ours(self.run, self.run.old_checkpoint)

    def check_can_move(self) -> None:
        """Refuses logs that are found by their whole path."""
        everything = [path for path in self.run.files.sizes(self.run.old_checkpoint) if not is_hidden(path)]
        tracking = [path for path in sorted(everything) if "_schema_log" in path]
        if tracking:
            raise Refused(
                f"{self.run.old_checkpoint}/{tracking[0]} tracks the schema of a Delta source and names its "
                "place, so a copy would not be used."
            )

    def sizes(self) -> dict[str, int]:
        """What the new checkpoint consists of, by path, with the sizes in the old one."""
        sizes = self.run.files.sizes(self.run.old_checkpoint)
        return {path: size for path, size in sizes.items() if not is_hidden(path) and self.is_wanted(path)}

    def finish(self, path: str, place: str) -> None:
        """Writes what is altered over a copied file."""
        text = self.altered(path)
        if text is not None:
            self.run.files.replace(place, text)

    def is_right(self, path: str) -> bool:
        """Whether a file of the new checkpoint has the content that it must have."""
        new, text = f"{self.run.new_checkpoint}/{path}", self.altered(path)
        if text is not None:
            return self.run.files.read(new) == text
        return self.run.files.has_same_content(f"{self.run.old_checkpoint}/{path}", new)

    def show_what_is_copied(self, wanted: dict[str, int], left_out: int) -> None:
        """One line for the dry run."""
        old, new = self.run.old_checkpoint, self.run.new_checkpoint
        size = sum(wanted.values())
        show(
            f"{len(wanted)} files ({size:,} bytes) of {old} are copied to {new}; {left_out} files are left "
            "out."
        )


def check_unused(run: Run, newest: int) -> None:
    """Refuses when the query has already run with the new checkpoint: it is past what this script makes."""
    later = [number for number in run.files.numbers(f"{run.new_checkpoint}/offsets") if number > newest]
    if later:
        raise Refused(
            f"{run.new_checkpoint} was made by this script, and the query has run with it since (batch "
            f"{later[-1]}). Nothing is left to do."
        )


def check_sink_of(copy: Copy) -> None:
    """Refuses a sink that does not fit, as long as the copy is not made."""
    if not copy.run.is_made:
        copy.check_sink()


def copy_checkpoint(copy: Copy, wanted: dict[str, int]) -> None:
    """The wanted files under the new name: complete, or not there at all."""
    run, files = copy.run, copy.run.files
    old, new = run.old_checkpoint, run.new_checkpoint
    if not files.exists(new):
        with under_another_name(run) as building:
            for path in sorted(wanted):
                files.copy(f"{old}/{path}", f"{building}/{path}", is_verified(path))
                copy.finish(path, f"{building}/{path}")
            if copy.sizes() != wanted:
                raise Refused(
                    "The checkpoint changed while it was copied, so its query is still running. Stop it and "
                    "switch off automatic restarts first."
                )
            copy.check_sink()
    for path in sorted(set(wanted) - set(files.sizes(new))):
        # A store without directories renames file by file, and that was interrupted.
        files.copy(f"{old}/{path}", f"{new}/{path}", is_verified(path))
        copy.finish(path, f"{new}/{path}")


def check_copy(copy: Copy, wanted: dict[str, int]) -> Checks:
    """Every file of the new checkpoint has the content that it must have, and there is no other file."""
    sizes = copy.run.files.sizes(copy.run.new_checkpoint)
    there = {path for path in sizes if not is_hidden(path)}
    found = (
        (sorted(set(wanted) - there), "are missing"),
        (sorted(there - set(wanted)), "do not belong to it"),
        ([path for path in sorted(set(wanted) & there) if not copy.is_right(path)], "differ"),
    )
    checks: Checks = []
    for paths, what in found:
        if paths:
            text = f"{len(paths)} files of the new checkpoint {what}, for example {paths[0]}"
            checks.append((False, text))
    right = f"the {len(wanted)} files of the new checkpoint have the content of the old ones"
    return checks or [(True, right)]
