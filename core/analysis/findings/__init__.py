"""The integrity check: what is wrong with a checkpoint, what that means, what to do, and what was not looked
at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from core.analysis.findings import (
    log_checks,
    practice_checks,
    progress_health,
    sink_checks,
    state_checks,
    state_health,
    watermark_health,
)
from core.analysis.findings.catalogue import CATALOGUE, finding
from core.analysis.findings.model import LEVELS, SEVERITIES, Finding, FindingsReport, Level, Severity
from core.analysis.findings.ways import WAYS, Recipe, with_way
from core.analysis.forecast import Forecast, Query, Reading, read_forecast
from core.analysis.forecast.contents import ContentReport, judge_contents
from core.analysis.forecast.versions import OLDEST, parse_version
from core.analysis.watermark import batch_before
from core.checkpoint import Checkpoint
from core.checkpoint.rewind import rewind
from core.checkpoint.state_content.inspection import Progress
from core.connectors import ConnectorAnswers, SinkState
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence
from core.storage import Location

_REMOVED_STATE = frozenset(
    f"forecast_steps.{name}" for name in ("open_stateful", "open_state_removed", "open_operator_removed")
)


def findings(
    checkpoint: Checkpoint,
    level: Level = "normal",
    spark: str | None = None,
    newest: int | None = None,
    *,
    query: Query | None = None,
    connectors: ConnectorAnswers | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
    reading: Reading | None = None,
) -> FindingsReport:
    """What is wrong, worst first.

    ``quick`` looks at the names in offsets/, commits/ and sources/ and at the log files that were read when
    the checkpoint was opened; ``normal`` reads the newest ``newest`` batches of both logs (default:
    the setting ``checked_batches``), lists state/ and
    follows every chain of state files; ``deep`` also decodes every state file that the retained versions need
    and verifies both kinds of checksum. ``seconds`` is the time that deep may take for all (what was not
    reached is named), ``progress`` gets the state files done and all of them. ``spark`` chooses the version
    whose rules apply, ``query`` describes the query that will be started, ``connectors`` is what source and
    sink answered, all as for the forecast. ``reading`` is a forecast of the same question that was made
    already (:func:`core.analysis.forecast.read_forecast`).

    Findings and forecast are one judgement: what blocks the restart or risks data is what the forecast says
    at this level. A query that runs while it is looked at changes the files: what somebody should look at is
    looked at a second time, and only what is still so is reported. Raises ValueError for an unknown level,
    UnsupportedSparkError for an unknown version, StorageError when a listing fails.
    """
    newest = checkpoint.settings.checked_batches if newest is None else newest
    if reading is None:
        reading = read_forecast(
            checkpoint, spark, next_batch_of(query), level, connectors, seconds=seconds, progress=progress
        )
    ck = reading.checkpoint
    foreseen = list(_of_forecast(reading, connectors or ConnectorAnswers()))
    found = _once([*foreseen, *_look(ck, level, newest, reading.forecast, connectors)])
    if any(item.severity != "note" for item in found):
        checkpoint.doubt()
        ck.doubt()
        # Writers and retention change the directory between two listings; what is damaged stays so. What the
        # forecast says was looked at twice.
        again = {
            (item.id, item.evidence)
            for item in _look(ck.refresh(), level, newest, reading.forecast, connectors)
        }
        again |= {(item.id, item.evidence) for item in foreseen}
        found = [item for item in found if item.severity == "note" or (item.id, item.evidence) in again]
    checked, not_checked = _scope(ck, level, newest, connectors or ConnectorAnswers())
    if reading.contents is not None:
        version = parse_version(reading.forecast.spark) or OLDEST
        reported = frozenset(
            str(item.path) for known in found if known.id.startswith("STATE") for item in known.evidence
        )
        contents = judge_contents(ck, reading.contents, version, reported=reported)
        found += _of_contents(ck, contents, reading.forecast)
        checked, not_checked = (*checked, *contents.checked), (*contents.not_checked, *not_checked)
    not_checked = (*_about_removed_state(reading.forecast), *not_checked)
    # Whatever was tried so far, the second look included.
    not_read = (*checkpoint.not_read, *(connectors.not_read if connectors is not None else ()))
    found += log_checks.not_read(not_read)
    found.sort(key=lambda item: SEVERITIES.index(item.severity))
    return FindingsReport(level, tuple(found), checked, not_checked)


def next_batch_of(query: Query | None) -> Query:
    """The query as the findings ask about it: they speak of the next batch, whenever there is data for it."""
    asked = query or Query()
    return replace(asked, new_data="unknown") if asked.new_data == "no" else asked


def _look(
    ck: Checkpoint, level: Level, newest: int, answer: Forecast, connectors: ConnectorAnswers | None
) -> list[Finding]:
    """What somebody should look at, beside what the next start meets."""
    with_state = level != "quick"
    if with_state:
        ck.load(ck.offset_ids[-newest:])
    found = [*log_checks.missing_files(ck), *log_checks.without_commit(ck, answer.sink)]
    entries = ck.loaded_offsets()
    needed = frozenset(item.path for item in answer.evidence)
    found += log_checks.unreadable_files(ck, needed)
    found += log_checks.watermark_back(entries, ck)
    found += log_checks.positions_back(entries, ck)
    found += log_checks.two_writers(entries, ck.settings.clock_slack_ms)
    if with_state and ck.has_state:
        version = parse_version(answer.spark) or OLDEST
        found += state_checks.later_versions(ck)
        found += state_checks.metadata_and_schemas(ck, version)
        found += state_checks.extra_partitions(ck)
        found += state_checks.growth(ck, entries)
        found += state_health.rocksdb_growth(ck, entries)
        found += state_health.skewed(ck)
    found += watermark_health.stalled(ck)
    found += progress_health.pending(ck, with_state)
    found += sink_checks.sink_past(ck, connectors)
    found += practice_checks.leftovers(ck, with_state)
    found += practice_checks.temporary_location(ck)
    found += practice_checks.short_retention(ck)
    found += practice_checks.long_retention(ck)
    found += practice_checks.inside_data(ck, connectors)
    found += progress_health.slowing(ck)
    found += progress_health.behind(ck, connectors)
    return found


def _of_contents(ck: Checkpoint, contents: ContentReport, answer: Forecast) -> Iterator[Finding]:
    """What the contents of the state files show. Where no batch loads them they stop nothing."""
    loads = any(step.id == "state_files" and step.status != "does_not_apply" for step in answer.steps)
    for damage in contents.damage:
        severity = damage.severity
        if not loads and severity in ("blocks_restart", "data_risk"):
            severity = "attention"
        damaged = finding(
            damage.id,
            damage.sentence,
            *damage.evidence,
            certainty=damage.certainty,
            severity=severity,
            place=damage.place,
        )
        yield _with_rewind(ck, damaged, damage.intact_batch if loads else None, answer.sink)


def _of_the_contents(reading: Reading) -> frozenset[tuple[str, tuple[Evidence, ...]]]:
    """IDs and evidence of what the forecast says because of what is in the state files: these are findings of
    their own."""
    if reading.contents is None:
        return frozenset()
    version = parse_version(reading.forecast.spark) or OLDEST
    known = judge_contents(reading.checkpoint, reading.contents, version).damage
    return frozenset((damage.id, damage.evidence) for damage in known)


def _of_forecast(reading: Reading, connectors: ConnectorAnswers) -> Iterator[Finding]:
    """What stops the next start, and what it silently does to the data. Nothing while a running query changes
    the files between every two looks."""
    ck, answer = reading.checkpoint, reading.forecast
    if not reading.is_settled:
        return
    of_contents = _of_the_contents(reading)
    is_known = (answer.reason, answer.evidence) in of_contents
    if answer.outcome == "fail" and answer.reason is not None and not is_known:
        sentence, back, is_skipped = answer.sentence, None, False
        if answer.reason == "STATE_NOT_RESTORABLE":
            way_back, back, is_skipped = state_checks.way_back(ck, answer, connectors)
            sentence = say("findings_checks.with_way_back", sentence=sentence, way_back=way_back)
        stops = finding(
            answer.reason,
            sentence,
            *answer.evidence,
            certainty=answer.certainty,
            severity="blocks_restart",
            batch_id=answer.batch_id,
        )
        if is_skipped:
            stops = replace(stops, action=say("findings.rollback_skipped"), recipe="restore_backup")
        if answer.reason == "LOG_FILE_UNREADABLE":
            stops, back = log_checks.of_newest_offset(ck, stops)
        if (
            answer.reason == "FAILED_PLAN_LEFT" and answer.then is not None
        ):  # the broker decides which repair works
            stops = replace(stops, action=say("findings.repair_by_broker", repair=answer.then))
        yield _with_rewind(ck, stops, back, answer.sink)
    for risk in answer.risks:
        if (risk.id, risk.evidence) in of_contents:
            continue
        risks = finding(
            risk.id,
            risk.sentence,
            *risk.evidence,
            certainty=risk.certainty,
            severity=risk.weight,
            batch_id=answer.batch_id,
        )
        is_behind = risk.id == "SINK_BEHIND" and answer.sink is not None
        held = answer.sink.holds_up_to_batch if is_behind and answer.sink is not None else None
        back = held if held is not None else batch_before(ck, risk.id)
        yield _with_rewind(ck, risks, back, answer.sink)


def _with_rewind(ck: Checkpoint, found: Finding, batch: int | None, sink: SinkState | None) -> Finding:
    """The finding with the recovery option that goes back to a batch, where everything for it is there. A
    file sink has to end at that batch: it would skip the ones after it."""
    if batch is None or rewind(ck).why_not(batch) is not None:
        return found
    if sink is not None and sink.skips_any_query and sink.holds_up_to_batch not in (None, batch):
        return found
    action = say("findings.with_rewind", action=found.action, batch=batch)
    return replace(found, action=action, rewind_to=batch)


def _about_removed_state(said: Forecast) -> Iterator[Sentence]:
    """What the forecast leaves open of state that somebody may have deleted: no file shows it."""
    for question in said.not_checked:
        if isinstance(question, Sentence) and question.key in _REMOVED_STATE:
            yield question


def _once(found: list[Finding]) -> list[Finding]:
    """What two checks say is one finding: what the forecast says comes first."""
    seen: dict[tuple[str, object], Finding] = {}
    for item in found:
        seen.setdefault((item.id, item.evidence[:1]), item)
    return list(seen.values())


def _scope(
    ck: Checkpoint, level: Level, newest: int, connectors: ConnectorAnswers
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if level == "quick":
        checked: list[str] = [say("findings_checks.checked_names"), _batches(ck, len(ck.loaded_ids), None)]
        not_checked: list[str] = [say("findings_checks.unchecked_state")] if ck.has_state else []
    else:
        read = min(len(ck.offset_ids), newest)
        older = len(ck.offset_ids) - read
        checked = [_batches(ck, read, newest), say("findings_checks.checked_source_logs")]
        checked += [say("findings_checks.checked_chains")] if ck.has_state else []
        not_checked = [say("findings_checks.unchecked_older_batches", batches=older)] if older else []
        if ck.has_state and level == "normal":
            not_checked.append(say("findings_checks.unchecked_contents"))
    asked = [
        source.key
        for source in ck.sources
        if source.key in connectors.brokers
        or source.key in connectors.tables
        or source.key in connectors.places
    ]
    asked = [
        key
        for key in asked
        if f"source {key}" not in connectors.troubles
        and not (key in connectors.brokers and "kafka" in connectors.troubles)
    ]
    checked += [say("findings_checks.checked_source", key=key) for key in asked]
    if connectors.sink is not None and not isinstance(connectors.sink, Location):
        checked.append(say("findings_checks.checked_sink_log"))
    if len(asked) < len(ck.sources) or not ck.sources:
        not_checked.append(
            say("findings_checks.unchecked_other_sources" if asked else "findings_checks.unchecked_sources")
        )
    if connectors.sink is None or isinstance(connectors.sink, Location):
        not_checked.append(say("findings_checks.unchecked_sink"))
    not_checked += sink_checks.not_looked_at(ck, connectors)
    not_checked += [
        say("findings_checks.unchecked_asked", end=end, why=why) for end, why in connectors.troubles.items()
    ]
    return tuple(checked), (*not_checked, say("findings_checks.unchecked_code"))


def _batches(ck: Checkpoint, read: int, newest: int | None) -> Sentence:
    """Which batches of the logs were read."""
    batches = len(ck.offset_ids)
    if read < batches:
        if newest is None:
            return say("findings_checks.checked_some_batches", read=read, batches=batches)
        return say("findings_checks.checked_newest_batches", read=read)
    if batches < 2:
        return say("findings_checks.checked_one_batch" if batches else "findings_checks.checked_no_batch")
    return say("findings_checks.checked_all_batches", batches=batches)


__all__ = [
    "CATALOGUE",
    "LEVELS",
    "SEVERITIES",
    "WAYS",
    "Finding",
    "FindingsReport",
    "Level",
    "Recipe",
    "Severity",
    "findings",
    "next_batch_of",
    "with_way",
]
