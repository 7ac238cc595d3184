"""The integrity check: what is wrong with a checkpoint, what that means, what to do, and what was not looked
at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from core.analysis.findings import deep_checks, log_checks, practice_checks, state_checks
from core.analysis.findings.catalogue import CATALOGUE, finding
from core.analysis.findings.model import LEVELS, SEVERITIES, Finding, FindingsReport, Level, Severity
from core.analysis.forecast import Forecast, forecast
from core.analysis.forecast.versions import OLDEST, choose_spark, parse_version
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.messages import Sentence, say


def findings(
    checkpoint: Checkpoint,
    level: Level = "normal",
    spark: str | None = None,
    newest: int | None = None,
    *,
    connectors: ConnectorAnswers | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FindingsReport:
    """What is wrong, worst first.

    ``quick`` looks at the names in offsets/, commits/ and sources/ and at the log files that were read when
    the checkpoint was opened; ``normal`` reads the newest ``newest`` batches of both logs (default:
    the setting ``checked_batches``), lists state/ and
    follows every chain of state files; ``deep`` also decodes every state file that the retained versions need
    and verifies both kinds of checksum. ``seconds`` is the time that deep may take for all (what was not
    reached is named), ``progress`` gets the state files done and all of them. ``spark`` chooses the version
    whose rules apply, ``connectors`` is what source and sink answered, both as for the forecast.

    A query that runs while it is looked at changes the files: what would block the restart or risk data is
    looked at a second time, and only what is still so is reported. Raises ValueError for an unknown level,
    UnsupportedSparkError for an unknown version, StorageError when a listing fails.
    """
    if level not in LEVELS:
        raise ValueError(say("findings_checks.unknown_level", level=level, levels=LEVELS))
    started = time.monotonic()
    newest = checkpoint.settings.checked_batches if newest is None else newest
    found = _look(checkpoint, level, spark, newest, connectors)
    if any(item.severity != "note" for item in found):
        # Writers and retention change the directory between two listings; what is damaged stays so.
        fresh = checkpoint.refresh()
        again = {(item.id, item.evidence) for item in _look(fresh, level, spark, newest, connectors)}
        # A broker that was asked before this second look is not doubted for it while no batch was planned in
        # between.
        stands = fresh.offset_ids == checkpoint.offset_ids
        found = [
            item
            for item in found
            if item.severity == "note"
            or (item.id, item.evidence) in again
            or (stands and item.id.startswith("KAFKA_"))
        ]
    checked, not_checked = _scope(checkpoint, level, newest, connectors or ConnectorAnswers())
    if level == "deep":
        left = None if seconds is None else max(0.0, seconds - (time.monotonic() - started))
        reported = frozenset(
            str(item.path) for known in found if known.id.startswith("STATE") for item in known.evidence
        )
        deep = deep_checks.deep_checks(
            checkpoint,
            choose_spark(checkpoint, spark).version,
            reported=reported,
            seconds=left,
            progress=progress,
        )
        found += deep.findings
        checked, not_checked = (*checked, *deep.checked), (*deep.not_checked, *not_checked)
    found.sort(key=lambda item: SEVERITIES.index(item.severity))
    return FindingsReport(level, tuple(found), checked, not_checked)


def _look(
    ck: Checkpoint, level: Level, spark: str | None, newest: int, connectors: ConnectorAnswers | None
) -> list[Finding]:
    with_state = level != "quick"
    if with_state:
        ck.load(ck.offset_ids[-newest:])
    answer = forecast(ck, spark=spark, with_state=with_state, connectors=connectors)
    found = [*_of_forecast(ck, answer), *log_checks.missing_files(ck), *log_checks.without_commit(ck)]
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
    found += practice_checks.leftovers(ck, with_state)
    found += practice_checks.temporary_location(ck)
    found += practice_checks.short_retention(ck)
    return _once(found)


def _of_forecast(ck: Checkpoint, answer: Forecast) -> Iterator[Finding]:
    """What stops the next start, and what it silently does to the data."""
    if answer.outcome == "fail" and answer.reason is not None:
        sentence = answer.sentence
        if answer.reason == "STATE_NOT_RESTORABLE":
            sentence = say(
                "findings_checks.with_way_back", sentence=sentence, way_back=state_checks.way_back(ck)
            )
        stops = finding(
            answer.reason,
            sentence,
            *answer.evidence,
            certainty=answer.certainty,
            severity="blocks_restart",
            batch_id=answer.batch_id,
        )
        if (
            answer.reason == "FAILED_PLAN_LEFT" and answer.then is not None
        ):  # the broker decides which repair works
            stops = replace(stops, action=say("findings.repair_by_broker", repair=answer.then))
        yield stops
    for risk in answer.risks:
        yield finding(
            risk.id,
            risk.sentence,
            *risk.evidence,
            certainty=risk.certainty,
            severity=risk.weight,
            batch_id=answer.batch_id,
        )


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
    if connectors.sink is not None:
        checked.append(say("findings_checks.checked_sink_log"))
    if len(asked) < len(ck.sources) or not ck.sources:
        not_checked.append(
            say("findings_checks.unchecked_other_sources" if asked else "findings_checks.unchecked_sources")
        )
    if connectors.sink is None:
        not_checked.append(say("findings_checks.unchecked_sink"))
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
    "Finding",
    "FindingsReport",
    "Level",
    "Severity",
    "findings",
]
