"""Which checkpoints lie below a place, told by listings only: many directories side by side, and
what is found is given at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from core.errors import LocationNotFound, StorageError
from core.settings import Settings
from core.storage.door import Door
from core.storage.listing import Listing
from core.storage.location import Location, child_of, parse_location

# What makes a directory a checkpoint, as far as a listing can tell.
CHECKPOINT_DIRECTORIES = {"offsets", "commits"}
CHECKPOINT_FILE = "metadata"

PIPELINE_DIRECTORY, PIPELINE_LEVELS = "_checkpoints", 5
"""Where a declarative pipeline keeps its checkpoints: in the directories of a catalog, a schema, a table, a
flow and a number, as many levels below this one."""

WAVE = 64
"""Directories that are listed side by side before what was found is given."""

BEHIND = "0"
"""Behind a directory in the order of a store: "0" sorts behind "/"."""


class Search:
    """The checkpoints up to ``checkpoint_levels`` levels below a location, and below a ``_checkpoints``
    there as many as a declarative pipeline has, given as they are found: iterate over it once, each item
    is the paths of some of them, "" when the location is one itself.

    A directory is taken for a checkpoint when it holds ``offsets``, ``commits`` or ``metadata``; what
    lies below it, ``state/`` above all, is not searched, and of a Delta table only directories named
    ``_checkpoint...``. At most ``checkpoints_per_root`` directories are listed, ``listed`` so far. An
    object store gives 1,000 names at a time: more are asked for, a listing for each 1,000, while all of
    them are directories. ``is_complete`` is False when something was left out. A directory that cannot be
    listed is given like a checkpoint: nobody knows that it is none, and who opens it gets the reason.
    On this machine a directory that links lead to again counts once, by its real path where that is below
    the location. ``skipped``: checkpoints that no location can name (a line break), so they cannot be opened.
    ``too_deep``: directories that were not looked into because they lie below the last level.
    Iterating raises :class:`StorageError` when the location cannot be listed, or all of several
    directories of one wave. Who stops iterating stops the search.
    """

    def __init__(self, location: Location, settings: Settings) -> None:
        self.listed = 0
        self.is_complete = True
        self.skipped: list[str] = []
        self.too_deep = 0
        self._location = location
        self._settings = settings
        self._real = os.path.realpath(location.path) if location.is_local else ""
        self._seen = {self._real}
        self._waited: set[str] = set()

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        door = Door.open(self._location, self._settings)
        top = door.list([""], first_page=True)[""]
        self.listed = 1
        if _is_checkpoint(top):
            yield ("",)
            return
        # Directories that are not listed yet, by their depth: the deepest first, so that a checkpoint below
        # the first of thousands of directories need not wait for all of them.
        levels = [deque(self._below(door, top))]
        levels += [deque() for _ in range(self._settings.checkpoint_levels + PIPELINE_LEVELS)]
        linked: list[deque[str]] = [deque() for _ in levels]
        while any(levels) or any(linked):
            if not any(levels):
                levels, linked = linked, levels
            wave: dict[str, int] = {}
            room = min(WAVE, self._settings.checkpoints_per_root - self.listed)
            for depth in reversed(range(len(levels))):
                while levels[depth] and len(wave) < room:
                    path = levels[depth].popleft()
                    if self._is_later(path, linked[depth]):
                        continue
                    wave[path] = depth
            if not wave and room > 0:
                continue
            if not wave:
                self.is_complete = False
                return
            listings = _listed(door, list(wave))
            self.listed += len(wave)
            found = {path for path in wave if path not in listings or _is_checkpoint(listings[path])}
            unnamed = {path for path in found if not self._can_be_named(path)}
            self.skipped += sorted(unnamed)
            if found - unnamed:
                yield tuple(sorted(found - unnamed))
            for path, depth in wave.items():
                if path in found:
                    continue
                if depth + 1 < self._levels_of(path):
                    levels[depth + 1].extend(self._below(door, listings[path]))
                else:
                    self.too_deep += len(_searched(listings[path]))

    def _is_later(self, path: str, linked: deque[str]) -> bool:
        """Whether a directory is not listed now: another path led to it before, or a link leads to it, which
        waits in ``linked`` until all others were listed."""
        if not self._real:
            return False
        own = os.path.join(self._real, path)  # noqa: PTH118
        real = os.path.realpath(own)
        if real in self._seen:
            return True
        if real != own and path not in self._waited:
            self._waited.add(path)
            linked.append(path)
            return True
        self._seen.add(real)
        return False

    def _can_be_named(self, path: str) -> bool:
        """Whether a location of this path can be made, and is the one that was found."""
        try:
            place = child_of(self._location, path)
        except StorageError:
            return False
        return not place.is_local or place.path == os.path.join(self._location.path, path)  # noqa: PTH118

    def _levels_of(self, path: str) -> int:
        """How many levels are searched of what this directory belongs to."""
        parts, most = path.split("/"), self._settings.checkpoint_levels
        if self._location.path.rstrip("/").endswith("/" + PIPELINE_DIRECTORY):
            return max(most, PIPELINE_LEVELS)
        above = parts[:most]
        return (
            max(most, above.index(PIPELINE_DIRECTORY) + 1 + PIPELINE_LEVELS)
            if PIPELINE_DIRECTORY in above
            else most
        )

    def _below(self, door: Door, listing: Listing) -> list[str]:
        """The directories in which a checkpoint can lie below one that was listed."""
        names = _searched(listing)
        while not listing.is_complete and not _is_table(listing):
            if listing.files or not listing.directories or self.listed >= self._settings.checkpoints_per_root:
                self.is_complete = False
                break
            last = max(f"{name}/" for name in listing.directory_names()).rstrip("/")
            listing = door.list_after({listing.prefix: last + BEHIND}, first_page=True)[listing.prefix]
            self.listed += 1
            names += _searched(listing)
        return names


def _listed(door: Door, wave: list[str]) -> dict[str, Listing]:
    """The listings of some directories, without those that cannot be listed while others can."""
    try:
        return door.list(wave, first_page=True)
    except StorageError as error:
        if len(wave) == 1:
            return {}
        failed = error
    with ThreadPoolExecutor(len(wave), "search") as pool:
        alone = list(pool.map(lambda path: _listed(door, [path]), wave))
    if not any(alone):
        raise failed
    return {path: listing for one in alone for path, listing in one.items()}


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
