"""skip_batch: a copy of the checkpoint that stands behind a planned batch which fails at every start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.copying import Copy
from core.recovery.kit.files import file_log
from core.recovery.kit.run import Run
from core.recovery.kit.sink import check_sink_is_ours, delta_epoch, sink_numbers
from core.recovery.kit.words import Checks, Refused, show


class BehindBatch(Copy):
    """The newest committed offsets end where the skipped batch was planned to end; its plan is left out.
    ``skipped``: what is not processed, in words; ``file_sources``: log entries of each file source."""

    def __init__(self, run: Run, skipped: Sequence[str], file_sources: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(run)
        self.skipped, self.file_sources = skipped, file_sources
        self.kept_in = run.new_checkpoint.rstrip("/") + ".skipped-files"

    def is_wanted(self, path: str) -> bool:
        """Everything but the plan of the batch that is skipped."""
        return path != f"offsets/{self.run.pending}"

    def altered(self, path: str) -> str | None:
        """The newest committed offsets."""
        run, files = self.run, self.run.files
        if path != f"offsets/{run.last_committed}":
            return None
        committed = files.read(f"{run.old_checkpoint}/{path}").splitlines()
        planned = files.read(f"{run.old_checkpoint}/offsets/{run.pending}").splitlines()
        if committed[0] != planned[0] or len(committed) != len(planned) or len(planned) < 3:
            raise Refused(
                f"offsets/{run.last_committed} and offsets/{run.pending} do not name the same sources."
            )
        ends = [line if planned[at] == "-" else planned[at] for at, line in enumerate(committed)]
        return "\n".join([*committed[:2], *ends[2:]])

    def check_sink(self) -> None:
        """A sink that has the batch has its rows: a plain start then skips the write, and nothing has to be
        left out."""
        run, newest = self.run, None
        check_sink_is_ours(run, run.old_checkpoint)
        if run.sink == "file":
            newest = max(sink_numbers(run.files, run.sink_path) or [-1])
        if run.sink == "delta":
            newest = delta_epoch(run)
        if newest is not None and run.pending is not None and newest >= run.pending:
            raise Refused(
                f"The sink already has batch {run.pending}, so it would skip what comes under this batch ID. "
                "Start the query again as it is."
            )

    def check_no_state(self) -> None:
        """Refuses a checkpoint with state."""
        if self.run.files.exists(f"{self.run.old_checkpoint}/state"):
            raise Refused("The checkpoint has state, for which skipping a batch was not verified.")

    def plan(self) -> dict[str, int]:
        """The files to copy, after lines about them and about what is skipped."""
        run, wanted = self.run, self.sizes()
        newest = run.last_committed
        for path in ["metadata", f"offsets/{newest}", f"commits/{newest}"]:
            if path not in wanted:
                raise Refused(f"{run.old_checkpoint}/{path} is missing, so a copy would not start.")
        self.altered(f"offsets/{newest}")
        self.show_what_is_copied(wanted, 1)
        show(f"Never processed: batch {run.pending}.")
        for line in [*self.skipped, *self.skipped_files()]:
            show(f"  {line}")
        return wanted

    def record(self) -> dict[str, Any]:
        """What is skipped stays in the record of this script."""
        batch, names = self.run.pending, self.skipped_files()
        return {"skipped_batch": batch, "skipped": self.skipped, "skipped_files": names}

    def skipped_files(self) -> list[str]:
        """The input files of the batch, from the source logs; they are URIs."""
        return [
            entry["path"]
            for source in self.file_sources
            for entry in file_log(
                self.run.files,
                f"{self.run.old_checkpoint}/{source['directory']}",
                source["read"],
                source["planned"],
            )
        ]

    def keep_files(self) -> Checks:
        """Copies the input files of the batch, to be repaired and put back under new names."""
        run, files = self.run, self.run.files
        kept = {}
        for number, name in enumerate(unquote(name) for name in self.skipped_files()):
            kept[name] = f"{self.kept_in}/{number:05d}-{name.rpartition('/')[2]}"
        if kept:
            run.changed.append(f"{self.kept_in} has copies of input files; undo: remove it")
        gone = [name for name in kept if not files.exists(name)]
        for name, copy in kept.items():
            if name in gone or (files.exists(copy) and files.has_same_content(name, copy)):
                continue
            if files.exists(copy):
                files.put_aside(copy)  # an earlier run was cut off here, or somebody has repaired it already
            files.copy(name, copy)
        checks: Checks = []
        if gone:
            text = f"{len(gone)} input files of the batch are gone, for example {gone[0]}"
            checks.append((None, text))
        there = {name: copy for name, copy in kept.items() if name not in gone}
        if there:
            good = all(files.has_same_content(name, copy) for name, copy in there.items())
            text = f"{len(there)} input files of the batch are kept in {self.kept_in} with their content"
            checks.append((good, text))
        return checks

    def check_ends(self) -> Checks:
        """The logs of the copy end at the newest committed batch."""
        run = self.run
        ends = [run.files.numbers(f"{run.new_checkpoint}/{log}")[-1:] for log in ("offsets", "commits")]
        text = (
            f"the logs end at batch {run.last_committed}, whose end offsets are those of batch {run.pending}"
        )
        return [(ends == [[run.last_committed]] * 2, text)]
