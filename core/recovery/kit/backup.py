"""backup: a verified copy of a checkpoint, whose query may run meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from core.recovery.kit.files import Files
from core.recovery.kit.older_files import check_older_files
from core.recovery.kit.placement import Placed, placed_in, refuse_twice
from core.recovery.kit.run import Run
from core.recovery.kit.starting import absolute_paths, check_start, newest_in, show_unread_state
from core.recovery.kit.words import Checks, Refused, Unfit, show

COPY_ORDER = ["commits", "metadata", "state", "offsets", "sources"]
"""The reverse of the order in which Spark writes."""
COPY_ATTEMPTS = 3


class Backup:
    """A backup after the newest committed batch, complete and verified, or none at all. ``file_sources``: the
    directory of each file source's log; ``is_async``: not every batch has files of its own."""

    def __init__(self, run: Run, file_sources: Mapping[str, str], is_async: bool) -> None:
        self.run, self.file_sources, self.is_async = run, file_sources, is_async
        self.checkpoint, self.place = run.old_checkpoint, run.new_checkpoint
        self.placed: list[Placed] = []
        self.manifest_place = self.place.rstrip("/") + ".manifest.json"
        run.afterwards = f"The option restore_backup restores {self.place!r} into a new directory."

    def look(self) -> dict[str, Any] | None:
        """Every check that only reads; gives the manifest of a backup that is there already."""
        files, checkpoint, place = self.run.files, self.checkpoint, self.place
        if not files.exists(f"{checkpoint}/offsets"):
            raise Refused(f"{checkpoint} has no offsets: it is not a checkpoint.")
        newest = newest_in(files, checkpoint, "commits")
        if newest is None:
            raise Refused("No batch is committed yet, so there is nothing that a backup could bring back.")
        for one, other in ((place, checkpoint), (checkpoint, place)):
            if files.is_inside(one, other):
                raise Refused(f"{one} lies inside {other}. Choose another location for BACKUP.")
        if not files.exists(place):
            show(f"The backup will be made in {place}; the newest batch that is committed now is {newest}.")
            show_unread_state(self.run, checkpoint)
            return None
        if not files.exists(self.manifest_place):
            raise Refused(
                f"{place} exists and has no {self.manifest_place}: this script did not make it. Choose "
                "another location for BACKUP."
            )
        manifest: dict[str, Any] = json.loads(files.read(self.manifest_place))
        if manifest["checkpoint"] != files.plain_path(checkpoint):
            raise Refused(
                f"{place} is a backup of {manifest['checkpoint']}. Choose another location for BACKUP."
            )
        show(f"{place} was made before, after batch {manifest['batch']}; it is verified again.")
        show_unread_state(self.run, place)
        return manifest

    def make(self) -> dict[str, Any]:
        """Copies, until a copy fits together; gives its manifest."""
        run, files = self.run, self.run.files
        partial = self.place.rstrip("/") + ".partial"
        for attempt in range(1, COPY_ATTEMPTS + 1):
            if files.exists(partial):
                files.put_aside(partial)
            try:
                copied = self.copy_in_order(partial)
                unfit = [text for good, text in self.check_copy(partial) if good is False]
                if unfit:
                    raise Unfit("; ".join(unfit))
                break
            except Unfit as reason:
                show(f"Attempt {attempt} of {COPY_ATTEMPTS} gave no copy that fits together: {reason}.")
        else:
            raise Refused(
                "The checkpoint changes faster than it can be copied, or it is damaged. Stop the query and "
                f"try again. The last attempt: {partial}"
            )
        # The state of a query that runs is read from the copy, never from the checkpoint.
        self.placed = placed_in(run, partial)
        refuse_twice(
            self.placed,
            int(str(newest_in(files, partial, "commits"))),
            f"A backup of it would bring the damage back; the copy stays in {partial}.",
        )
        there = sorted(files.walk(partial).items())
        manifest: dict[str, Any] = {
            "made_by": run.made_by,
            "checkpoint": files.plain_path(self.checkpoint),
            "query_id": json.loads(files.read(f"{partial}/metadata"))["id"],
            "batch": newest_in(files, partial, "commits"),
            "pending": planned_in(files, partial),
            "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "absolute_paths": absolute_paths(files, partial),
            "files": [{"file": name, "size": size, "sha256": copied[name]} for name, size in there],
        }
        # Before the backup has its name: a backup with its name always has its manifest.
        files.replace(self.manifest_place, json.dumps(manifest, indent=1))
        run.changed.append(f"{self.manifest_place} is the list of the files of the backup; undo: remove it")
        files.rename(partial, self.place)
        run.changed.append(f"{self.place} is a new copy of the checkpoint; undo: remove it")
        show(f"Backup: {len(copied)} files in {self.place}, after batch {manifest['batch']}")
        for name in manifest["absolute_paths"]:
            show(
                f"{name} names files of {self.checkpoint} by their whole path; the option restore_backup "
                "rewrites it."
            )
        return manifest

    def copy_in_order(self, target: str) -> dict[str, str]:
        """Copies directory by directory; gives the SHA-256 of every file. Offsets that lead beyond the cut
        are left out."""
        files, checkpoint = self.run.files, self.checkpoint
        files.make(target)
        copied: dict[str, str] = {}
        gone, committed = 0, -1
        there = files.names(checkpoint)
        others = [name for name in there if name not in COPY_ORDER and not name.startswith((".", "__tmp"))]
        for name in [*COPY_ORDER, *others]:
            if name not in there:
                continue
            if name in files.directories(checkpoint):
                files.make(f"{target}/{name}")
                wanted = [f"{name}/{file}" for file in files.walk(f"{checkpoint}/{name}")]
            else:
                wanted = [name]
            for file in wanted:
                log, _, number = file.partition("/")
                if log == "offsets" and number.isdigit() and int(number) > committed + 1:
                    continue
                digest = files.copy_exactly(f"{checkpoint}/{file}", f"{target}/{file}")
                if digest is None:
                    gone += 1
                else:
                    copied[file] = digest
            if name == "commits":
                newest = newest_in(files, target, "commits")
                if newest is None:
                    raise Unfit("no commit could be copied")
                committed = newest
        if gone:
            show(
                f"{gone} files were removed by the running query before they were copied; what a start needs "
                "is checked below."
            )
        return copied

    def check_content(self, manifest: Mapping[str, Any]) -> Checks:
        """The backup has exactly the files of the manifest, with their content."""
        files = self.run.files
        wanted = {entry["file"]: entry for entry in manifest["files"]}
        there = files.walk(self.place)
        wrong = sorted(set(wanted) ^ set(there))
        wrong += [
            name
            for name in sorted(set(wanted) & set(there))
            if files.digest(f"{self.place}/{name}") != wanted[name]["sha256"]
        ]
        if wrong:
            text = f"{len(wrong)} files of the backup differ from the manifest, for example {wrong[0]}"
            return [(False, text)]
        text = f"the backup has the {len(wanted)} files that were copied"
        older = check_older_files(self.run, self.checkpoint, manifest["batch"])
        return [(True, f"{text}, with the content they had in the checkpoint"), *older]

    def check_copy(self, place: str) -> Checks:
        """What a start needs is in the copy and fits together."""
        return check_start(self.run, place, self.file_sources, self.is_async)


def planned_in(files: Files, place: str) -> int | None:
    """The batch that is planned and not committed; None when there is none."""
    planned, committed = newest_in(files, place, "offsets"), newest_in(files, place, "commits")
    return planned if planned != committed else None
