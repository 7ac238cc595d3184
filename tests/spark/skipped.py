"""Trials in which the sink is asked and has the pending batch: the query was killed between the sink and the
commit log. The damage of a case, a commit that is missing as well, and a restart into the output that the query has
written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core.analysis.findings import Level
from core.analysis.forecast import Forecast, Query
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.judgement import judge
from core.storage import parse_location
from tests.spark.cases import Case
from tests.spark.cases.model import NEW, NO_NEW
from tests.spark.trial import NOTHING, Trial, Tried, kept_or, start, surroundings
from tests.support import damage as d
from tests.support.copies import copy_of
from tests.support.incidents import Incident, Scene
from tests.support.oracle import ASKED, RECIPES, Base, Build, Fact, Oracle, ids
from tests.support.verdict import Verdict, compare_errors, effect_of, rows_of

KIND = "the sink has the pending batch"
RANDOM = "random, and the sink has the pending batch"
OUTPUT, BEFORE = "out", "out before"


def fits(case: Case) -> bool:
    """Whether a case says something here: one restart of a query on the Spark that wrote its base, with names
    for nothing but its files."""
    return not case.started_before and case.written_by is None and not case.places


def try_skipped(oracle: Oracle, case: Case) -> Trial | None:
    """The trial; None where the damage leaves no pending batch that the sink has."""
    base = oracle.base_of(RECIPES[case.base])

    def befall(copy: Path) -> Tried:
        case.damage(copy)
        is_quiet = case.query.new_data == "no"
        return Tried(base, copy, NOTHING, is_quiet, case.session, case.hidden, case.edited, ())

    tried = kept_or(
        oracle, base, f"{case.id} and the sink has it", partial(_started, oracle, befall, case.build)
    )
    return _judged(oracle, tried, case.id, KIND, case.rows, Question(case.query, case.level))


def try_skipped_incident(oracle: Oracle, incident: Incident) -> Trial | None:
    """The same after a random incident, in which the query was not started; the forecast reads all that it
    can."""
    base = oracle.base_of(incident.recipe)

    def befall(copy: Path) -> Tried:
        starts: list[Scene] = []
        scene = incident.befall(base, copy, starts.append)
        tried = Tried(
            base, copy, NOTHING, incident.is_quiet, scene.conf, tuple(scene.hidden), scene.edited, ()
        )
        return replace(tried, story=tuple(scene.story), earlier=({},) * len(starts))

    tried = kept_or(
        oracle, base, f"{incident.id} and the sink has it", partial(_started, oracle, befall, None)
    )
    query = NO_NEW if incident.is_quiet else NEW
    return _judged(oracle, tried, incident.id, RANDOM, (), Question(query, "deep"))


@dataclass(frozen=True)
class Question:
    """What the forecast is asked with."""

    query: Query
    level: Level


def _started(oracle: Oracle, befall: Callable[[Path], Tried], build: Build | None, copy: Path) -> Tried:
    """The damage, a commit that is missing as well, and the restart; nothing where the sink lacks the batch."""
    tried = befall(copy)
    held = max(ids(tried.base.root / OUTPUT / "_spark_metadata"), default=-1)
    offsets, commits = ids(copy / "offsets"), ids(copy / "commits")
    if not offsets or offsets[-1] > held or commits[-1:] > offsets[-1:] or tried.earlier:
        return tried
    if commits[-1:] == offsets[-1:]:
        d.without(f"commits/{offsets[-1]}")(copy)
    output = copy_of(tried.base.root / OUTPUT, copy.parent / OUTPUT)
    copy_of(output, copy.parent / BEFORE)
    return start(oracle, tried, build, output)


def _judged(
    oracle: Oracle, tried: Tried, name: str, kind: str, rows: tuple[str, ...], asked: Question
) -> Trial | None:
    if tried.fact is NOTHING or not (tried.copy.parent / BEFORE).exists():
        return None
    said = _said(oracle, tried, asked)
    if said is None:
        return None
    verdict = _compared(tried, said)
    return Trial(f"{name}-and-the-sink-has-it", kind, rows, tried.story, said, tried.fact, verdict)


def _said(oracle: Oracle, tried: Tried, asked: Question) -> Forecast | None:
    with surroundings(oracle, tried):
        ck = Checkpoint.open(str(tried.copy))
        ends = ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(tried.copy.parent / BEFORE))))
        said = judge(ck, ends, level=asked.level, spark=ASKED, query=asked.query).forecast
    return said if said.sink is not None and said.sink.pending == "skipped" else None


def _compared(tried: Tried, said: Forecast) -> Verdict:
    """Where forecast and fact differ."""
    fact, newest = tried.fact, max(ids(tried.copy / "offsets"))
    found = []
    is_behind = fact.failed_batch is not None and fact.failed_batch > newest
    if fact.causes and is_behind and said.outcome != "fail":
        found += [] if said.then else [f"then: said {said.outcome}, was {fact.error}"]
    elif fact.causes:
        at = None if fact.fails_at == "start" else fact.failed_batch
        if (said.outcome, said.batch_id) != ("fail", at):
            found.append(
                f"failure: said {said.outcome} {said.batch_id} ({said.reason}), was {at}: {fact.error}"
            )
        else:
            found += compare_errors(said, fact, tried.copy)
    elif said.outcome != "rerun" or (said.then and _went_on(tried, fact)):
        found.append(f"said {said.outcome} {said.reason} {said.then}, and nothing failed")
    found += _rows(tried.base, fact, tried.is_quiet, said)
    return Verdict(tuple(found), ("skip",) if said.data.skip == "unknown" else ())


def _went_on(tried: Tried, fact: Fact) -> bool:
    """Whether the sink got a batch that it did not have."""
    held = max(ids(tried.copy.parent / BEFORE / "_spark_metadata"))
    return max(fact.delivered, default=-1) > held


def _rows(base: Base, fact: Fact, is_quiet: bool, said: Forecast) -> list[str]:
    """What the output holds after the restart against an undisturbed run."""
    expected = rows_of([base.delivered, {} if is_quiet else base.undisturbed])
    was = effect_of(expected, rows_of([fact.delivered]), ended_early=bool(fact.causes))
    told, sure = said.data.skip, said.data.is_sure("skip")
    if told == "unknown" or told == was or (was == "exact" and not sure):
        return []
    return [f"skip: said {told}{'' if sure else ' (possible)'}, was {was}"]
