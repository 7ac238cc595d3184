"""Directories for what Spark needs while it runs: locked for as long as their process lives, and removed by
the next one where it was killed."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import IO


def make_scratch(base: Path, prefix: str) -> tuple[Path, IO[str]]:
    """A private directory below ``base`` and its lock, which lasts until it is closed or the process ends.

    First removes what processes left behind under the same prefix that were killed. Raises OSError.
    """
    for root in base.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), (root / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(root, ignore_errors=True)
    root = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    held = (root / "lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return root, held
