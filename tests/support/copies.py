"""Copies of a checkpoint that Spark may still be at work on."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path


def copy_of(checkpoint: Path, target: Path) -> Path:
    """A copy of all files that stay while it is made: Spark's maintenance goes on after a query has stopped, gives
    files their names and deletes old ones."""
    return Path(
        shutil.copytree(
            checkpoint, target, ignore=shutil.ignore_patterns(".*.tmp"), copy_function=_copy_if_there
        )
    )


def _copy_if_there(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)
