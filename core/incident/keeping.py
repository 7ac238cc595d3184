"""Keeping evidence in the incident store, so that a link can name it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import LocationNotFound, UsageError
from core.incident.evidence import Taken, take
from core.messages import say
from core.settings import PREFIX
from core.storage import Door, Location
from core.storage.checkpoint_search import checkpoint_around
from core.storage.incident_store import SETTING, name_of, put, store_location


@dataclass(frozen=True, slots=True)
class Kept:
    """Evidence in the incident store. ``name`` opens it in place of a location (``evidence:...``)."""

    name: str
    taken: Taken
    location: Location


def keep(
    door: Door, *, with_state_contents: bool = False, answers: Mapping[str, bytes] | None = None
) -> Kept:
    """Takes the evidence of what is behind ``door`` and adds it to the incident store of its settings.

    Raises :class:`UsageError` when the store lies inside a checkpoint or has no room,
    :class:`StorageError` when there is none, or it or the checkpoint cannot be used.
    """
    settings = door.settings
    store = store_location(settings)
    around = checkpoint_around(store, settings)
    if around is not None:
        raise UsageError(say("incident_store.inside", place=around.url, setting=SETTING))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "evidence.zip"
        taken = take(door, file, with_state_contents=with_state_contents, answers=answers)
        limit_bytes = settings.incident_store_bytes
        used_bytes = _used_bytes(Door.open(store, settings), name_of(taken.sha256))
        if used_bytes + taken.size_bytes > limit_bytes:
            setting = f"{PREFIX}INCIDENT_STORE_BYTES"
            raise UsageError(
                say(
                    "incident_store.full",
                    used_bytes=used_bytes,
                    limit_bytes=limit_bytes,
                    size_bytes=taken.size_bytes,
                    setting=setting,
                )
            )
        location = put(taken.path, taken.sha256, settings)
    return Kept(location.name, taken, location)


def _used_bytes(door: Door, name: str) -> int:
    """What lies in the store beside the file of this name, which would be replaced by itself."""
    try:
        files = door.list([""])[""].files.values()
    except LocationNotFound:
        if door.location.is_local:
            raise UsageError(say("incident_store.no_folder", setting=SETTING)) from None
        return 0  # a store of objects has no empty directories
    own = f"{name.partition(':')[2]}.zip"
    return sum(file.size_bytes or 0 for file in files if file.path != own)
