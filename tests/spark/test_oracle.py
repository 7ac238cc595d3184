"""Forecast against fact: damage a real checkpoint, forecast, restart the same query on real Spark, compare.

The Spark is the one that is installed here, and the forecast is made with its rules: `scripts/test --spark
3.5.9` runs this under 3.5.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.analysis.forecast import Forecast, forecast
from core.analysis.forecast.model import worst
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.storage import parse_location
from tests.spark.oracle_cases import CASES, Case
from tests.support.oracle import ASKED, Base, Fact, Oracle, effects

# Up to 3.5 one task compares the schema and every task the rows of its own partition: which of them speaks
# first is chance.
NOT_THE_SCHEMA = {"StateSchemaNotCompatible", "InvalidUnsafeRowException"}


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_forecast_says_what_spark_does(oracle: Oracle, case: Case) -> None:
    if not case.needed.is_here:
        pytest.skip(case.needed.why_not)
    base = oracle.base(case.base)
    copy = oracle.copy(base)
    case.damage(copy)
    away = (*case.hidden, *(oracle.waiting(base) if case.query.new_data == "no" else ()))
    connectors = (
        ConnectorAnswers(places={"0": parse_location(str(base.root / "in"))})
        if case.looks_at_inputs
        else None
    )
    with oracle.away(base, away):
        said = forecast(Checkpoint.open(str(copy)), spark=ASKED, query=case.query, connectors=connectors)
        fact = oracle.restart(base, copy, case.build, case.conf)
    differences = compare(base, case, said, fact, copy)
    assert not differences, "\n".join(
        [*differences, said.sentence, str([c.error_class + ": " + c.message[:300] for c in fact.causes])]
    )


def compare(base: Base, case: Case, said: Forecast, fact: Fact, copy: Path) -> list[str]:
    """Where the forecast and the fact differ, in words; empty when they agree."""
    admits = case.admits and any(item.startswith(case.admits) for item in said.not_checked)
    if admits and fact.fails_at == "batch" and not fact.delivered:
        return []
    found = []
    for name, one, other in (
        ("outcome", said.outcome, fact.outcome),
        ("batch", said.batch_id, fact.first_batch),
        ("fails at", said.fails_at, fact.fails_at),
    ):
        if one != other and not (name == "batch" and other is None and case.may_wait):
            found.append(f"{name}: said {one}, was {other}")
    if fact.outcome == "fail" and fact.error is not None and said.error is not None:
        found += _compare_errors(said, fact, copy)
    undisturbed = base.undisturbed if case.query.new_data == "yes" else {}
    was = effects(base, fact, undisturbed, ended_early=bool(fact.causes))
    for kind in ("append", "overwrite", "skip"):
        told, seen = getattr(said.data, kind), getattr(was, kind)
        if (told == "unknown" and kind in case.unknown) or (told == "exact" and kind in case.blind):
            continue
        if kind in case.at_most and worst(told, seen) == told:
            continue
        if (
            kind == "append"
            and (told, seen) == ("duplicates", "exact")
            and said.batch_id in base.delivered
            and not base.delivered[said.batch_id]
        ):
            continue  # "as many as the first attempt had written", and that were none
        if told != seen:
            found.append(f"{kind}: said {told}, was {seen}")
    if fact.outcome != "fail" and bool(fact.causes) != bool(said.then):
        found.append(f"then: said {said.then}, was {[cause.message[:200] for cause in fact.causes]}")
    return found


def _compare_errors(said: Forecast, fact: Fact, copy: Path) -> list[str]:
    assert said.error is not None and fact.error is not None
    if {said.error.error_class, fact.error.error_class} == NOT_THE_SCHEMA:
        return []
    found = []
    for name, one, other in (
        ("condition", said.error.condition, fact.error.condition),
        ("SQLSTATE", said.error.sqlstate, fact.error.sqlstate),
        ("class", said.error.error_class, fact.error.error_class),
    ):
        if one != other:
            found.append(f"{name}: said {one}, was {other}")
    told, was = _shape(said.error.message, copy), _shape(fact.error.message, copy)
    if told not in was:
        found.append(f"message: said {told!r}, was {was[:400]!r}")
    return found


def _shape(message: str, copy: Path) -> str:
    """A message without the place of the checkpoint; which of several damaged partitions is met first is
    chance."""
    plain = message.replace(f"file:{copy}", "<ck>").replace(str(copy), "<ck>").replace("\n", " ")
    return re.sub(
        r"<ck>/state/\d+/\d+/(\S*?)(\d+)(_[0-9a-f-]{36})?\.", r"<ck>/state/<op>/<partition>/\1\2.", plain
    )
