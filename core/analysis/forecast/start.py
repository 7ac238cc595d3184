"""The steps of Spark's start as data, in the order of each version, and how they are taken: the first one that
fails ends it."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.analysis.forecast import logs, sources, state, upgrade
from core.analysis.forecast.context import RestartContext, StartStep, Verdict
from core.analysis.forecast.model import EXACT, RUN_AGAIN, DataEffect, FailsAt, Risk, Step, StepStatus
from core.analysis.forecast.versions import V41, Version
from core.sparklogs.evidence import Certainty

METADATA = StartStep(
    "metadata",
    "read metadata",
    "start",
    logs.check_metadata,
)
NEWEST_OFFSET = StartStep(
    "newest_offset",
    "read offsets/{n}",
    "start",
    logs.check_newest_offset,
)
SOURCE_LOGS = StartStep(
    "source_logs",
    "open the logs of the file sources",
    "start",
    sources.check_source_logs,
)
NEWEST_COMMIT = StartStep(
    "newest_commit",
    "read commits/{c}",
    "start",
    logs.check_newest_commit,
)
SOURCE_COUNT = StartStep(
    "source_count",
    "compare the number of sources with offsets/{n} and offsets/{p}",
    "start",
    logs.check_source_count,
)
PREVIOUS_OFFSET = StartStep(
    "previous_offset",
    "read offsets/{p}",
    "start",
    logs.check_previous_offset,
)
SOURCE_RANGES = StartStep(
    "source_ranges",
    "ask the sources again for the range of batch {n}",
    "start",
    sources.check_ranges,
)
PLAN = StartStep(
    "plan",
    "plan batch {b}",
    "batch",
    sources.check_plan,
)
OPERATORS = StartStep(
    "operators",
    "compare the stateful operators with state/",
    "batch",
    state.check_operators,
)
STATE_FOLDER = StartStep(
    "state_folder",
    "look into state/",
    "batch",
    state.check_folder,
)
SETTINGS = StartStep(
    "settings",
    "take the pinned settings from offsets/{n}",
    "batch",
    state.check_settings,
)
UPGRADE = StartStep(
    "upgrade",
    "take over what another version wrote",
    "batch",
    upgrade.check_upgrade,
)
STATE_SCHEMA = StartStep(
    "state_schema",
    "read the state schemas",
    "batch",
    state.check_schema,
)
STATE_FILES = StartStep(
    "state_files",
    "load state version {v} in every partition of every store",
    "batch",
    state.check_files,
)
COMMIT = StartStep(
    "commit",
    "hand batch {b} to the sink and write commits/{b}",
    "batch",
    sources.check_commit,
)

_BATCH = (PLAN, OPERATORS, STATE_FOLDER, SETTINGS, UPGRADE, STATE_SCHEMA, STATE_FILES, COMMIT)
_FROM_41 = (
    METADATA,
    NEWEST_OFFSET,
    SOURCE_LOGS,
    NEWEST_COMMIT,
    SOURCE_COUNT,
    PREVIOUS_OFFSET,
    SOURCE_RANGES,
    *_BATCH,
)
_TO_40 = (
    METADATA,
    NEWEST_OFFSET,
    SOURCE_LOGS,
    SOURCE_COUNT,
    PREVIOUS_OFFSET,
    NEWEST_COMMIT,
    SOURCE_RANGES,
    *_BATCH,
)
_NEEDS_STATE = frozenset({"operators", "state_folder", "settings", "upgrade", "state_schema", "state_files"})
_SKIPPED_FROM_SCRATCH = frozenset(
    {
        "newest_commit",
        "source_count",
        "previous_offset",
        "source_ranges",
        "state_folder",
        "settings",
        "state_files",
    }
)


def steps_of(version: Version) -> tuple[StartStep, ...]:
    """The steps in the order in which this version takes them. To 4.0 the newest commit is read after
    offsets/N-1, from 4.1 on before."""
    return _FROM_41 if version >= V41 else _TO_40


@dataclass
class StepResults:
    """What the steps gave: every step with its mark, the failure if there is one, and what
    was collected on the way."""

    steps: list[Step] = field(default_factory=list)
    failure: Verdict | None = None
    fails_at: FailsAt | None = None
    risks: list[Risk] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    certainties: list[Certainty] = field(default_factory=list)
    data: DataEffect = EXACT


def take_steps(s: RestartContext) -> StepResults:
    """Takes the steps in order until one fails; the later ones are listed as not reached."""
    result = StepResults()
    for step in steps_of(s.version):
        skip = _not_taken(s, step, result)
        if skip is not None:
            status, note = skip
            result.steps.append(Step(step.id, s.fill(step.title), status, (), note))
            continue
        verdict = step.check(s)
        result.steps.append(
            Step(
                step.id,
                s.fill(step.title),
                verdict.status,
                verdict.evidence,
                verdict.note or verdict.why,
                verdict.certainty,
            )
        )
        s.from_scratch = s.from_scratch or verdict.starts_from_scratch
        result.risks += verdict.risks
        result.not_checked += verdict.not_checked
        result.certainties.append(verdict.certainty)
        if verdict.ok is not False:
            result.data = result.data.plus(verdict.data)
        if verdict.then:
            result.then.append(verdict.then)
        if verdict.ok is False:
            result.failure = verdict
            result.fails_at = verdict.fails_at or step.phase
    result.data = _data(s, result)
    return result


def _not_taken(s: RestartContext, step: StartStep, so_far: StepResults) -> tuple[StepStatus, str] | None:
    if so_far.failure is not None:
        return "not_reached", "Spark has failed before"
    if s.from_scratch and step.id in _SKIPPED_FROM_SCRATCH:
        return "does_not_apply", "batch 0 starts from scratch"
    if not s.with_state and step.id in _NEEDS_STATE and s.checkpoint.has_state:
        return "not_checked", "state/ is not listed at this level"
    if s.nothing_runs and step.phase == "batch":
        return "not_reached", "no batch runs until there is new data"
    return None


def _data(s: RestartContext, result: StepResults) -> DataEffect:
    """What the sinks see: of a failed start what was delivered before it failed, else the re-run and every
    risk together."""
    if result.failure is not None:
        return result.failure.delivered
    data = result.data.plus(RUN_AGAIN if s.runs_again else EXACT)
    for risk in result.risks:
        data = data.plus(risk.data)
    return data
