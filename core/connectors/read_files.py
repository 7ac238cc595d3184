"""Whether a file source still has the input files that it has read: a few of those that its log names are
looked for, the oldest, the newest and some between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from core.checkpoint.model import FileLogEntry
from core.connectors.input_files import InputLook, look_for_inputs
from core.errors import StorageError
from core.messages import Sentence, say

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint, Source
    from core.connectors import ConnectorAnswers
    from core.storage import Location

LOOKED_FOR = 30
"""So many files of a source are looked for. One that cleans up removes the oldest first; a person any."""


def why_files_gone(ck: Checkpoint, connectors: ConnectorAnswers) -> Sentence | None:
    """Why a file source can no longer deliver every row that the query has read; None where nothing shows it,
    or nobody could look. A file that may only have another name now is not gone."""
    for chosen, look in _looks(ck, connectors):
        is_here = look.is_same_place and not (look.may_be_renamed and ck.location.is_local)
        if look.gone and is_here:
            return say("recovery.files_gone", gone=len(look.gone), looked=len(chosen), file=look.gone[0])
    return None


def changed_since_read(ck: Checkpoint, connectors: ConnectorAnswers) -> Sentence | None:
    """That input files have another time than when they were read, so that reading them again may give other
    rows; None where none is known."""
    for chosen, look in _looks(ck, connectors):
        if look.changed and look.is_same_place:
            return say(
                "recovery.files_changed", changed=len(look.changed), looked=len(chosen), file=look.changed[0]
            )
    return None


def _looks(
    ck: Checkpoint, connectors: ConnectorAnswers
) -> Iterator[tuple[Sequence[FileLogEntry], InputLook]]:
    """Of each file source the files that were looked for, and what became of them; once for each reading."""
    for source in ck.sources:
        place = connectors.places.get(source.key)
        # Without a place that was named, a store would get one request for each file.
        if source.kind.has_own_log and (place is not None or ck.location.is_local):
            yield ck.kept(f"files read by {source.key} {place}", partial(_look, ck, source, place))


def _look(ck: Checkpoint, source: Source, place: Location | None) -> tuple[Sequence[FileLogEntry], InputLook]:
    try:
        entries = source.context.file_log
    except StorageError:
        entries = ()
    chosen = _spread(entries)
    return chosen, look_for_inputs(chosen, entries, ck.location, ck.settings, place)


def _spread(entries: Sequence[FileLogEntry]) -> Sequence[FileLogEntry]:
    """The oldest and the newest, and some between them."""
    if len(entries) <= LOOKED_FOR:
        return entries
    last = len(entries) - 1
    return [entries[i * last // (LOOKED_FOR - 1)] for i in range(LOOKED_FOR)]
