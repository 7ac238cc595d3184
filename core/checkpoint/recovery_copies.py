"""What a recovery script leaves beside a checkpoint and no query starts from, by its name: the backup, the
checkpoint that a refresh puts aside, a copy that is not finished."""

from __future__ import annotations

import re
from typing import Literal

RecoveryCopy = Literal["backup", "put_aside", "unfinished"]

_KINDS: dict[str, RecoveryCopy] = {"backup": "backup", "before-refresh": "put_aside"}
_MADE_AFTER = re.compile(r"\.(backup|before-refresh)-batch-(\d{1,18}|none)$")
_UNFINISHED = re.compile(
    r"\.(backup-batch|before-refresh-batch|reset-after-batch|refresh-after-batch|rewound-to-batch"
    r"|repaired-after-batch|without-batch|without-state-after-batch|with-\d+-partitions|repartitioned|restored)"
    r"[\w-]*\.preparing$"
)


def recovery_copy(url: str, last_committed: int | None) -> RecoveryCopy | None:
    """Which copy of a recovery script lies at this place; None for anything else, and where a later batch
    than the one in the name is committed: then a query runs on it.

    >>> recovery_copy("/data/orders.backup-batch-6", 6)
    'backup'
    >>> recovery_copy("/data/orders.backup-batch-6", 7)
    """
    name = url.rstrip("/").rpartition("/")[2]
    if _UNFINISHED.search(name):
        return "unfinished"
    found = _MADE_AFTER.search(name)
    if found is None:
        return None
    newest = -1 if found[2] == "none" else int(found[2])
    is_as_made = last_committed is None or last_committed <= newest
    return _KINDS[found[1]] if is_as_made else None
