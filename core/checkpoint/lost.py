"""A checkpoint that is gone, or that nobody can open (a Lakeflow pipeline's): a recovery can still be planned
from what is known of source and sink."""

from __future__ import annotations

from core.checkpoint.checkpoint import Checkpoint
from core.errors import LocationNotFound, UsageError
from core.messages import say
from core.settings import DEFAULTS, Settings
from core.storage import Door, Location, parse_location

NOWHERE = Location(url="nothing://lost", protocol="nothing", path="lost", name="lost")


def lost_checkpoint(where: Location | str | None, settings: Settings = DEFAULTS) -> Checkpoint:
    """The checkpoint without a file. ``where``: its location, as far as it is known; None where nobody can
    open it.

    Raises :class:`UsageError` when there is something at that place: what lies there is to be read, not
    passed over. Raises :class:`StorageError` when that cannot be seen.
    """
    if where is None:
        return Checkpoint.open(Door.nothing(NOWHERE, settings), settings)
    place = parse_location(where) if isinstance(where, str) else where
    try:
        listing = Door.open(place, settings).list([""], first_page=True)[""]
    except LocationNotFound:
        return Checkpoint.open(Door.nothing(place, settings), settings)
    if listing.files or listing.directories:
        raise UsageError(say("checkpoint.not_lost", url=place.url))
    return Checkpoint.open(Door.nothing(place, settings), settings)
