"""The incident store: a folder or a bucket prefix of its own in which evidence files are kept. Each is named
after the checksum of its bytes, so that a link cannot show another one.

This is the only module that writes to a store, and it only adds whole files. The place comes from the
settings; nothing in a link or a checkpoint can name another.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from shutil import copyfileobj
from uuid import uuid4

from core.errors import NotAllowed, StorageError, UnsupportedLocation
from core.messages import say
from core.settings import PREFIX, Settings
from core.storage.filesystems import filesystem
from core.storage.location import Location, child_of, parse_location, texts_in
from core.storage.store import failure_reason, hidden

SETTING = f"{PREFIX}INCIDENT_STORE"
NAME = "evidence:"
_ID_DIGITS = 32  # 128 bits of a SHA-256: nobody makes another file of the same name
_ID = re.compile(rf"[0-9a-f]{{{_ID_DIGITS}}}")
_WHOLE_AT_ONCE = {"s3", "gs", "abfs", "memory"}  # an object is there when all of it is


def is_name(text: str) -> bool:
    """Whether a text names an evidence file in the incident store, rightly or wrongly."""
    return text.strip().startswith(NAME)


def name_of(sha256: str) -> str:
    """What links and people call the evidence file with this checksum."""
    return NAME + sha256[:_ID_DIGITS]


def store_location(settings: Settings) -> Location:
    """The place of the store. Raises :class:`NotAllowed` where none is configured, and
    :class:`UnsupportedLocation`."""
    if settings.incident_store is None:
        raise NotAllowed(say("incident_store.off", setting=SETTING))
    options = settings.incident_store.storage_options.get_secret_value()
    return parse_location(settings.incident_store.url, options)


def evidence_location(name: str, settings: Settings) -> Location:
    """The evidence file of this name. No request is sent. Raises :class:`UnsupportedLocation` when the text
    is no such name, :class:`NotAllowed` where there is no store."""
    found = name.strip().removeprefix(NAME)
    if _ID.fullmatch(found) is None:
        raise UnsupportedLocation(say("incident_store.no_id", digits=_ID_DIGITS))
    return replace(child_of(store_location(settings), f"{found}.zip"), name=NAME + found, evidence_id=found)


def put(file: Path, sha256: str, settings: Settings) -> Location:
    """Adds a file of this machine to the store under the name of its checksum, whole or not at all. Raises
    :class:`StorageError`."""
    location = evidence_location(name_of(sha256), settings)
    try:
        if location.is_local:
            _put_here(file, Path(location.path))
        else:
            _put_there(file, location, settings)
    except StorageError:
        raise
    except Exception as error:
        reason = hidden(failure_reason(error), texts_in(location.storage_options)).rstrip(".")
        raise StorageError(say("incident_store.not_written", reason=reason)) from error
    return location


def _put_here(file: Path, target: Path) -> None:
    unfinished = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        with file.open("rb") as source, unfinished.open("xb") as copy:
            copyfileobj(source, copy)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _put_there(file: Path, location: Location, settings: Settings) -> None:
    fs = filesystem(location, settings.concurrent_requests, settings.store_seconds)
    if location.protocol in _WHOLE_AT_ONCE:
        fs.put_file(str(file), location.path)
        return
    unfinished = f"{location.path}.{uuid4().hex}"
    fs.put_file(str(file), unfinished)
    fs.mv(unfinished, location.path)
