"""How a run ends: the verdict, and one sentence for an error that no step foresees."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

from core.recovery.kit.run import Run
from core.recovery.kit.words import Checks, first_line, show


def stopped(run: Run, error: Exception) -> int:
    """One sentence for an error that no step foresees, what was changed until then, and where the trace
    is."""
    place: Path | None = Path(tempfile.gettempdir()) / f"recovery-{run.plan_id}.trace.txt"
    try:
        with Path(str(place)).open("w", encoding="utf-8", errors="backslashreplace") as trace:
            traceback.print_exception(error, file=trace)
    except OSError:
        place = None
    show(f"Stopped: {type(error).__name__}: {first_line(error)}")
    if run.changed:
        show("Changed by this run so far:")
        for line in run.changed:
            show(f"  {line}")
        show("When the cause is removed, run the script again: it continues where it stopped.")
    else:
        show("Nothing was changed.")
    if place is not None:
        show(f"The whole trace: {place}")
    return 1


def refused(reason: Exception, changed: list[str]) -> int:
    """Why the script stops, and what it has changed before that."""
    show(f"Refused: {reason}")
    for line in changed:
        show(f"  {line}")
    return 4


def verdict(checks: Checks) -> int:
    """Prints the checks and what they amount to: 0 proven, 5 not everything could be checked, 3 something is
    wrong."""
    for good, text in checks:
        show(f"  {'ok' if good else 'NOT CHECKED' if good is None else 'FAILED'}: {text}")
    found = [good for good, _ in checks]
    return 3 if False in found else 5 if None in found else 0
