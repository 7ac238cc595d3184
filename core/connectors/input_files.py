"""The input files that the log of a file source names, looked for where they lie: their full paths stand in
the log. Only sizes and times are asked for, nothing is read, and only what may be opened is looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from core.checkpoint.model import FileLogEntry
from core.errors import StorageError
from core.settings import Settings
from core.storage import Door, FileInfo, Gone, Location, Look, ReadFailure, parse_location
from core.storage.evidence import ENDING
from core.storage.location import ALIASES
from core.storage.roots import locate

# So many other files of the log are looked for in a folder, to see whether it is the one that Spark reads.
WITNESSES = 5
# One pair of credentials opens every bucket of these stores; of the others only the one of the checkpoint.
MANY_BUCKETS = ("s3", "gs", "abfs")
# Stores whose paths here begin with the bucket, as Spark's do.
_BY_TEXT = ("s3", "gs")


@dataclass(frozen=True, slots=True)
class InputLook:
    """What became of some input files. Paths as the log has them.

    ``gone`` and ``changed`` (another time than in the log) were looked for; ``unseen`` could not be: not on
    this machine, not to be opened here, more than the limit. ``is_same_place``: other files that the log
    names lie in these folders with their times, so that these are the folders that Spark reads (a checkpoint
    may have been copied to another machine). ``may_be_renamed``: files that the log does not name could be
    those that are gone, under another name: Spark then takes them for new ones.
    """

    gone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    is_same_place: bool = True
    may_be_renamed: bool = False


def look_for_inputs(
    wanted: Sequence[FileLogEntry],
    known: Iterable[FileLogEntry],
    home: Location,
    settings: Settings,
    place: Location | None = None,
) -> InputLook:
    """Looks for ``wanted``, at most the setting ``input_files`` of them; ``known`` are all entries of the
    log.

    ``home`` is the checkpoint: local paths are looked at when it is local itself, others when they lie in
    its store. ``place`` is where a user said that the source reads; then only files below it are looked at,
    and all of them.
    """
    by_folder: dict[str, dict[str, FileLogEntry]] = {}
    for entry in known:
        folder, _, name = _plain(entry.path).rpartition("/")
        by_folder.setdefault(folder, {})[name] = entry
    chosen = wanted if place is not None else wanted[: settings.input_files]
    folders: dict[str, dict[str, FileLogEntry]] = {}
    for entry in chosen:
        folder, _, name = _plain(entry.path).rpartition("/")
        folders.setdefault(folder, {})[name] = entry
    looks = [
        _look_in(folder, names, by_folder.get(folder, {}), _door(folder, home, settings, place), place)
        for folder, names in folders.items()
    ]
    return InputLook(
        gone=tuple(path for look in looks for path in look.gone),
        changed=tuple(path for look in looks for path in look.changed),
        unseen=(*(p for look in looks for p in look.unseen), *(e.path for e in wanted[len(chosen) :])),
        is_same_place=all(look.is_same_place for look in looks),
        may_be_renamed=any(look.may_be_renamed for look in looks),
    )


def _plain(path: str) -> str:
    """A path of the log without percent signs; the scheme stays. ``/x`` for ``file:/x`` and ``file:///x``."""
    split = urlsplit(path)
    if split.scheme in ("", "file"):
        return unquote(split.path)
    return f"{split.scheme}://{split.netloc}{unquote(split.path)}"


def folder_of(path: str) -> str:
    """The folder of an input file as the log names it, without percent signs."""
    return _plain(path).rpartition("/")[0]


def is_missing_here(folder: str, witness: str, home: Location, settings: Settings) -> bool:
    """Whether a local folder is not there although ``witness``, another one, is: then this is the machine
    that the paths mean. False for folders that may not be looked at."""
    try:
        doors = [_door(name, home, settings, None) for name in (folder, witness)]
        looks = [
            door.look([""])[""] if door is not None and door.location.is_local else None for door in doors
        ]
    except StorageError:
        return False
    return isinstance(looks[0], Gone) and isinstance(looks[1], FileInfo)


def _door(folder: str, home: Location, settings: Settings, place: Location | None) -> Door | None:
    """The door to a folder of input files, None when it may not be looked at from here."""
    try:
        location = _below(folder, place) if place is not None else _own(folder, home, settings)
    except (StorageError, ValueError):
        return None
    return None if location is None else Door.open(location, settings)


def _own(folder: str, home: Location, settings: Settings) -> Location | None:
    split = urlsplit(folder)
    protocol = ALIASES.get(split.scheme, split.scheme) or "file"
    if protocol != home.protocol or home.path.endswith(ENDING):  # evidence: what lies there now says nothing
        return None
    if protocol not in (*MANY_BUCKETS, "file") and split.netloc != urlsplit(home.url).netloc:
        return None
    if not settings.is_private:
        return locate(folder, settings)
    location = parse_location(folder, {} if home.is_local else home.storage_options)
    # What a person types is cleaned; a name that does not survive that is not looked for.
    return location if not home.is_local or location.path == os.path.normpath(folder) else None


