"""What a script prints, and why it stops."""

from __future__ import annotations

import sys
from typing import Optional

Checks = list[tuple[Optional[bool], str]]  # noqa: UP045  (Python 3.9 reads it when the script starts)
"""What was verified: right, wrong, or (None) not provable; and the sentence."""
KIT_VERSION = "1"


class Refused(Exception):  # noqa: N818  (it is no fault of the script)
    """Why the script stops before it writes to the sink."""


class Unfit(Exception):  # noqa: N818
    """Why an attempt to copy a checkpoint gave no copy that Spark could use."""


def show(text: str) -> None:
    """Prints a text; characters that could move the cursor are escaped."""
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()


def first_line(error: object) -> str:
    """The first line of an error that says something; Spark's own come with a page of Java."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:600] if lines else type(error).__name__


def is_missing(error: object) -> bool:
    """Whether a file system says that a file or a directory is not there (any more)."""
    return any(name in str(error) for name in ("FileNotFoundException", "NoSuchFileException"))


def is_verified(path: str) -> bool:
    """Whether Spark compares the file with Hadoop's checksum file when it loads it: damage must not be copied
    unnoticed."""
    return path.endswith((".zip", ".sst"))


def is_hidden(path: str) -> bool:
    """Hadoop's own checksum files and unfinished writes, which no start reads; a copy gets checksum files of
    its own."""
    return path.rpartition("/")[2].startswith(".") or path.endswith("_$folder$")
