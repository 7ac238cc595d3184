"""What the incident store holds, newest first. Moment, location and verdict come out of the evidence files
themselves, whose bytes must have the checksum that is their name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import get_args

from core.analysis.forecast.model import Outcome
from core.errors import EvidenceRefused, LocationNotFound, UsageError
from core.messages import say, words
from core.settings import PREFIX, Settings
from core.storage import Door, FileInfo, Gone, ReadFailure
from core.storage.evidence import read_record
from core.storage.evidence_manifest import MOST_TEXT, Manifest
from core.storage.incident_store import SETTING, name_of, store_location
from core.storage.location import title_of

LOOKED_BYTES = 64 * 1024 * 1024
"""How many bytes of evidence files are read for one list; the newest first."""
RECORD_BYTES = 16 * 1024 * 1024
"""How large the record in an evidence file may be to be read for a list. Opening it takes more."""

_FILE = re.compile(r"[0-9a-f]{32}\.zip")


@dataclass(frozen=True, slots=True)
class KeptEvidence:
    """One evidence file of the store. ``kept_ms``: when it was added (epoch milliseconds), None where the
    store does not say. ``record`` is None where ``problem``, one sentence, says why it is not known.
    ``outcome``, ``batch_id`` and ``sentence`` are the forecast of the time, None where none was kept."""

    name: str
    size_bytes: int
    kept_ms: int | None
    record: Manifest | None = None
    outcome: Outcome | None = None
    batch_id: int | None = None
    sentence: str | None = None
    problem: str | None = None

    @property
    def title(self) -> str | None:
        """What the checkpoint is called."""
        return None if self.record is None else title_of(self.record.location)


@dataclass(frozen=True, slots=True)
class KeptList:
    """The newest evidence files of the store, at most as many as the setting says; ``total``: how many there
    are."""

    entries: tuple[KeptEvidence, ...]
    total: int


def kept_list(settings: Settings, of: str | None = None) -> KeptList:
    """The evidence in the incident store, in the order in which it was added, newest first: one listing, and
    one read for each file that is looked into.

    ``of``: only that of the checkpoint at this location, as the evidence files name it. Raises
    :class:`NotAllowed` where no store is configured, :class:`UsageError` where the settings list nothing or
    the folder does not exist, :class:`StorageError` when the store cannot be listed.
    """
    door = Door.open(store_location(settings), settings)
    if settings.incident_store_listed == 0:
        raise UsageError(say("incident_store.not_listed", setting=f"{PREFIX}INCIDENT_STORE_LISTED"))
    try:
        listed = tuple(door.list([""])[""].files.values())
    except LocationNotFound:
        if door.location.is_local:
            raise UsageError(say("incident_store.no_folder", setting=SETTING)) from None
        listed = ()  # a store of objects has no empty directories
    files = sorted((info for info in listed if _FILE.fullmatch(info.path)), key=_newest_first)
    shown = files[: settings.incident_store_listed]
    entries = tuple(_entries(door, shown))
    if of is not None:
        entries = tuple(each for each in entries if each.record is not None and each.record.location == of)
    return KeptList(entries, len(files))


def _newest_first(info: FileInfo) -> tuple[int, str]:
    return -(info.modified_ms or 0), info.path


def _entries(door: Door, infos: Iterable[FileInfo]) -> Iterator[KeptEvidence]:
    left = LOOKED_BYTES
    wanted: list[FileInfo] = []
    shown = list(infos)
    for info in shown:
        if info.size_bytes is not None and info.size_bytes <= left:
            left -= info.size_bytes
            wanted.append(info)
    contents = door.read(wanted)
    for info in shown:
        name = name_of(info.path.removesuffix(".zip"))
        bare = KeptEvidence(name, info.size_bytes or 0, info.modified_ms)
        content = contents.get(info.path)
        if isinstance(content, Gone):
            continue  # a rule of the store removed it meanwhile
        if content is None:
            yield replace(bare, problem=say("incident_store.not_looked_into"))
        elif isinstance(content, ReadFailure):
            yield replace(bare, problem=say("incident_store.not_read", reason=content.reason))
        else:
            yield _looked_into(bare, content, door.settings.evidence_bytes)


def _looked_into(bare: KeptEvidence, content: bytes, most_bytes: int) -> KeptEvidence:
    if name_of(hashlib.sha256(content).hexdigest()) != bare.name:
        return replace(bare, problem=say("incident_store.other_bytes"))
    try:
        record, answer = read_record(content, most_bytes, RECORD_BYTES, "forecast")
    except EvidenceRefused as error:
        return replace(bare, problem=say("incident_store.refused", why=str(error)))
    outcome, batch_id, sentence = _verdict(answer)
    return replace(bare, record=record, outcome=outcome, batch_id=batch_id, sentence=sentence)


def _verdict(answer: bytes | None) -> tuple[Outcome | None, int | None, str | None]:
    """What is said of the next start in a recorded forecast; only what has the right form is used."""
    try:
        found = json.loads(answer) if answer is not None else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return None, None, None
    outcome, batch_id, sentence = (found.get(name) for name in ("outcome", "batch_id", "sentence"))
    return (
        outcome if outcome in get_args(Outcome) else None,
        batch_id if isinstance(batch_id, int) and not isinstance(batch_id, bool) else None,
        words.one_line(sentence, MOST_TEXT) if isinstance(sentence, str) and sentence else None,
    )
