"""Checkpoint, sources and sink before and after a rehearsal: names, sizes, times, and the content of what was
copied."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import StorageError
from core.messages import say
from core.rehearsal.copying import Copy
from core.rehearsal.model import PlaceCompared
from core.settings import Settings
from core.storage import Door, FileInfo, Listing, Location, parse_location

_WAVE_FILES = 256
_PATTERN = frozenset("*?[]{}")


@dataclass(frozen=True, slots=True)
class Seen:
    """A place as it was before. ``why``: why it could not be listed, empty when it was."""

    label: str
    door: Door | None
    prefix: str
    listing: Listing | None
    why: str = ""


def look(label: str, place: str | Location, settings: Settings, *, below: str = "") -> Seen:
    """A place as it is now, for :func:`compare`. ``below``: only this directory of it. Never raises: what
    cannot be listed says why."""
    if isinstance(place, str) and _PATTERN & set(place):
        return Seen(label, None, below, None, say("rehearse.place_is_pattern"))
    try:
        door = Door.open(parse_location(place) if isinstance(place, str) else place, settings)
        return Seen(label, door, below, door.list([below], recursive=True, first_page=True)[below])
    except StorageError as error:
        return Seen(label, None, below, None, str(error))


def compare(before: Seen) -> PlaceCompared:
    """The place as it is now against what it was."""
    if before.door is None or before.listing is None:
        return PlaceCompared(before.label, say("rehearse.place_not_compared", reason=before.why), None)
    try:
        now = before.door.list([before.prefix], recursive=True, first_page=True)[before.prefix]
    except StorageError as error:
        return PlaceCompared(before.label, say("rehearse.place_not_compared", reason=error), None)
    is_whole = before.listing.is_complete
    how = say("rehearse.place_listed") if is_whole else say("rehearse.place_listed_part")
    changed, added = _differences(before.listing.files, now.files)
    return PlaceCompared(before.label, how, len(before.listing.files), changed, added)


def compare_checkpoint(door: Door, copy: Copy) -> PlaceCompared:
    """The checkpoint now against what was copied: its listing, and the content of every file of the copy."""
    label = say("rehearse.place_checkpoint")
    now = door.list([""], recursive=True)[""]
    changed, added = _differences(copy.listing.files, now.files)
    differing = set(changed)
    paths = list(copy.hashes)
    for at in range(0, len(paths), _WAVE_FILES):
        wave = [FileInfo(path, None) for path in paths[at : at + _WAVE_FILES]]
        for path, content in door.read(wave).items():
            if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != copy.hashes[path]:
                differing.add(path)
    how = say("rehearse.place_hashed", hashed=len(paths))
    return PlaceCompared(label, how, len(copy.listing.files), tuple(sorted(differing)), added)


def _differences(
    before: Mapping[str, FileInfo], now: Mapping[str, FileInfo]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    changed = [path for path, info in before.items() if path not in now or _told(now[path]) != _told(info)]
    return tuple(sorted(changed)), tuple(sorted(now.keys() - before.keys()))


def _told(info: FileInfo) -> tuple[int | None, int | None, str | None]:
    return info.size_bytes, info.modified_ms, info.etag
