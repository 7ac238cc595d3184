"""The answer of a rehearsal: read from a file that somebody uploads or names, or out of the evidence that is
open, and shown. Nothing here runs a query."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint
from core.documents.rehearse import RehearseDocument
from core.documents.rehearse_words import (
    COLUMNS,
    MOST_BYTES,
    against_forecast,
    against_lines,
    batch_rows,
    copy_lines,
    error_lines,
    happened,
    has_tried,
    headline,
    is_good,
    read_result,
    stopped_lines,
)
from core.errors import CheckpointExplorerError, UsageError
from core.messages import say, say_of, words
from core.settings import get_settings
from core.storage import Door, FileInfo, Gone, ReadFailure
from core.storage.roots import locate
from ui import cards, links, tables

_TONES: dict[bool, cards.Tone] = {True: "done", False: "blocked"}


def show(ck: Checkpoint) -> None:
    """The fields for a file, and what it says; that of an evidence file without being asked."""
    recorded = ck.door.recorded_answer("rehearse")
    if recorded is not None:
        cards.text(say("screen_changes.result_recorded"), "small")
        _shown(recorded, ck)
        return
    cards.text(say("screen_changes.result_about"), "small")
    data = _given()
    if data is not None:
        links.leaves_out(say("screens.link_with_result"))
        _shown(data, ck)


def _given() -> bytes | None:
    """The content of the file; None where none is given, or it cannot be read, which is said."""
    if get_settings().takes_uploads:
        file = st.file_uploader(say("screen_changes.result_upload"), type="json", key="rehearsal-upload")
        if file is not None:
            return file.getvalue()[: MOST_BYTES + 1]
    place: str = st.text_input(
        say("screen_changes.result_place"), key=f"{links.WIDGET}rehearsal", max_chars=2000, width=600
    )
    place = place.strip()
    if not place:
        return None
    try:
        return _read(place)
    except CheckpointExplorerError as error:
        cards.message("plain", str(error))
        return None


def _read(place: str) -> bytes:
    """A file below the roots, or anywhere where any location may be opened. Raises StorageError,
    UsageError."""
    folder, _, name = place.rpartition("/")
    door = Door.open(locate(folder or "/", get_settings()), get_settings())
    reason: str = say("screen_changes.result_gone")
    seen = door.look([name])[name]
    if isinstance(seen, ReadFailure):
        raise UsageError(say("rehearse.result_not_read", path=place, reason=seen.reason))
    if not isinstance(seen, Gone):
        if (seen.size_bytes or 0) > MOST_BYTES:
            raise UsageError(say("rehearse.result_too_large", limit_bytes=MOST_BYTES))
        content = door.read([FileInfo(name, None)])[name]
        if isinstance(content, bytes):
            return content
        reason = content.reason if isinstance(content, ReadFailure) else reason
    raise UsageError(say("rehearse.result_not_read", path=place, reason=reason))


def _shown(data: bytes, ck: Checkpoint) -> None:
    try:
        answer = read_result(data)
    except UsageError as error:
        cards.message("plain", str(error))
        return
    if answer.location not in (ck.location.url, ck.door.origin.url, ck.door.origin.without_credentials()):
        other = words.one_line(answer.location, 300)
        sentence = say("rehearse.result_of_other", other=other, location=ck.door.origin.without_credentials())
        cards.message("doubt", sentence)
    _answer(answer)


def _answer(answer: RehearseDocument) -> None:
    is_untried = not has_tried(answer) and answer.as_forecast and answer.original_unchanged
    tone: cards.Tone = "doubt" if is_untried else _TONES[is_good(answer)]
    with cards.box(tone):
        head = say(
            "rehearse.head",
            path=words.one_line(answer.query_file, 200),
            location=words.one_line(answer.location, 300),
            spark=words.one_line(answer.spark, 40),
        )
        lead = headline(answer)
        cards.text(f"{cards.MARKS[tone]} {lead}", "lead")
        if lead != happened(answer):
            cards.text(happened(answer))
        cards.text(against_forecast(answer))
        if answer.error is not None:
            cards.text("\n".join(error_lines(answer.error)))
        for line in stopped_lines(answer):
            cards.text(line, "small")
        if answer.against is not None:
            cards.text("\n".join(against_lines(answer, answer.against)))
        cards.text("\n".join((*copy_lines(answer), head)), "small")
    if answer.batches:
        rows = batch_rows(answer)
        columns: dict[str, list[str]] = {
            say_of("rehearse", "COLUMNS", name): [row[at] for row in rows] for at, name in enumerate(COLUMNS)
        }
        tables.table(columns, say("screen_changes.result_table"))
    if answer.error is not None:
        with st.expander(say("screen_changes.result_error")):
            cards.raw(answer.error.text)
