"""Damage in a chosen block of an SST file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from core.checkpoint.state_content.sst import verify_sst

Part = Literal["index", "rows", "filter"]


def flip_part(path: Path, part: Part) -> None:
    """Flips one bit so that the first damage is in this part of the file; there is no checksum file beside
    it."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    data = bytearray(path.read_bytes())
    for at in range(4, len(data), 8):
        data[at] ^= 1
        if verify_sst(bytes(data)).part == part:
            path.write_bytes(bytes(data))
            return
        data[at] ^= 1
    raise AssertionError(f"{path} has no {part}")
