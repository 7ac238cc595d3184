"""Whether a damaged checkpoint is just an earlier moment of itself: then no file tells that it went back."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.incidents import STATE_NAME
from tests.support.oracle import Base, ids


def went_back_to(base: Base, ck: Path) -> int | None:
    """The newest batch of the earlier moment that this copy looks like in every file; None when something
    shows that later batches have been.

    Offsets end at that batch, commits there or one before, the source logs where its offsets say, the state
    with its version or the one before; every file is as the query has written it.
    """
    offsets, commits = ids(ck / "offsets"), ids(ck / "commits")
    last = max(ids(base.checkpoint / "offsets"))
    if not offsets or offsets[-1] >= last or (commits and commits[-1] not in (offsets[-1], offsets[-1] - 1)):
        return None
    newest = offsets[-1]
    entry = (ck / "offsets" / str(newest)).read_text(encoding="utf-8", errors="replace")
    ends = [int(n) for n in re.findall(r'"logOffset":(\d+)', entry)]
    logs = sorted(path for path in (ck / "sources").glob("*") if path.is_dir())
    if len(logs) != len(ends) or any(_newest(log) > end for log, end in zip(logs, ends, strict=False)):
        return None
    for path in visible(ck):
        found = STATE_NAME.fullmatch(path.name)
        if found is not None and int(found.group(1)) > newest + 1:
            return None
        if _is_old_entry(path, newest):
            continue
        if not any(_same(path, other / path.relative_to(ck)) for other in (base.checkpoint, base.backup)):
            return None
    return newest


def _is_old_entry(path: Path, newest: int) -> bool:
    """Whether no start reads this file: an entry of the logs before the two newest ones."""
    name = path.name
    return path.parent.name in ("offsets", "commits") and name.isdigit() and int(name) < newest - 1


def visible(ck: Path) -> list[Path]:
    """The files that are not hidden."""
    return [path for path in ck.rglob("*") if path.is_file() and not path.name.startswith(".")]


def _same(path: Path, other: Path) -> bool:
    """Whether two files say the same; a line end behind the last line says nothing."""
    return other.is_file() and path.read_bytes().rstrip(b"\n") == other.read_bytes().rstrip(b"\n")


def _newest(log: Path) -> int:
    numbers = [re.match(r"\d+", path.name) for path in log.iterdir()]
    return max((int(found.group()) for found in numbers if found), default=-1)
