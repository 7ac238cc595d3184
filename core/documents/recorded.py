"""The answers that go into an evidence file beside the files: what was judged at the time, and what source
and sink said then. The files alone give the same answers again, except for what rests on source, sink or
contents of state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from core.checkpoint import Checkpoint
from core.documents.base import Document, json_text, to_json
from core.documents.check import check_document
from core.documents.forecast import forecast_document
from core.documents.inspect import inspect_document
from core.documents.recover import recover_document
from core.documents.rehearse_words import read_result
from core.documents.resume import resume_document
from core.errors import CheckpointExplorerError, UsageError
from core.incident.masking import masked, secret_values
from core.incident.secrets import secrets_of
from core.judgement import Judgement
from core.messages import say, words
from core.recovery import Answers
from core.storage import Door
from core.storage.store import hidden

MOST_SAID, MOST_TEXT = 30, 500
OF_THE_READING = ("requests", "read", "seconds")
"""How it was read, which differs from one reading of the same files to the next."""


def recorded_answers(judgement: Judgement) -> dict[str, bytes]:
    """The answers of the verbs as JSON, by verb, without secrets. Where one cannot be given, the sentence why
    stands in its place."""
    ck = judgement.ck
    makers: dict[str, Callable[[], Document]] = {
        "check": lambda: check_document(judgement),
        "forecast": lambda: forecast_document(judgement),
        "inspect": lambda: inspect_document(ck),
        "recover": lambda: recover_document(judgement.recovery(Answers()), None, judgement.impacts),
        "resume": lambda: resume_document(ck, judgement.resume()),
    }
    found: dict[str, bytes] = {}
    options = [
        place.storage_options
        for place in (
            ck.location,
            judgement.connectors.given.sink,
            *judgement.connectors.given.sources.values(),
        )
        if place is not None
    ]
    known = {text for each in options for text in secret_values(each)}
    for verb, make in makers.items():
        try:
            answer = _without_reading(to_json(make()))
            answer["location"] = ck.location.without_credentials()
        except CheckpointExplorerError as error:
            answer = {"error": hidden(str(error), secrets_of(judgement))}
        found[verb] = masked(json_text(answer).encode("utf-8", "backslashreplace"), known)
    return found


def recorded_rehearsal(data: bytes, ck: Checkpoint) -> bytes:
    """The answer of a rehearsal of this checkpoint, as it goes into the evidence: without secrets. Raises
    UsageError for a file that is none, or of another checkpoint."""
    answer = read_result(data)
    here = (ck.location.url, ck.location.without_credentials())
    if answer.location not in here:
        shown = words.one_line(answer.location, MOST_TEXT)
        raise UsageError(say("rehearse.result_of_other", other=shown, location=here[1]))
    known = secret_values(ck.location.storage_options)
    kept = {**to_json(answer), "location": here[1]}
    return masked(json_text(kept).encode("utf-8", "backslashreplace"), known)


def said_then(door: Door) -> tuple[str, ...]:
    """What source and sink said when the evidence behind this door was taken, one sentence each; nothing for
    a directory, and where nobody was asked. The file is what somebody sent: only its texts are used."""
    data = door.recorded_answer("forecast")
    try:
        answer = json.loads(data) if data is not None else {}
    except (ValueError, RecursionError):
        return ()
    found = [_texts(part) for part in _parts(answer)] if isinstance(answer, dict) else []
    return tuple(dict.fromkeys(words.one_line(text, MOST_TEXT) for texts in found for text in texts))[
        :MOST_SAID
    ]


def _parts(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The sources, each with its partitions, and the sink."""
    sources = answer.get("sources")
    found: list[Any] = []
    for source in sources if isinstance(sources, list) else []:
        found.append(source)
        for name in ("topics", "partitions"):
            below = source.get(name) if isinstance(source, dict) else None
            found += below if isinstance(below, list) else []
    found.append(answer.get("sink"))
    return [part for part in found if isinstance(part, dict)]


def _texts(part: dict[str, Any]) -> list[str]:
    named = [part[name] for name in ("sentence", "trouble") if isinstance(part.get(name), str)]
    warnings = part.get("warnings")
    named += [each for each in warnings if isinstance(each, str)] if isinstance(warnings, list) else []
    return [text for text in named if text]


def _without_reading(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_reading(each) for name, each in value.items() if name not in OF_THE_READING}
    return [_without_reading(each) for each in value] if isinstance(value, list) else value
