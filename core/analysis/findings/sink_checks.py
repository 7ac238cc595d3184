"""Why there are duplicates or gaps in the sink: what its log tells of the past. What the next start does to
the sink is in the forecast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.checkpoint import Checkpoint
from core.connectors.model import ConnectorAnswers
from core.connectors.sink_history import BegunAgain, SinkHistory, SinkRun, sink_history
from core.messages import Sentence, say
from core.messages.words import counted
from core.sparklogs.evidence import Evidence

SHOWN = 5


def sink_past(ck: Checkpoint, connectors: ConnectorAnswers | None) -> Iterator[Finding]:
    """The findings about the past of the sink; none when it was not asked or keeps no log."""
    what = connectors.sink if connectors is not None else None
    history = sink_history(ck, what)
    if history is None or what is None:
        return
    yield from past_findings(ck, history, what.url)


def not_looked_at(ck: Checkpoint, connectors: ConnectorAnswers) -> list[Sentence]:
    """What of the past of the sink was not read; nothing when the sink was not asked or keeps no log."""
    history = sink_history(ck, connectors.sink)
    if history is None or not history.limit_words:
        return []
    return [say("findings_checks.unchecked_sink_past", why=history.limit_words.rstrip("."))]


def past_findings(ck: Checkpoint, history: SinkHistory, sink_url: str) -> Iterator[Finding]:
    """What a history tells; reads nothing."""
    url = sink_url.rstrip("/")
    yield from _begun_again(history, url)
    yield from _own_batches(history, url)
    yield from _skipped(ck, history, url)
    yield from _files(history, url)


def _begun_again(history: SinkHistory, url: str) -> Iterator[Finding]:
    for found in history.again[:SHOWN]:
        yield finding(
            "SINK_OTHER_QUERY",
            _again_words(found),
            *_evidence(url, (*found.earlier.paths[-1:], *found.later.paths[:1])),
            certainty="inferred" if found.same_rows else "needs_input",
            severity="attention" if found.same_rows or found.first_rows else "note",
        )


def _again_words(found: BegunAgain) -> Sentence:
    """Both queries with their batches, and what equal numbers of rows suggest."""
    both = say(
        "findings_health.sink_other_query",
        earlier=_run_words(found.earlier),
        later=_run_words(found.later),
        own=say("findings_health.sink_later" if found.later.is_own else "findings_health.sink_earlier"),
    )
    told = say("findings_health.sink_other_rows")
    if found.same_rows:
        told = say("findings_health.sink_same_rows", common=found.common)
    elif found.first_rows is not None:
        told = say("findings_health.sink_first_rows", rows=found.first_rows, all_rows=found.earlier.rows)
    return say("findings_health.two_sentences", first=both, second=told)


def _run_words(run: SinkRun) -> Sentence:
    rows = say("findings_health.sink_rows_unknown") if run.rows is None else counted(run.rows, "row")
    return say(
        "findings_health.sink_run",
        writer_id=run.writer_id[:60],
        ids=range(run.first_batch, run.last_batch + 1),
        rows=rows,
        first_version=run.first_version,
        last_version=run.last_version,
    )


def _own_batches(history: SinkHistory, url: str) -> Iterator[Finding]:
    """Numbers of this query that come twice, and numbers that are missing between others."""
    if history.twice:
        batch_id, (first, second) = next(iter(history.twice.items()))
        yield finding(
            "SINK_BATCH_TWICE",
            say(
                "findings_health.sink_twice",
                ids=sorted(history.twice),
                batch_id=batch_id,
                first=first,
                second=second,
            ),
            *_evidence(url, (run.paths[0] for run in history.own)),
            batch_id=batch_id,
        )
    for run in history.own:
        if run.missing:
            yield finding(
                "SINK_BATCH_GAP",
                say(
                    "findings_health.sink_gap",
                    ids=run.missing,
                    first_version=run.first_version,
                    last_version=run.last_version,
                ),
                *_evidence(url, run.paths),
                certainty="inferred",
                batch_id=run.missing[0],
            )


def _skipped(ck: Checkpoint, history: SinkHistory, url: str) -> Iterator[Finding]:
    if not history.skipped:
        return
    first = history.skipped[0]
    yield finding(
        "SINK_BATCHES_SKIPPED",
        say("findings_health.sink_skipped", ids=history.skipped),
        Evidence(ck.offset_files[first].path, 2),
        Evidence(url),
        certainty="inferred",
        batch_id=first,
    )


def _files(history: SinkHistory, url: str) -> Iterator[Finding]:
    """Data files that the log of a file sink names and that are gone, and files that it does not name."""
    if history.gone:
        yield finding(
            "SINK_FILES_GONE",
            say("findings_health.sink_files_gone", files=len(history.gone), example=history.gone[0])
            if history.has_data_files
            else say("findings_health.sink_no_files", files=len(history.gone)),
            *_evidence(url, history.gone[:SHOWN]),
            certainty="certain" if history.has_data_files else "needs_input",
            severity="attention" if history.has_data_files else "note",
        )
    elif history.elsewhere:
        yield finding(
            "SINK_FILES_GONE",
            say("findings_health.sink_files_elsewhere", place=history.elsewhere, url=url),
            *_evidence(url, ("_spark_metadata",)),
            certainty="inferred",
        )
    if history.unknown:
        yield finding(
            "SINK_FILES_WITHOUT_ENTRY",
            say("findings_health.sink_files_unknown", files=len(history.unknown), example=history.unknown[0]),
            *_evidence(url, history.unknown[:SHOWN]),
            certainty="needs_input",
        )


def _evidence(url: str, paths: Iterable[str]) -> list[Evidence]:
    return [Evidence(f"{url}/{path}") for path in paths]