def _below(folder: str, place: Location) -> Location | None:
    full, root = _in_store(folder), above_pattern(place.path).rstrip("/")
    if full != root and not full.startswith(root + "/"):
        return None
    below = full[len(root) :].strip("/")
    url = above_pattern(place.url).rstrip("/")
    return parse_location(f"{url}/{below}" if below else url, place.storage_options)


def _in_store(folder: str) -> str:
    split = urlsplit(folder)
    return f"{split.netloc}{split.path}" if split.scheme else folder


def is_below(path: str, place: Location) -> bool:
    """Whether an input file, named as in the log, lies in the directory that a user gave for its source, or
    below the directory above its first wildcard."""
    return _below(folder_of(path), place) is not None


def is_pattern(place: Location) -> bool:
    """Whether Spark takes the place of a source for a glob (Hadoop's ``isGlobPath``)."""
    return above_pattern(place.path) != place.path


def above_pattern(path: str) -> str:
    """A path up to the part with its first wildcard; the whole path when there is none."""
    return re.split(r"/[^/]*[*?\[{]", path, maxsplit=1)[0]


def is_outside(path: str, place: Location, home: Location, settings: Settings) -> bool | None:
    """Whether Spark refuses an input file, named as in the log, of a source that reads ``place`` (``Wrong
    basePath``): its path does not begin with that of the source, as text (observed, Spark 3.5 to 4.3: a link
    to the same directory is refused too, the path ``/i`` is none for ``/in/f``).

    False for local files also where the directory is the same one, because a person may give it another name
    than the query does. None where it cannot be told: for a glob, which is no base path; where one store is
    named in two ways; and for local files where this may be another machine than the query's (nothing is
    where the log says).
    """
    folder, protocol = folder_of(path), urlsplit(path).scheme or "file"
    if is_pattern(place) or ALIASES.get(protocol, protocol) != place.protocol:
        return None
    if place.protocol not in (*_BY_TEXT, "file"):
        return None
    if _in_store(folder).startswith(place.path.rstrip("/")):
        return False
    return not place.is_local or _is_another_directory(folder, place, home, settings)


def _is_another_directory(folder: str, place: Location, home: Location, settings: Settings) -> bool | None:
    """Whether a folder is not in ``place`` with links followed. None for one that may not be looked at, or of
    which nothing is on this machine, not even the one above it."""
    try:
        location = _own(folder, home, settings)
    except (StorageError, ValueError):
        return None
    if location is None or not Path(location.path).parent.is_dir():
        return None
    return not Path(location.path).resolve().is_relative_to(Path(place.path).resolve())


def _look_in(
    folder: str,
    wanted: Mapping[str, FileLogEntry],
    known: Mapping[str, FileLogEntry],
    door: Door | None,
    place: Location | None,
) -> InputLook:
    paths = tuple(entry.path for entry in wanted.values())
    if door is None:
        return InputLook(unseen=paths)
    others = [name for name in list(known)[::-1] if name not in wanted][:WITNESSES]
    is_asked = place is None and door.location.is_local
    try:
        found = door.look([*wanted, *(others if is_asked else ())])
        if is_asked and not isinstance(door.look([""])[""], FileInfo):
            return InputLook(unseen=paths)  # the folder is not on this machine
    except StorageError:
        return InputLook(unseen=paths)
    here = {name: entry for name, entry in {**known, **wanted}.items() if _is_there(found.get(name))}
    same = [name for name, entry in here.items() if not _is_other(found[name], entry)]
    if is_asked and not same and any(name not in wanted for name in here):
        return InputLook(unseen=paths)  # every file has another time: the folder is a copy
    gone = [name for name in wanted if isinstance(found[name], Gone)]
    is_same = not is_asked or bool(same)
    return InputLook(
        gone=tuple(wanted[name].path for name in gone),
        changed=tuple(e.path for name, e in wanted.items() if name in here and name not in same),
        unseen=tuple(e.path for name, e in wanted.items() if isinstance(found[name], ReadFailure)),
        is_same_place=is_same,
        may_be_renamed=bool(gone) and _may_be_renamed([wanted[name] for name in gone], known, door),
    )


def _is_there(look: Look | None) -> bool:
    return isinstance(look, FileInfo)


def _is_other(look: Look, entry: FileLogEntry) -> bool:
    """Whether a file has another time than the log says. S3 keeps whole seconds."""
    if not isinstance(look, FileInfo) or look.modified_ms is None:
        return False
    return look.modified_ms // 1000 != entry.timestamp_ms // 1000


def _may_be_renamed(gone: Sequence[FileLogEntry], known: Mapping[str, FileLogEntry], door: Door) -> bool:
    """Whether a file that the log does not name has the time of one that is gone. Folders of a remote store
    can be long and are not listed for it."""
    if not door.location.is_local:
        return True
    try:
        names = door.list([""])[""].names()
    except StorageError:
        return True
    times = {entry.timestamp_ms // 1000 for entry in gone}
    return any(
        info.modified_ms is None or info.modified_ms // 1000 in times
        for name, info in names.items()
        if name not in known and name[:1] not in ("_", ".")
    )
