"""The first look at a location: is it a checkpoint, which batch files does it have, what else lies there.
Four listings, nothing read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.checkpoint.log_directory import LogDirectory, other_leftovers, read_log_directory
from core.checkpoint.model import Leftover
from core.errors import LocationNotFound, NotACheckpoint, NotADirectory, StorageError
from core.messages import say
from core.sparklogs.names import batch_id_of
from core.storage import Door, FileInfo, Listing

PARTS = ("metadata", "offsets", "commits")
WEB = ("http", "https")
"""Stores that are web pages: what lies there is known by the links of a page."""
REST = frozenset({"sources", "state"})  # what may be left of a checkpoint without metadata and logs
CHILDREN_LOOKED_INTO = (
    50  # when the pasted place is no checkpoint: how many directories in it are looked into for one
)

_PARTS_OF_A_CHECKPOINT = {"metadata", "offsets", "commits", "sources", "state", "__tmp_path_dir"}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the listings of the root, ``offsets/``, ``commits/`` and ``sources/`` showed."""

    read_at_ms: int
    metadata: FileInfo | None
    offsets: LogDirectory
    commits: LogDirectory
    has_state: bool
    source_directories: tuple[str, ...]
    source_files: Mapping[str, FileInfo]
    leftovers: tuple[Leftover, ...]
    root: Listing
    is_bare: bool = False
    """Neither metadata nor a log directory: an emptied directory, or one that has ``state/`` or ``sources/``
    alone."""
    has_log_directories: bool = True
    """Both offsets/ and commits/ are there, empty or not; so it is taken where a store has no directories."""


def read_layout(door: Door, before: Layout | None = None, reads_next: int = 0) -> Layout:
    """Lists the location. With ``before`` (a refresh) ``sources/`` is not listed again. ``reads_next``: so
    many log files may be read after that.

    A directory with nothing in it, or with ``state/`` and ``sources/`` alone, is what remains of a checkpoint
    that was emptied; Spark starts from scratch there, or refuses (observed with 3.5 and 4.3). Raises
    :class:`NotACheckpoint` for a directory with anything else, or :class:`StorageError`.
    """
    prefixes = ["", "offsets", "commits"] + ([] if before is not None else ["sources"])
    try:
        listings = door.list(prefixes, reads_next=reads_next)
        there = [name for name in listings[""].directory_names() if name in prefixes]
        unseen = [name for name in there if not listings[name].exists]
        listings |= door.list(unseen, known_there=True) if unseen else {}
        offset_log, commit_log = (read_log_directory(listings[log]) for log in ("offsets", "commits"))
        if _is_torn(offset_log, commit_log):
            listings |= door.list(["offsets"])
            offset_log = read_log_directory(listings["offsets"])
    except (NotADirectory, LocationNotFound) as error:
        suggestion = _outer_checkpoint(door)
        is_web = door.location.protocol in WEB  # an address that answers 404 says nothing of a query
        if suggestion is None and isinstance(error, LocationNotFound) and not is_web:
            raise _gone(error, door.location.url) from error
        if suggestion is None:
            raise
        raise _inside(door.location.url, suggestion) from error
    root = listings[""]
    names, directories = root.names(), root.directory_names()
    found = [
        part
        for part in PARTS
        if (part in names if part == "metadata" else part in directories or listings[part].files)
    ]
    if not found and not _may_be_emptied(door, root):
        raise _not_a_checkpoint(door, root)
    if found == ["offsets"] and re.search(r"/sources/[^/]+$", door.location.url):
        suggestion = _outer_checkpoint(
            door
        )  # an Iceberg source keeps a file sources/<n>/offsets/0 of its own
        if suggestion is not None:
            raise _inside(door.location.url, suggestion)
    leftovers = other_leftovers(root, ("metadata",), ("offsets", "commits", "sources", "state"))
    if before is None:
        sources = listings["sources"]
        source_directories, source_files = sources.directory_names(), _offset_files(sources)
        leftovers += other_leftovers(sources, source_files, source_directories)
    else:
        source_directories, source_files = before.source_directories, before.source_files
        leftovers += [item for item in before.leftovers if item.path.startswith("sources/")]
    return Layout(
        read_at_ms=root.read_at_ms,
        metadata=names.get("metadata"),
        offsets=offset_log,
        commits=commit_log,
        has_state="state" in directories,
        source_directories=source_directories,
        source_files=source_files,
        leftovers=tuple(
            sorted([*leftovers, *offset_log.leftovers, *commit_log.leftovers], key=lambda item: item.path)
        ),
        root=root,
        is_bare=not found,
        has_log_directories=not door.origin.is_local or {"offsets", "commits"} <= set(directories),
    )


