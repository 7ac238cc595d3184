"""One row per checkpoint: what happens at the next start, how the query gets on, how large it is. Everything
is taken from the one judgement and the facts beneath it; nothing is judged here."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from core.analysis.balance import balance
from core.analysis.checkpoint_size import CheckpointSize
from core.analysis.findings import SEVERITIES, FindingsReport, Level
from core.analysis.findings.practice_checks import is_temporary_place
from core.analysis.forecast import Forecast
from core.analysis.past_batches import BatchTimes, batch_times, no_batches
from core.analysis.timeline import USUAL_BATCHES, Timeline, build_timeline, usual_duration_ms
from core.analysis.watermark import watermark_history
from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.recovery_copies import recovery_copy
from core.checkpoint.state import state_inventory
from core.errors import CheckpointExplorerError, place_of
from core.judgement import Judgement, judge
from core.messages import Sentence, say, say_of
from core.settings import DEFAULTS, Settings
from core.sparklogs.evidence import Certainty
from core.storage import Door, Location, Requests, parse_location
from core.storage.patience import NoAnswer, in_time

T = TypeVar("T")

Status = Literal["fails", "reruns", "resumes", "fresh_start", "unused", "unknown", "unreadable"]
STATUSES: Mapping[str, Status] = {
    "fail": "fails",
    "rerun": "reruns",
    "resume": "resumes",
    "fresh_start": "fresh_start",
}
"""The outcome of a forecast -> the status of a row."""

STATUS_ORDER: tuple[Status, ...] = (
    *("fails", "reruns", "resumes", "fresh_start", "unused"),
    *("unknown", "unreadable"),
)
"""The order in which they are counted."""

COUNTED: tuple[str, ...] = tuple(severity for severity in SEVERITIES if severity != "note")
"""The severities of which a row counts the findings."""

NOT_IN_USE = "NOT_IN_USE"
"""The finding about a checkpoint that no start uses."""

LEVELS: tuple[Level, ...] = ("quick", "normal")
"""How much a row can read: without the state, or with its listing."""

LOG_FILES = 2
"""Files that each batch writes into the logs: its offsets and its commit."""

WRITTEN_BY_BATCHES = frozenset({"delta", "changelog", "snapshot", "zip"})
"""The kinds of state files whose names say which batch wrote them."""

NOBODYS = 99
"""Behind all others in the order of attention."""

READ_FIRST = 2
"""Batches that are read at first: enough to know what the sources are."""


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """A stateful operator of a row. ``size_bytes``: None when the store gives no sizes. ``skew``: how many
    times the median the largest partition has, of its most uneven store; None when none can be compared."""

    operator: int
    name: str | None
    size_bytes: int | None
    skew: float | None


@dataclass(frozen=True, slots=True)
class SurveyRow:
    """One checkpoint of a survey.

    ``status``: the outcome of the forecast; ``unused`` when the pipeline starts from another one (finding
    ``NOT_IN_USE``, the only one that is then counted) or a recovery script left it behind
    (:mod:`core.checkpoint.recovery_copies`), ``unknown`` when something that the next start needs
    could not be read, ``unreadable`` when nothing could (``error`` says why; that is no damage). ``path`` is
    relative to ``root``, "" when the root is the checkpoint itself. ``next_batch`` is the first batch of the
    next start.
    ``newest_ms`` is the time of the newest entry of the logs, ``age_seconds`` how long that was before
    ``read_at_ms``. ``batches_per_hour`` and ``median_duration_ms`` are those of the newest 50 batches,
    ``watermark_lag_ms`` and ``watermark_stalled_batches`` those of the batches that were read, None
    when the newest is none of these, or a batch that was not read may end a stall.
    ``read_batches``: so many of the newest were read for the findings, 0 where that is not
    known, as in a row that was read from a table; it is no part of what is compared.
    ``operators``: how many are stateful; ``operator_state``: each of them, empty when the state was not
    listed. ``batches``: the times of the newest batches, for a history; of all that the listing shows.
    ``state_skew``: how many times the median the largest partition of a store has, of the most uneven store.
    ``files_per_batch``: what a batch writes, its two log files and its state files on average.
    ``..._bytes``: None when it was not listed, or the store gives no sizes. ``requests``: what the row cost.
    """

    location: str
    root: str
    path: str
    status: Status
    sentence: str
    read_at_ms: int
    certainty: Certainty | None = None
    is_temporary: bool = False
    query_id: str | None = None
    next_batch: int | None = None
    last_committed_batch: int | None = None
    pending_batch: int | None = None
    newest_ms: int | None = None
    age_seconds: int | None = None
    sources: tuple[str, ...] = ()
    written_by: str | None = None
    batches_per_hour: float | None = None
    median_duration_ms: int | None = None
    watermark_lag_ms: int | None = None
    watermark_stalled_batches: int | None = None
    operators: int | None = None
    operator_state: tuple[OperatorFacts, ...] = ()
    state_bytes: int | None = None
    state_skew: float | None = None
    log_bytes: int | None = None
    source_bytes: int | None = None
    total_bytes: int | None = None
    files: int | None = None
    files_per_batch: float | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    worst_finding: str | None = None
    read_batches: int = field(default=0, compare=False)
    not_read: tuple[str, ...] = ()
    error: str | None = None
    batches: BatchTimes = field(default_factory=no_batches)
    seconds: float = 0.0
    requests: Requests = field(default_factory=Requests)

    @property
    def next_start(self) -> Sentence:
        """What happens at the next start, in a few words: ``re-runs batch 8``."""
        copy = recovery_copy(self.location, self.last_committed_batch)
        if self.status == "unused" and copy is not None:
            return say_of("survey", "RECOVERY_COPIES", copy)
        if self.next_batch is not None and self.status == "fails":
            return say("survey.fails_in", batch=self.next_batch)
        if self.next_batch is not None and self.status == "reruns":
            return say("survey.reruns_batch", batch=self.next_batch)
        return say_of("survey", "STATUS_WORDS", self.status)

    @property
    def no_finding(self) -> Sentence:
        """That nothing was found, and in what: a stall shows in more batches than a survey reads. Of what no
        start uses no finding is counted."""
        if self.status == "unused":
            return say("survey.not_counted")
        if not self.read_batches:
            return say("survey.none_in_newest")
        return say("survey.none_in", n=self.read_batches)

    @property
    def has_problems(self) -> bool:
        """Whether the next start fails or risks data."""
        return self.status == "fails" or any(self.findings.get(i, 0) for i in ("blocks_restart", "data_risk"))


def attention(row: SurveyRow) -> tuple[int, str, str]:
    """The sort key of a row: what needs attention first. What fails, what risks data, what nobody could look
    into, what re-runs a batch, what somebody should look at, all others, what no start uses; then by
    name."""
    if row.status == "unused":
        return NOBODYS, row.root, row.path
    order: tuple[bool, ...] = (
        row.status == "fails",
        row.has_problems,
        row.status in ("unreadable", "unknown"),
        row.status == "reruns",
        row.status == "fresh_start",
        bool(row.findings.get("attention", 0)),
    )
    return next((at for at, applies in enumerate(order) if applies), len(order)), row.root, row.path


def survey_row(location: Location | str, settings: Settings = DEFAULTS, level: Level = "normal") -> SurveyRow:
    """What is known of one checkpoint. Reads little (settings ``survey_batches``, ``survey_seconds``) and
    never raises: what cannot be looked into is a row with an ``error``.

    ``level`` "normal" lists the state too, "quick" does not. Without a problem it costs at most 3 listings
    on S3 and 20 small files, and for the state a listing (of every 1,000 files) and what describes each
    operator; what looks wrong is looked at a second time, as always. The log of a file source is read as far
    as a start of Spark reads it, up to ten small files.
    """
    started, url = time.monotonic(), str(location)

    def look() -> SurveyRow:
        nonlocal url
        place = parse_location(location) if isinstance(location, str) else location
        url = place.url
        return _looked_into(place, settings, level)

    found, error = guarded(look, settings)
    row = unreadable_row(url, error or "") if found is None else found
    return replace(row, seconds=round(time.monotonic() - started, 3))


def guarded(look: Callable[[], T], settings: Settings) -> tuple[T | None, Sentence | str | None]:
    """What ``look`` gives for one checkpoint, or None and one sentence: what could not be read, or that it
    took longer than ``survey_seconds``. Never raises: the others are answered all the same."""
    try:
        return in_time(look, settings.survey_seconds), None
    except CheckpointExplorerError as error:
        return None, str(error)
    except NoAnswer:
        return None, say("survey.too_slow", seconds=f"{settings.survey_seconds:g}")
    except Exception as error:
        return None, say("errors_program.command", error=type(error).__name__, place=place_of(error))


def unreadable_row(url: str, error: str) -> SurveyRow:
    """The row of a checkpoint that could not be looked into; ``error`` says why."""
    now_ms = time.time_ns() // 1_000_000
    return SurveyRow(
        url, url, "", "unreadable", error, now_ms, error=error, is_temporary=is_temporary_place(url)
    )


def _looked_into(place: Location, settings: Settings, level: Level) -> SurveyRow:
    door = Door.open(place, settings, is_thrifty=True)
    ck = Checkpoint.open(door, settings, newest=READ_FIRST)
    file_logs = sum(source.kind.has_own_log for source in ck.sources)  # read as a start of Spark reads them
    newest = max(READ_FIRST, settings.survey_batches // (1 + file_logs))
    ck.load(ck.offset_ids[-newest:])
    judgement = judge(ck, level=level, newest=newest)
    forecast, report = judgement.forecast, judgement.findings
    copy, sentence = recovery_copy(place.url, ck.last_committed_batch), str(forecast.sentence)
    if copy is not None:
        sentence = say("survey.recovery_copy", what=say_of("survey", "RECOVERY_COPIES", copy), then=sentence)
    row = SurveyRow(
        location=place.url,
        root=place.url,
        path="",
        status=_status(judgement, forecast) if copy is None else "unused",
        sentence=sentence,
        read_at_ms=ck.read_at_ms,
        certainty=forecast.certainty,
        is_temporary=is_temporary_place(place.url),
        query_id=ck.query_id,
        next_batch=forecast.batch_id,
        last_committed_batch=ck.last_committed_batch,
        pending_batch=ck.pending_batch,
        sources=tuple(source.kind.name for source in ck.sources),
        written_by=ck.written_by.at_least,
        not_read=tuple(item.path for item in judgement.not_read),
        read_batches=min(newest, len(ck.offset_ids)),
    )
    row = _with_findings(_with_watermark(_with_times(row, build_timeline(ck)), ck), report)
    return replace(_with_sizes(row, ck, judgement.size, level), requests=door.requests)


def _status(judgement: Judgement, forecast: Forecast) -> Status:
    """What could not be read leaves the next start open, unless the rest shows already that it fails; no
    start is made of what is not in use."""
    if forecast.is_unused:
        return "unused"
    if forecast.outcome != "fail" and forecast.certainty == "needs_input" and judgement.not_read:
        return "unknown"
    return STATUSES[forecast.outcome]


def _with_times(row: SurveyRow, timeline: Timeline) -> SurveyRow:
    # In a copy, commit files can be copied later than the offset files by which a copy shows.
    columns = (timeline.planned_ms,) if timeline.is_copy else (timeline.planned_ms, timeline.committed_ms)
    known = [int(times.max()) for times in columns if len(times)]
    newest_ms = max((ms for ms in known if ms > 0), default=None)
    planned = timeline.planned_ms[-USUAL_BATCHES - 1 :]
    planned = planned[planned > 0]
    span_ms = int(planned[-1] - planned[0]) if len(planned) > 1 else 0
    return replace(
        row,
        newest_ms=newest_ms,
        age_seconds=None if newest_ms is None else max(0, (row.read_at_ms - newest_ms) // 1000),
        batches_per_hour=round((len(planned) - 1) * 3_600_000 / span_ms, 2) if span_ms > 0 else None,
        median_duration_ms=usual_duration_ms(timeline),
        batches=batch_times(timeline),
    )


def _with_watermark(row: SurveyRow, ck: Checkpoint) -> SurveyRow:
    history = watermark_history(ck)
    if not len(history) or not history.has_watermark:
        return row
    is_gapless = not any(item.path.startswith(("offsets/", "commits/")) for item in ck.not_read)
    is_newest = bool(ck.offset_ids) and int(history.batch_ids[-1]) == ck.offset_ids[-1]
    lag = history.lag_ms[-1] if is_newest else np.nan
    stalled = next((stall.batches for stall in history.stalls if stall.reaches_end), 0)
    return replace(
        row,
        watermark_lag_ms=None if np.isnan(lag) else int(lag),
        watermark_stalled_batches=stalled if is_newest and (stalled or is_gapless) else None,
    )


def _with_findings(row: SurveyRow, report: FindingsReport) -> SurveyRow:
    found = [item for item in report.findings if row.status != "unused" or item.id == NOT_IN_USE]
    counts: Counter[str] = Counter(item.severity for item in found)
    worst = next((item.id for item in found if item.severity != "note"), None)
    named = {severity: counts[severity] for severity in COUNTED}
    return replace(row, findings=named, worst_finding=worst)


def _with_sizes(row: SurveyRow, ck: Checkpoint, size: CheckpointSize, level: Level) -> SurveyRow:
    amounts = [amount for amount in (size.logs, size.sources, size.state) if amount is not None]
    sizes = [amount.size_bytes for amount in amounts]
    is_all = level != "quick" and None not in sizes
    row = replace(
        row,
        log_bytes=size.logs.size_bytes,
        source_bytes=None if size.sources is None else size.sources.size_bytes,
        total_bytes=sum(amount or 0 for amount in sizes) if is_all else None,
        files=sum(amount.files for amount in amounts),
    )
    if not ck.has_state:
        return replace(row, operators=0, state_bytes=0, files_per_batch=float(LOG_FILES))
    if level == "quick":
        return row
    found = state_inventory(ck).operators
    operators = tuple(_operator_facts(operator) for operator in found)
    return replace(
        row,
        operators=len(operators),
        files_per_batch=_files_per_batch(found),
        operator_state=operators,
        state_bytes=None if size.state is None else size.state.size_bytes,
        state_skew=max((found.skew for found in operators if found.skew is not None), default=None),
    )


def _files_per_batch(operators: Sequence[OperatorState]) -> float:
    """The files of the two logs, and those of the state by version."""
    versions = [
        file.version
        for operator in operators
        for partition in operator.partitions
        for file in partition.files
        if file.kind in WRITTEN_BY_BATCHES
    ]
    return round(LOG_FILES + len(versions) / max(1, len(set(versions))), 2)


def _operator_facts(operator: OperatorState) -> OperatorFacts:
    ratios = [balance(operator, store).max_over_median for store in operator.stores]
    skew = max((ratio for ratio in ratios if ratio is not None), default=None)
    return OperatorFacts(
        operator=operator.operator_id,
        name=operator.name,
        size_bytes=operator.size_bytes,
        skew=None if skew is None else round(skew, 2),
    )
