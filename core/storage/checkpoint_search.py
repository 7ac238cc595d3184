"""Which checkpoints lie below a place, told by listings only: level by level, each level side by side."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from core.errors import LocationNotFound, StorageError
from core.settings import Settings
from core.storage.door import Door
from core.storage.listing import Listing
from core.storage.location import Location, parse_location

# What makes a directory a checkpoint, as far as a listing can tell.
CHECKPOINT_DIRECTORIES = {"offsets", "commits"}
CHECKPOINT_FILE = "metadata"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The checkpoints below a place: their paths relative to it in text order, "" when it is one itself.

    ``is_complete`` is False when ``checkpoints_per_root`` stopped the search after ``listed`` directories, or
    a directory had more names than were looked at.
    """

    paths: tuple[str, ...]
    listed: int
    is_complete: bool


def checkpoints_below(location: Location, settings: Settings) -> SearchResult:
    """The checkpoints up to ``checkpoint_levels`` levels below a location.

    A directory is taken for a checkpoint when it holds ``offsets``, ``commits`` or ``metadata``; what lies
    below it, ``state/`` above all, is not searched, and of a Delta table only directories named
    ``_checkpoint...``. At most ``checkpoints_per_root`` directories are listed, on an object store the first
    1,000 names of each. Raises :class:`StorageError` when the location cannot be listed.
    """
    door = Door.open(location, settings)
    top = door.list([""], first_page=True)[""]
    if _is_checkpoint(top):
        return SearchResult(("",), 1, True)
    paths: list[str] = []
    listed, is_complete = 1, top.is_complete
    level = _searched(top)
    for depth in range(settings.checkpoint_levels):
        is_complete = is_complete and len(level) <= settings.checkpoints_per_root - listed
        level = level[: settings.checkpoints_per_root - listed]
        if not level:
            break
        listings = door.list(level, first_page=True)
        listed += len(level)
        paths += [path for path, listing in listings.items() if _is_checkpoint(listing)]
        others = [listing for listing in listings.values() if not _is_checkpoint(listing)]
        if depth + 1 < settings.checkpoint_levels:
            is_complete = is_complete and all(listing.is_complete or _is_table(listing) for listing in others)
            level = [child for listing in others for child in _searched(listing)]
    return SearchResult(tuple(sorted(paths)), listed, is_complete)


def checkpoint_around(location: Location, settings: Settings) -> Location | None:
    """The checkpoint that a place is, or lies in, as far as the directories above it can be listed from
    here: one listing each."""
    if location.is_local:
        location = parse_location(os.path.realpath(location.path))
    for place in (location, *_above(location)):
        try:
            listing = Door.open(place, settings).list([""], first_page=True)[""]
        except LocationNotFound:  # not made yet
            continue
        except StorageError:  # not to be asked from here
            break
        if not CHECKPOINT_DIRECTORIES.isdisjoint(listing.directory_names()):
            return place
    return None


def _above(location: Location) -> list[Location]:
    if location.is_local:
        return [parse_location(str(path)) for path in Path(location.path).parents]
    scheme, _, path = location.url.partition("://")
    parents = (str(parent) for parent in PurePosixPath(path).parents if str(parent) != ".")
    return [parse_location(f"{scheme}://{parent}", location.storage_options) for parent in parents]


def _is_checkpoint(listing: Listing) -> bool:
    return (
        not CHECKPOINT_DIRECTORIES.isdisjoint(listing.directory_names()) or CHECKPOINT_FILE in listing.names()
    )


def _is_table(listing: Listing) -> bool:
    return "_delta_log" in listing.directory_names()


def _searched(listing: Listing) -> list[str]:
    """The directories in which a checkpoint can lie. Hidden and underscored names are not for data by
    Hadoop's convention, names with "=" are partitions of a table; but ``_checkpoint`` in a table is where
    many people put it."""
    found = zip(listing.directories, listing.directory_names(), strict=True)
    table = _is_table(listing)
    return [
        path
        for path, name in found
        if name.startswith("_checkpoint") or not (table or name[0] in "._" or "=" in name)
    ]