def _gone(error: LocationNotFound, url: str) -> LocationNotFound:
    """The same error, and what a start of a query means there."""
    return LocationNotFound(say("checkpoint.gone", error=str(error)), url)


def _may_be_emptied(door: Door, root: Listing) -> bool:
    """Whether nothing lies here but what an emptied checkpoint may still have; false for a part of another
    checkpoint."""
    if not door.location.path.strip("/") or door.location.protocol in WEB:
        return False  # the root of a store is nobody's checkpoint; a page that lists no file is any page
    names = {*root.directory_names(), *(name for name in root.names() if not name.startswith("."))}
    return names <= REST and root.is_complete and _outer_checkpoint(door) is None


def _is_torn(offsets: LogDirectory, commits: LogDirectory) -> bool:
    """Whether a batch is committed that has no offset file. A query that runs writes offsets/N before
    commits/N, so this is what two listings show that were made one after the other: offsets/ is then listed
    once more, after commits/. Still so is damage."""
    return max(offsets.files, default=-1) < max(commits.files, default=-1)


def _offset_files(sources: Listing) -> Mapping[str, FileInfo]:
    # MongoDB keeps its first offset in the FILE sources/<n>.
    return {name: info for name, info in sources.names().items() if batch_id_of(name) is not None}


def _not_a_checkpoint(door: Door, root: Listing) -> NotACheckpoint:
    url = door.location.url
    outer = _outer_checkpoint(door)
    if outer is not None:
        return _inside(url, outer)
    inner = _inner_checkpoints(door, root)
    if len(inner) == 1:
        suggestion = _join(url, inner[0])
        return NotACheckpoint(say("checkpoint.contains_one", url=url, inner=suggestion), url, suggestion)
    if inner:
        sentence = say("checkpoint.contains_several", url=url, count=len(inner), inner=inner)
        return NotACheckpoint(sentence, url, inner=tuple(_join(url, each) for each in inner))
    if door.location.protocol in WEB:
        return NotACheckpoint(say("checkpoint.web_page", url=url), url)
    return NotACheckpoint(say("checkpoint.not_a_checkpoint", url=url, found=_what_is_there(root)), url)


def _what_is_there(root: Listing) -> str:
    names = [name + "/" for name in root.directory_names()] + sorted(root.names())
    if not names:
        return say("checkpoint.found_nothing")
    if "_delta_log/" in names:
        return say("checkpoint.found_delta")
    if "_spark_metadata/" in names:
        return say("checkpoint.found_file_sink")
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names]
    return say("checkpoint.found_names", names=shown)


def _inside(url: str, suggestion: str) -> NotACheckpoint:
    return NotACheckpoint(say("checkpoint.inside", url=url, outer=suggestion), url, suggestion)


def _outer_checkpoint(door: Door) -> str | None:
    """The checkpoint that the location lies in, judged by its path and a listing; None when there is none."""
    location = door.location
    parts = location.url.split("/")
    for at in range(len(parts) - 1, 0, -1):
        if parts[at] not in _PARTS_OF_A_CHECKPOINT:
            continue
        url, inside = "/".join(parts[:at]), "/" + "/".join(parts[at:])
        path = location.path.removesuffix(inside)
        if not path.strip("/") or path == location.path:
            continue
        try:
            root = Door.open(replace(location, url=url, path=path), door.settings).list([""])[""]
        except StorageError:
            continue
        if _looks_like_a_checkpoint(root):
            return url
    return None


def _inner_checkpoints(door: Door, root: Listing) -> list[str]:
    children = root.directories[:CHILDREN_LOOKED_INTO]
    if not children:
        return []
    try:
        listings = door.list(children)
    except StorageError:
        return []
    return [path for path, listing in listings.items() if _looks_like_a_checkpoint(listing)]


def _looks_like_a_checkpoint(root: Listing) -> bool:
    directories = root.directory_names()
    return "offsets" in directories and ("metadata" in root.names() or "commits" in directories)


def _join(url: str, child: str) -> str:
    return url.rstrip("/") + "/" + child
