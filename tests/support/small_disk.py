"""A disk that is full soon: a file system in memory, of a given size."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def mounted(place: Path, size: str) -> Iterator[Path]:
    """Mounts it at ``place``. Raises PermissionError where this user may not mount."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PermissionError("there is no mount") from error
    if made.returncode:
        raise PermissionError(made.stderr.strip())
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
