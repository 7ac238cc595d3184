"""Which processes run, by what the kernel says."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path


def all_ended(pids: Iterable[int], seconds: float = 20) -> bool:
    """Whether none of these processes runs after so many seconds at most."""
    until, left = time.monotonic() + seconds, list(pids)
    while left and time.monotonic() < until:
        left = [pid for pid in left if _runs(pid)]
        time.sleep(0.1)
    return not left


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def group_of(leader: int) -> list[int]:
    """All processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[2]) == leader:
                found.append(int(path.parent.name))
        except (OSError, IndexError):
            continue
    return found
