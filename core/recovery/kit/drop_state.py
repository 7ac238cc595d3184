"""drop_state: a copy of the checkpoint without its state."""

from __future__ import annotations

from core.recovery.kit.copying import Copy
from core.recovery.kit.run import Run
from core.recovery.kit.words import Checks, is_hidden, show


class WithoutState(Copy):
    """Everything but the state, as it is: query id, batch IDs and positions stay."""

    def is_wanted(self, path: str) -> bool:
        """Everything but the state."""
        return not path.startswith("state/")

    def plan(self) -> dict[str, int]:
        """The files to copy, after a line about them."""
        run, wanted = self.run, self.sizes()
        place = f"{run.old_checkpoint}/state"
        state = run.files.sizes(place) if run.files.exists(place) else {}
        self.show_what_is_copied(wanted, sum(1 for path in state if not is_hidden(path)))
        if run.pending is not None:
            show(f"Batch {run.pending} has no commit: the first start runs it with its planned end offsets.")
        return wanted


def check_ends_of_logs(run: Run) -> Checks:
    """What a start reads first: the newest offsets, the ones before, the newest commit."""
    newest, committed = run.newest_offset, run.last_committed
    offsets = run.files.numbers(f"{run.new_checkpoint}/offsets")
    commits = run.files.numbers(f"{run.new_checkpoint}/commits")
    good = offsets[-1:] == [newest] and commits[-1:] == [committed]
    good = good and newest is not None and (newest == 0 or newest - 1 in offsets)
    text = (
        f"the logs end at batch {newest} (planned) and {committed} (committed), as in the old checkpoint; "
        "there is no state"
    )
    return [(good, text)]
