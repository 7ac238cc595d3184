"""A survey by Spark, as the command line asks for it: the same rows as without, spread over executors."""

from __future__ import annotations

import base64
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import pyarrow as pa

from core.analysis.findings import Level
from core.errors import SparkNotStarted, StorageError, UsageError
from core.messages import say
from core.settings import Settings
from core.spark.code import place_for_spark
from core.spark.engine import SparkEngine
from core.spark.process import Line, WorkerProcess
from core.storage import Location
from core.storage.roots import locate
from core.survey import RootSearch, SurveyPlace, SurveyRow, unreadable_row
from core.survey.history import Keeping
from core.survey.tables import survey_rows_of

OnProgress = Callable[[int, int], None]
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class SparkSurvey:
    """What was found below the roots, and a row for each checkpoint, in no order."""

    searched: list[RootSearch]
    rows: list[SurveyRow]


def survey_on_spark(
    roots: Sequence[str],
    settings: Settings,
    level: Level = "normal",
    *,
    keep: Keeping | None = None,
    surveyed_at_ms: int = 0,
    on_progress: OnProgress | None = None,
) -> SparkSurvey:
    """The survey of these roots by the Spark of the settings; it searches them, reads the checkpoints and
    writes what is kept. ``on_progress`` gets the tasks done and known.

    Starts a process with Spark and ends it. Raises SparkError (one sentence) when there is no answer at all,
    and UsageError for a place that must not be written to. A checkpoint that could not be read is a row.
    """
    request = {
        "roots": [_from_anywhere(text, settings) for text in dict.fromkeys(roots)],
        "settings": base64.b64encode(pickle.dumps(settings)).decode(),
        "level": level,
        "surveyed_at_ms": surveyed_at_ms,
        "keep": None if keep is None else _packed(keep),
    }
    engine = SparkEngine(settings)
    try:
        process = engine.acquire()
        _wait(process, settings)
        line = _asked(process, {"survey": request}, on_progress)
        if line["event"] == "failed":
            if line["kind"] == "refused":
                raise UsageError(line["reason"])
            raise process.failure(line, {})
    finally:
        engine.stop()
    searched = [_search(found) for found in line["found"]]
    with pa.ipc.open_stream(base64.b64decode(line["rows"])) as reader:
        rows = survey_rows_of(reader.read_all())
    there = {row.location for row in rows}
    lost = {place.location.url: place for found in reversed(searched) for place in found.places}
    rows += [_without_row(place) for url, place in lost.items() if url not in there]
    return SparkSurvey(searched, rows)


def _from_anywhere(text: str, settings: Settings) -> str:
    """A root that means the same in every directory: a local path is written from its top."""
    try:
        location = locate(text, settings)
    except StorageError:  # its search says so in its row
        return text
    return location.url if location.is_local else text


def _packed(keep: Keeping) -> dict[str, str]:
    place = place_for_spark(keep.location)
    if keep.location.is_local:
        place = f"file://{place}"
    return {
        "url": keep.location.url,
        "protocol": keep.location.protocol,
        "place": place,
        "format": keep.format,
    }


def _wait(process: WorkerProcess, settings: Settings) -> None:
    until = time.monotonic() + settings.spark_seconds
    while not process.wait_ready(_LOOK_SECONDS):
        if time.monotonic() > until:
            address = settings.spark_remote.partition(";")[0] or settings.spark_master
            limit_ms = round(settings.spark_seconds * 1000)
            raise SparkNotStarted(say("spark.not_ready", address=address, limit_ms=limit_ms))


def _asked(process: WorkerProcess, request: Mapping[str, object], on_progress: OnProgress | None) -> Line:
    lines: list[Line] = []
    last = threading.Event()
    at = (0, 0)

    def listen(line: Line) -> None:
        nonlocal at
        if line["event"] == "progress":
            at = (line["done"], line["known"])
        else:
            lines.append(line)
            last.set()

    process.ask(uuid4().hex, request, listen)
    said = at
    while not last.wait(_LOOK_SECONDS):
        if on_progress is not None and at != said:
            said = at
            on_progress(*at)
    return lines[0]


def _search(found: Mapping[str, object]) -> RootSearch:
    named: Sequence[tuple[str, str]] = found["places"]  # type: ignore[assignment]
    places = tuple(
        SurveyPlace(str(found["root"]), path, Location(url, "", url, path or url)) for path, url in named
    )
    error = found["error"]
    skipped: Sequence[object] = found["skipped"]  # type: ignore[assignment]
    return RootSearch(
        root=str(found["root"]),
        url=str(found["url"]),
        places=places,
        listed=int(str(found["listed"])),
        is_complete=bool(found["is_complete"]),
        error=None if error is None else str(error),
        skipped=tuple(map(str, skipped)),
        too_deep=int(str(found["too_deep"])),
    )


def _without_row(place: SurveyPlace) -> SurveyRow:
    row = unreadable_row(place.location.url, say("spark_survey.no_row"))
    return replace(row, root=place.root, path=place.path)
