"""The answer of ``rehearse`` in sentences, for the command line and for a page; and the way back from a file
that holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from pydantic import TypeAdapter, ValidationError

from core.documents.base import json_name
from core.documents.rehearse import (
    AgainstPart,
    ExamplePart,
    PlacePart,
    RehearsedErrorPart,
    RehearseDocument,
)
from core.errors import UsageError
from core.messages import say, say_of, words

MOST_BYTES = 8 * 1024 * 1024
"""Of a file with the answer; the error of a rehearsal and twenty rows that differ have room in it."""
CELL = 300  # characters of a row in the text; the JSON has all
COLUMNS = ("batch", "input", "output", "seconds", "state")


@cache
def _adapter() -> TypeAdapter[RehearseDocument]:
    return TypeAdapter(RehearseDocument)


def read_result(data: bytes) -> RehearseDocument:
    """The answer that a file holds, every value checked. Raises UsageError: what the file is not."""
    if len(data) > MOST_BYTES:
        raise UsageError(say("rehearse.result_too_large", limit_bytes=MOST_BYTES))
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError(say("rehearse.result_not_json")) from None
    if not isinstance(raw, dict) or "as_forecast" not in raw:
        raise UsageError(say("rehearse.result_other"))
    try:
        return _adapter().validate_python(_by_field(raw))
    except (ValidationError, RecursionError, OverflowError) as error:
        where = error.errors()[0]["loc"] if isinstance(error, ValidationError) else ()
        path = ".".join(json_name(str(part)) for part in where)
        raise UsageError(say("rehearse.result_field", field=words.one_line(path, 80))) from None


def _by_field(value: object) -> object:
    """JSON with the names of the fields in Python."""
    if isinstance(value, dict):
        return {"class_" if name == "class" else name: _by_field(each) for name, each in value.items()}
    return [_by_field(each) for each in value] if isinstance(value, list) else value


def is_good(answer: RehearseDocument) -> bool:
    """Whether a batch was tried and all went as forecast, with the same rows as today's query where that was
    asked, and nothing of the original changed."""
    return has_tried(answer) and answer.as_forecast and answer.original_unchanged and _has_same_rows(answer)


def has_tried(answer: RehearseDocument) -> bool:
    """Whether rows went through a batch, or Spark failed; else the query was started and not tried."""
    return answer.error is not None or any(each.id not in answer.skipped_by_sink for each in answer.batches)


def headline(answer: RehearseDocument) -> str:
    """What matters most: a changed original, then an outcome that is no good, then rows that differ."""
    if not answer.original_unchanged:
        return say("rehearse.result_changed")
    is_told = _has_same_rows(answer) or not answer.as_forecast or not has_tried(answer)
    return happened(answer) if is_told else say("rehearse.result_differs")


def _has_same_rows(answer: RehearseDocument) -> bool:
    return answer.against is None or answer.against.equal


def happened(answer: RehearseDocument) -> str:
    """The outcome in one sentence."""
    name: str = answer.outcome
    if name == "fail":
        name = "fail_start" if answer.batch_id is None else "fail_batch"
    elif not has_tried(answer):
        name = "skipped" if answer.batches else "nothing"
    return say_of("rehearse", "OUTCOMES", name, batch=answer.batch_id)


def error_lines(error: RehearsedErrorPart) -> list[str]:
    """The error, what it means and what to do."""
    first = error.message or next(iter(error.text.splitlines()), "")
    lines: list[str] = [say("rehearse.error", text=words.one_line(first, 600))]
    if error.name is not None:
        lines.append(say("rehearse.means", means=words.one_line(error.means, 800)))
        lines.append(say("rehearse.to_do", action=words.one_line(error.action, 800)))
    return lines


def against_forecast(answer: RehearseDocument) -> str:
    """Whether it was as forecast."""
    if answer.as_forecast and not has_tried(answer):
        sentence = say("rehearse.forecast_untried", sentence=answer.forecast.sentence)
    elif answer.as_forecast:
        sentence = say("rehearse.as_forecast", sentence=answer.forecast.sentence)
    else:
        sentence = say("rehearse.not_as_forecast", differs=answer.differs)
    return words.one_line(sentence, 800)


def batch_rows(answer: RehearseDocument) -> list[tuple[str, ...]]:
    """The completed batches, a row each, under :data:`COLUMNS`."""
    state: dict[int, list[str]] = {}
    for row in answer.state_rows:
        state.setdefault(row.batch, []).append(f"{words.one_line(row.name, 40)} {row.rows}")
    return [
        (
            str(each.id),
            str(each.input_rows),
            "?" if each.output_rows is None else str(each.output_rows),
            f"{each.seconds:.1f}",
            ", ".join(state.get(each.id, ())),
        )
        for each in answer.batches
    ]


def stopped_lines(answer: RehearseDocument) -> list[str]:
    """Why it ended, and what was written."""
    number = len(answer.batches)
    note = words.one_line(answer.sink.note, 600)
    dropped = {row.batch: 0 for row in answer.state_rows if row.dropped_as_late}
    for row in answer.state_rows:
        if row.dropped_as_late:
            dropped[row.batch] += row.dropped_as_late
    late = say("rehearse.dropped_as_late", rows=sum(dropped.values()), ids=list(dropped)) if dropped else ""
    return [
        *filter(None, [late]),
        say_of("rehearse", "STOPPED", answer.stopped, batches=number),
        say("rehearse.written", rows=answer.rows_written, batches=number, note=note),
    ]


def against_lines(answer: RehearseDocument, against: AgainstPart) -> list[str]:
    """Both queries: how many rows differ, and which."""
    counts = len(against.old.batches), len(answer.batches)
    has_error = answer.error is not None or against.old.error is not None
    if not has_tried(answer) and against.old.error is None:
        return [say("rehearse.against_nothing")]
    if against.equal:
        return [say("rehearse.against_equal")]
    lines: list[str] = []
    if has_error or not all(counts):
        old = _short(against.old.error, len(against.old.batches))
        lines.append(say("rehearse.against_failed", old=old, new=_short(answer.error, len(answer.batches))))
    lines.append(say("rehearse.against_differs", old=against.only_old, new=against.only_new))
    lines += [
        say("rehearse.against_state", place=_one(each.place), old=each.only_old, new=each.only_new)
        for each in against.state
        if each.only_old or each.only_new
    ]
    lines += [f"  {_example(each)}" for each in against.examples]
    if against.examples and not against.revealed:
        lines.append(say("rehearse.masked"))
    if against.input_differs:
        lines.append(say("rehearse.against_input", batches=against.input_differs))
    return lines


def copy_lines(answer: RehearseDocument) -> list[str]:
    """What was copied, and the original before and after."""
    lines: list[str] = [say("rehearse.copied", files=answer.copied.files, size_bytes=answer.copied.bytes)]
    if answer.copied.left_out:
        lines.append(say("rehearse.left_out", files=answer.copied.left_out))
    lines += [words.one_line(_place(place), 600) for place in answer.places]
    if answer.kept is not None:
        lines.append(say("rehearse.kept", path=words.one_line(answer.kept, 400)))
    return lines


def _short(error: RehearsedErrorPart | None, batches: int) -> str:
    if error is None:
        return say("rehearse.run_ran", batches=batches)
    named = error.condition or error.name or error.class_
    return say("rehearse.run_failed", condition=words.one_line(str(named), 120))


def _example(each: ExamplePart) -> str:
    where = (
        say("rehearse.example_state", place=_one(each.place))
        if each.where == "state"
        else say("rehearse.example_output", batch=each.batch)
    )
    if each.key:
        where = say("rehearse.example_key", where=where, key=_json(each.key))
    return say("rehearse.example", where=where, old=_row(each.old), new=_row(each.new))


def _row(row: Mapping[str, object] | None) -> str:
    return say("rehearse.no_row") if row is None else _json(row)


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return words.one_line(text, CELL) if value else ""


def _one(place: str | None) -> str:
    return words.one_line(str(place), 80)


def _place(each: PlacePart) -> str:
    if each.files is None:
        return say("rehearse.place_unknown", place=each.place, how=each.how)
    if each.changed:
        return say(
            "rehearse.place_changed", place=each.place, changed=len(each.changed), files=list(each.changed)
        )
    if each.added:
        return say("rehearse.place_added", place=each.place, added=len(each.added))
    return say("rehearse.place_unchanged", place=each.place, how=each.how)
