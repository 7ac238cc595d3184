"""The steps of Spark's start as data, in the order of each version, and how they are taken: the first one
that fails ends it."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.analysis.forecast import (
    logs,
    operators,
    source_logs,
    source_path,
    sources,
    state,
    state_settings,
    upgrade,
)
from core.analysis.forecast.beside import BESIDE
from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import (
    EXACT,
    RUN_AGAIN,
    SINK_KINDS,
    DataEffect,
    FailsAt,
    Risk,
    Step,
    StepStatus,
)
from core.analysis.forecast.step_verdict import StartStep, Verdict
from core.analysis.forecast.versions import V40, V41, Version
from core.messages import Sentence, say, say_of
from core.sparklogs.evidence import Certainty

SOURCE_PATH = StartStep("source_path", "start", source_path.check_source_path)
METADATA = StartStep("metadata", "start", logs.check_metadata)
NEWEST_OFFSET = StartStep("newest_offset", "start", logs.check_newest_offset)
SOURCE_LOGS = StartStep("source_logs", "start", source_logs.check_source_logs)
NEWEST_COMMIT = StartStep("newest_commit", "start", logs.check_newest_commit)
SOURCE_COUNT = StartStep("source_count", "start", logs.check_source_count)
PREVIOUS_OFFSET = StartStep("previous_offset", "start", logs.check_previous_offset)
SOURCE_RANGES = StartStep("source_ranges", "start", sources.check_ranges)
PLAN = StartStep("plan", "batch", sources.check_plan)
OPERATORS = StartStep("operators", "batch", operators.check_operators)
STATE_FOLDER = StartStep("state_folder", "batch", state.check_folder)
SETTINGS = StartStep("settings", "batch", state_settings.check_settings)
UPGRADE = StartStep("upgrade", "batch", upgrade.check_upgrade)
STATE_SCHEMA = StartStep("state_schema", "batch", state.check_schema)
STATE_FILES = StartStep("state_files", "batch", state.check_files)
COMMIT = StartStep("commit", "batch", sources.check_commit)

_BATCH = (PLAN, OPERATORS, STATE_FOLDER, SETTINGS, UPGRADE, STATE_SCHEMA, STATE_FILES, COMMIT)
_FROM_41 = (
    SOURCE_PATH,
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
    SOURCE_PATH,
    METADATA,
    SOURCE_LOGS,
    NEWEST_OFFSET,
    SOURCE_COUNT,
    PREVIOUS_OFFSET,
    NEWEST_COMMIT,
    SOURCE_RANGES,
    *_BATCH,
)
_FROM_41_WITHOUT_OFFSETS = (
    SOURCE_PATH,
    METADATA,
    SOURCE_LOGS,
    NEWEST_OFFSET,
    *(step for step in _FROM_41 if step not in (SOURCE_PATH, METADATA, SOURCE_LOGS, NEWEST_OFFSET)),
)
_NEEDS_STATE = frozenset({"operators", "state_folder", "settings", "upgrade", "state_schema", "state_files"})
_BY_TASKS_TO_35 = frozenset({"operators", "settings", "state_schema"})  # since 4.0 while a batch is planned
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


def steps_of(version: Version, *, has_offsets: bool = True) -> tuple[StartStep, ...]:
    """The steps in the order in which this version takes them. To 4.0 the source logs are read before
    offsets/N (seen with 3.5 and 4.0) and the newest commit after offsets/N-1, from 4.1 on before. Where there
    is no offset, what follows from that comes after the source logs in any version (seen with 4.3)."""
    if version < V41:
        return _TO_40
    return _FROM_41 if has_offsets else _FROM_41_WITHOUT_OFFSETS


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
    instead_of_exact: DataEffect = EXACT


def take_steps(s: RestartContext) -> StepResults:
    """Takes the steps in order until one fails; the later ones are listed as not reached. What fails behind a
    batch that the sink skips comes after all steps of that batch: where one of these fails, it is not
    reached."""
    result = StepResults()
    behind: tuple[int, Verdict] | None = None  # the place of its step
    for step in steps_of(s.version, has_offsets=s.n is not None):
        if step is SOURCE_PATH and not s.connectors.places:
            continue  # the directory stands in the query: nobody has named it
        what = _what(s, step.id)
        skip = _not_taken(s, step, result)
        if skip is not None:
            status, note = skip
            result.steps.append(Step(step.id, what, status, (), note))
            continue
        by_tasks = s.version < V40 and step.id in _BY_TASKS_TO_35
        verdict = _unless_idle(s, step.check(s.loading if by_tasks else s))
        taken = Step(
            step.id,
            what,
            verdict.status,
            verdict.evidence,
            verdict.note or verdict.why,
            verdict.certainty,
        )
        is_behind = verdict.ok is False and verdict.batch_id is not None
        if is_behind and behind is not None:
            result.steps.append(_not_reached(taken))
            continue
        result.steps.append(taken)
        s.from_scratch = s.from_scratch or verdict.starts_from_scratch
        result.risks += verdict.risks
        result.not_checked += verdict.not_checked
        result.certainties.append(verdict.certainty)
        if verdict.ok is not False:
            result.data = result.data.plus(verdict.data)
            result.instead_of_exact = result.instead_of_exact.plus(verdict.instead_of_exact)
        if verdict.then:
            result.then.append(verdict.then)
        if is_behind:
            behind = len(result.steps) - 1, verdict
        elif verdict.ok is False:
            result.failure = verdict
            result.fails_at = verdict.fails_at or step.phase
    if behind is not None and result.failure is None:
        result.failure, result.fails_at = behind[1], "batch"
    elif behind is not None:
        result.steps[behind[0]] = _not_reached(result.steps[behind[0]])
    if not s.from_scratch and not s.nothing_runs:
        known = {risk.id for risk in result.risks}
        found = [risk for rule in BESIDE for risk in rule(s)]
        result.risks += [risk for risk in found if risk.id not in known]
    result.data = _data(s, result)
    return result


def _not_reached(step: Step) -> Step:
    return Step(step.id, step.what, "not_reached", (), say("forecast_steps.failed_before"))


def _unless_idle(s: RestartContext, verdict: Verdict) -> Verdict:
    """What fails behind a batch that the sink skips does so as soon as there is another batch; where the sink
    is ahead by more than that batch, new ones are skipped before, which is another trouble."""
    if verdict.ok is not False or verdict.batch_id is None:
        return verdict
    if verdict.batch_id == s.first_batch + 1 and not s.loading.nothing_runs:
        return verdict
    return Verdict(
        evidence=verdict.evidence,
        risks=verdict.risks,
        not_checked=verdict.not_checked,
        then=say("forecast.then_fails_later", batch_id=verdict.batch_id, why=verdict.why),
    )


def _what(s: RestartContext, step_id: str) -> Sentence:
    """What a step does, with its numbers; an id that is not there is ``-``."""
    first = s.loading.first_batch if step_id == STATE_FILES.id else s.first_batch
    ids = {"n": s.n, "p": s.previous, "c": s.c, "b": first}
    known = {name: "-" if batch_id is None else batch_id for name, batch_id in ids.items()}
    return say_of("forecast_steps", "STEPS", step_id, **known)


def _not_taken(s: RestartContext, step: StartStep, so_far: StepResults) -> tuple[StepStatus, Sentence] | None:
    if so_far.failure is not None:
        return "not_reached", say("forecast_steps.failed_before")
    if s.from_scratch and step.id in _SKIPPED_FROM_SCRATCH:
        return "does_not_apply", say("forecast_steps.from_scratch")
    if not s.with_state and step.id in _NEEDS_STATE and s.checkpoint.has_state:
        return "not_checked", say("forecast_steps.state_not_listed")
    if s.nothing_runs and step.phase == "batch":
        return "not_reached", say("forecast_steps.no_batch")
    return None


def _data(s: RestartContext, result: StepResults) -> DataEffect:
    """What the sinks see: of a failed start what was delivered before it failed, else the re-run and every
    risk together."""
    if result.failure is not None:
        return result.failure.delivered
    data = result.data.plus(RUN_AGAIN if s.runs_again else EXACT)
    for risk in result.risks:
        data = data.plus(risk.data)
    weaker = result.instead_of_exact
    now = {kind: weaker.at(kind) if data.at(kind) == "exact" else data.at(kind) for kind in SINK_KINDS}
    return DataEffect(now["append"], now["overwrite"], now["skip"], data.possible)
