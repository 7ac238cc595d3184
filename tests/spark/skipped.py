"""Trials in which the sink is asked and has the pending batch: the query was killed between the sink and the
commit log. The damage of a case, a commit that is missing as well, and a restart into the output that the query has
written."""

from __future__ import annotations

from pathlib import Path

from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.judgement import judge
from core.storage import parse_location
from tests.spark.cases import Case
from tests.spark.trial import NOTHING, Trial, Tried, kept_or, start, surroundings
from tests.support import damage as d
from tests.support.copies import copy_of
from tests.support.oracle import ASKED, RECIPES, Base, Fact, Oracle, ids
from tests.support.verdict import Verdict, compare_errors, effect_of, rows_of

KIND = "the sink has the pending batch"
OUTPUT, BEFORE = "out", "out before"


def fits(case: Case) -> bool:
    """Whether a case says something here: one restart of a query on the Spark that wrote its base, with names
    for nothing but its files."""
    return not case.started_before and case.written_by is None and not case.places


def try_skipped(oracle: Oracle, case: Case) -> Trial | None:
    """The trial; None where the damage leaves no pending batch that the sink has."""
    base = oracle.base_of(RECIPES[case.base])
    held = max(ids(base.root / OUTPUT / "_spark_metadata"), default=-1)

    def damage(copy: Path) -> Tried:
        case.damage(copy)
        offsets, commits = ids(copy / "offsets"), ids(copy / "commits")
        tried = Tried(
            base, copy, NOTHING, case.query.new_data == "no", case.session, case.hidden, case.edited, ()
        )
        if not offsets or offsets[-1] > held or commits[-1:] > offsets[-1:]:
            return tried
        if commits[-1:] == offsets[-1:]:
            d.without(f"commits/{offsets[-1]}")(copy)
        output = copy_of(base.root / OUTPUT, copy.parent / OUTPUT)
        copy_of(output, copy.parent / BEFORE)
        return start(oracle, tried, case.build, output)

    tried = kept_or(oracle, base, f"{case.id} and the sink has it", damage)
    if tried.fact is NOTHING or not (tried.copy.parent / BEFORE).exists():
        return None
    said = _said(oracle, tried, case)
    if said is None:
        return None
    return Trial(
        f"{case.id}-and-the-sink-has-it", KIND, case.rows, (), said, tried.fact, _compared(tried, case, said)
    )


def _said(oracle: Oracle, tried: Tried, case: Case) -> Forecast | None:
    with surroundings(oracle, tried):
        ck = Checkpoint.open(str(tried.copy))
        ends = ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(tried.copy.parent / BEFORE))))
        said = judge(ck, ends, level=case.level, spark=ASKED, query=case.query).forecast
    return said if said.sink is not None and said.sink.pending == "skipped" else None


def _compared(tried: Tried, case: Case, said: Forecast) -> Verdict:
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
