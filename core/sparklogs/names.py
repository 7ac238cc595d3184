"""What the file names in Spark's log directories mean. Nothing is read here.

Rules (Spark 2.1 to 4.3): a batch file is a file whose whole name is a decimal number; in a compactible log
(file source, file sink) the name may also be ``<number>.compact``. Everything else is ignored by Spark, even
a DIRECTORY called ``99`` (observed with 3.4 to 4.3).
"""

from __future__ import annotations

import re
from typing import Literal

LARGEST_ID = 2**63 - 1  # Spark keeps ids as signed 64-bit numbers; a longer run of digits is no id to it

NameKind = Literal["batch", "compact", "temporary", "checksum", "marker", "foreign"]

_COMPACT = re.compile(r"([0-9]+)\.compact")


def batch_id_of(name: str) -> int | None:
    """The id that Spark reads from a file name, or None. ``007`` is 7 (and Spark then fails to open the file
    called 7)."""
    if not (name.isascii() and name.isdigit()) or len(name) > 40:
        return None
    number = int(name)
    return number if number <= LARGEST_ID else None


def compact_id_of(name: str) -> int | None:
    """The log id of ``<number>.compact``, or None."""
    match = _COMPACT.fullmatch(name)
    return batch_id_of(match[1]) if match else None


def name_kind(name: str) -> NameKind:
    """What a file in a log directory is, by its name alone.

    ``.<name>.crc`` are Hadoop's checksum side files, ``.<name>.<uuid>.tmp`` (with or without ``.TID<n>``)
    unfinished writes, and ``<dir>_$folder$`` the directory markers of older S3 connectors.
    """
    if batch_id_of(name) is not None:
        return "batch"
    if compact_id_of(name) is not None:
        return "compact"
    if name.endswith("_$folder$"):
        return "marker"
    if name.endswith((".tmp", ".tmp.crc")):
        return "temporary"
    if is_hidden_checksum(name):
        return "checksum"
    return "foreign"


def is_hidden_checksum(name: str) -> bool:
    """Whether Hadoop's local file system leaves this file out of every listing: ``.<name>.crc``, of an
    unfinished write too."""
    return name.startswith(".") and name.endswith(".crc")


def checksum_owner(name: str) -> str:
    """The name of the file that the side file ``.<name>.crc`` belongs to."""
    return name[1:-4]
