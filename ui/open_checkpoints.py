"""Opening checkpoints for the screens: by the name in the address, shared by viewers, and read again when
somebody asks for it.

A session keeps looking at the state it read until Refresh; a new session shares what another one read, where
a look at the newest files shows nothing new, or reads again. Opened checkpoints are kept in a bounded cache
and never changed, except that they read more of the files they listed.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.checkpoint import Checkpoint
from core.checkpoint.lost import lost_checkpoint
from core.errors import InvalidSettingError, LocationNotFound, NotACheckpoint, StorageError, UsageError
from core.messages import say
from core.settings import get_settings
from core.storage import Location, incident_store
from core.storage.location import title_of
from core.storage.roots import ROOTS, link_for, locate, require_roots
from ui import collector, readings, uploads
from ui.readings import Reading

MOST_OPEN = 24
"""Checkpoints kept open, over all viewers. One of 20,000 batches takes about 50 MB."""

SHARED_MS = 10_000
"""A new session shares what was read or looked at this short a time ago without another look."""

MOST_RECENT = 8
_PASSWORD = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]*://[^/@]*:[^/@]*@")


@dataclass(frozen=True, slots=True)
class Opened:
    """What the address asks for: ``name`` as in the address, and the checkpoint or one sentence that says why
    there is none.

    ``key`` tells two readings apart in a cache. ``suggestion`` names the location that may have been meant,
    ``inner`` the checkpoints of a directory that has several. ``is_gone``: nothing lies at that place.
    """

    name: str
    key: Reading
    ck: Checkpoint | None
    problem: str | None = None
    suggestion: str | None = None
    is_gone: bool = False
    inner: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What people call it: the last telling part of its name; of kept evidence, of the name that the
        checkpoint had."""
        if self.ck is not None and self.ck.door.evidence is not None and self.is_unnamed:
            return title_of(self.ck.door.evidence.location)
        return title_of(self.name)

    @property
    def is_unnamed(self) -> bool:
        """Whether the address has an identifier in the place of a name."""
        return incident_store.is_name(self.name) or uploads.is_name(self.name)


def server_problem() -> str | None:
    """One sentence when this server must not answer: settings that cannot be used, or open to others without
    roots."""
    try:
        require_roots(st.get_option("server.address"), get_settings())
    except (InvalidSettingError, StorageError) as error:
        return str(error)
    return None


def opened(name: str) -> Opened:
    """The checkpoint of this name as this session reads it. Never raises: what is wrong is in the answer."""
    if carries_password(name):
        return Opened("a location with a password", (name, 0), None, say("screens.password_refused"))
    tokens: dict[str, int] = st.session_state.setdefault("_readings", {})
    if name not in tokens:
        tokens[name] = _shared(name)
    key = (name, tokens[name])
    try:
        if uploads.is_name(name):
            uploads.location(name)  # only of this session, whatever others share
        ck = _read(key)
    except NotACheckpoint as error:
        meant = error.suggestion and _name_of(error.suggestion)
        return Opened(name, key, None, str(error), meant, inner=tuple(map(_name_of, error.inner)))
    except StorageError as error:
        return Opened(name, key, None, str(error), is_gone=isinstance(error, LocationNotFound))
    _remember(name)
    return Opened(name, key, ck)


def lost(opened: Opened | None) -> Checkpoint | None:
    """What stands for a checkpoint that is gone, or that nobody can open (none is open); None for a place
    that could not be read or has something else."""
    if opened is None:
        return lost_checkpoint(None, get_settings())
    if not opened.is_gone:
        return None
    try:
        return lost_checkpoint(locate(opened.name, get_settings()), get_settings())
    except (StorageError, UsageError):
        return None


def carries_password(text: str) -> bool:
    """Whether a pasted location has a password in it (``s3://key:secret@bucket``)."""
    return _PASSWORD.match(text) is not None


def refresh(name: str, everything: bool = False) -> None:
    """The next run shows the newest files: the reading there is when nothing is new (see
    :meth:`~core.checkpoint.Checkpoint.latest`), else all is listed again; always with ``everything``."""
    tokens: dict[str, int] = st.session_state.setdefault("_readings", {})
    tokens[name] = time.time_ns() if everything else _looked_at(name)


def _shared(name: str) -> int:
    """The reading that a new session shows: the newest one while it is young, or is seen to be the newest."""
    latest = _latest().get(name)
    if latest is not None and time.time_ns() // 1_000_000 - latest[1].looked_at_ms <= SHARED_MS:
        return latest[0]
    return _looked_at(name)


def _looked_at(name: str) -> int:
    """The reading of this name after a look at its newest files; one that :func:`_read` makes where that
    look fails."""
    latest, token = _latest().get(name), time.time_ns()
    if latest is None:
        return token
    try:
        found = latest[1].latest()
    except (NotACheckpoint, StorageError):
        return token
    if found is latest[1]:
        return latest[0]
    _keep(name, token, found)
    return token


def canonical(text: str) -> str:
    """The name for a pasted location: ``root/relative`` where it lies below a root, else what was pasted. A
    password is cut out."""
    if uploads.is_name(text):
        return text
    if carries_password(text):
        return _PASSWORD.sub(lambda found: found[0].split("//")[0] + "//***:***@", text, count=1).strip()
    try:
        location = locate(text, get_settings())
        return link_for(location, get_settings()) or location.url
    except StorageError:
        return text.strip()


def recent() -> list[str]:
    """What this session opened, newest first."""
    found: list[str] = st.session_state.get("_recent", [])
    return found


@readings.cached(MOST_OPEN, show_spinner="Reading the checkpoint ...")
def _read(key: Reading) -> Checkpoint:
    name, token = key
    before = _latest().get(name)
    if before is not None and before[0] == token:
        return before[1]
    if before is not None:
        ck = before[1].refresh()
    else:
        place = uploads.location(name) if uploads.is_name(name) else _located(name)
        ck = Checkpoint.open(place, get_settings())
    _keep(name, token, ck)
    return ck


def _located(name: str) -> Location:
    """The location of a name. Raises :class:`StorageError` for a relative path that lies nowhere here: it is
    the link of a server with other roots, more likely than a checkpoint that is gone."""
    place = locate(name, get_settings())
    first = name.strip().partition("/")[0]
    is_relative = place.is_local and name.strip() != first and re.fullmatch(r"[\w-][^:]*", first) is not None
    if is_relative and first not in get_settings().roots and not Path(first).exists():
        have = ", ".join(get_settings().roots) or "none"
        raise StorageError(
            say("screens.no_root", name=first, path=place.url, roots=have, setting=ROOTS), name
        )
    return place


def _keep(name: str, token: int, ck: Checkpoint) -> None:
    """Notes the newest reading of a checkpoint."""
    collector.look_at_everything()
    latest = _latest()
    latest.pop(name, None)
    latest[name] = (token, ck)
    while len(latest) > MOST_OPEN:
        latest.pop(next(iter(latest)), None)


@st.cache_resource(show_spinner=False)
def _latest() -> dict[str, tuple[int, Checkpoint]]:
    """The newest reading of each checkpoint, oldest entry first."""
    return {}


def _forget(reading: Reading) -> None:
    name, token = reading
    latest = _latest()
    if name in latest and latest[name][0] == token:
        latest.pop(name, None)


readings.when_put_away(_forget)


def _remember(name: str) -> None:
    names = [name, *(other for other in recent() if other != name)]
    st.session_state["_recent"] = names[:MOST_RECENT]


def _name_of(location: str) -> str:
    return canonical(location)
