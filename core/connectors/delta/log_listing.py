"""Which files of ``_delta_log`` are listed: all of a short log; of a long one the end, found by
``_last_checkpoint``, and the rest when a question needs it.

Delta writes ``_last_checkpoint`` after each log checkpoint; it names that version (Delta protocol). It is a
hint: it may be missing, older than the newest log checkpoint, or that of another copy of the table. What
follows its version is listed up to the end, so that the newest version is the newest one that is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from core.connectors.delta.log_names import LOG, LogNames, log_names
from core.sparklogs.budget import read_within
from core.storage import Door, FileInfo

HINT = "_last_checkpoint"
BEFORE_HINT = 250
"""So many versions before the one that is named are listed too: they come on the same page, and are what most
questions ask for (the setting ``table_versions`` is 200)."""

_MOST_HINT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogListing:
    """What is known of a log. ``end``: its names from version ``since`` on, 0 for all of them; ``first``: the
    oldest commit that is there, None when none is; ``exists``: whether there is such a directory."""

    end: LogNames
    since: int
    first: int | None
    read_at_ms: int
    exists: bool


def list_end(door: Door) -> LogListing:
    """A log of up to 1,000 names with one listing. The end of a longer one with three and the hint, where the
    store can begin behind a name; else all. Raises :class:`~core.storage.StorageError`."""
    listing = door.list([LOG], first_page=door.begins_behind_names)[LOG]
    names = log_names(listing.files.values())
    first = next(iter(names.commits), None)
    if not listing.is_complete:
        since = _hinted(door)
        if since is not None and first is not None and since > first:
            behind = door.list_after({LOG: f"{since - 1:020d}~"})[LOG]
            end = log_names(behind.files.values())
            if end.newest is not None:
                return LogListing(end, since, first, listing.read_at_ms, True)
        last = max([*listing.names(), *listing.directory_names()])
        behind = door.list_after({LOG: last})[LOG]
        names = log_names([*listing.files.values(), *behind.files.values()])
        first = next(iter(names.commits), None)
    return LogListing(names, 0, first, listing.read_at_ms, listing.exists)


def list_all(door: Door) -> LogNames:
    """Every name of the log."""
    return log_names(door.list([LOG])[LOG].files.values())


def _hinted(door: Door) -> int | None:
    """From which version the end is listed; None without a hint that can be used."""
    info = door.list_after({LOG: "_"}, first_page=True)[LOG].names().get(HINT)
    version = _version(door, info) if info is not None else None
    return None if version is None else max(0, version - BEFORE_HINT)


def _version(door: Door, info: FileInfo) -> int | None:
    content = read_within(door, [info], _MOST_HINT_BYTES)[info.path]
    try:
        fields = orjson.loads(content) if isinstance(content, bytes) else None
    except ValueError:
        return None
    version = fields.get("version") if isinstance(fields, dict) else None
    return version if isinstance(version, int) and not isinstance(version, bool) and version >= 0 else None
