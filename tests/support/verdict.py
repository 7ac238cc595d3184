"""What the forecast said against what Spark did, and against what the check said: where they differ, in words.

Nothing loosens a comparison but ``data_sure``: what is said for sure must be so, of what is said as possible
either it or nothing must be so. "unknown" is no answer: it is counted by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.analysis.findings import FindingsReport
from core.analysis.forecast import Forecast
from core.analysis.forecast.model import SINK_KINDS, SinkKind
from tests.support.oracle import Fact, Rows

# Up to 3.5 one task compares the schema and every task the rows of its own partition: which of them speaks
# first is chance.
NOT_THE_SCHEMA = {"StateSchemaNotCompatible", "InvalidUnsafeRowException"}


@dataclass(frozen=True)
class Verdict:
    """``differences``: where forecast, fact and check disagree. ``unknown``: kinds of sink for which the
    forecast gives no answer."""

    differences: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def word(self) -> str:
        """In one word: wrong, unknown or right."""
        return "wrong" if self.differences else "unknown" if self.unknown else "right"


@dataclass(frozen=True)
class Observed:
    """What a restart did.

    ``held``: what the sinks hold before it. ``expected``: what an undisturbed run hands out in all.
    ``earlier``: the rows that starts since the damage have handed out before it.
    """

    held: Mapping[int, Rows]
    expected: tuple[Mapping[int, Rows], ...]
    fact: Fact
    earlier: tuple[Mapping[int, Rows], ...] = ()


def compare(seen: Observed, said: Forecast, report: FindingsReport, copy: Path) -> Verdict:
    """The forecast of a copy against the restart of it."""
    fact = seen.fact
    found = [
        f"{name}: said {one}, was {other}"
        for name, one, other in (
            ("outcome", said.outcome, fact.outcome),
            ("batch", said.batch_id, fact.first_batch),
            ("fails at", said.fails_at, fact.fails_at),
        )
        if one != other
    ]
    if fact.outcome == "fail" and fact.error is not None and said.error is not None:
        found += compare_errors(said, fact, copy)
    ran = bool(fact.delivered) or bool(fact.causes)  # what happens "then" is not seen when nothing ran
    if fact.outcome != "fail" and ran and bool(fact.causes) != bool(said.then):
        found.append(f"then: said {said.then}, was {[cause.message[:200] for cause in fact.causes]}")
    found += _compare_data(seen, said)
    found += _compare_check(said, report)
    return Verdict(tuple(found), tuple(kind for kind in SINK_KINDS if getattr(said.data, kind) == "unknown"))


def compare_errors(said: Forecast, fact: Fact, copy: Path) -> list[str]:
    """Where the error that was said is another one than that of the copy's restart."""
    assert said.error is not None and fact.error is not None
    if {said.error.error_class, fact.error.error_class} == NOT_THE_SCHEMA:
        return []
    found = [
        f"{name}: said {one}, was {other}"
        for name, one, other in (
            ("condition", said.error.condition, fact.error.condition),
            ("SQLSTATE", said.error.sqlstate, fact.error.sqlstate),
            ("class", said.error.error_class, fact.error.error_class),
        )
        # Up to 3.5 a damaged state file dies of whatever met it first: no class is said then.
        if one != other and not (name == "class" and one is None)
    ]
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


def _compare_data(seen: Observed, said: Forecast) -> list[str]:
    found = []
    for kind, was in effects(seen).items():
        told, sure = said.data.at(kind), said.data.is_sure(kind)
        if told == "unknown" or was == told or (was == "exact" and not sure):
            continue
        found.append(f"{kind}: said {told}{'' if sure else ' (possible)'}, was {was}")
    return found


def _compare_check(said: Forecast, report: FindingsReport) -> list[str]:
    """The check and the forecast are one judgement."""
    blocking = [item.id for item in report.findings if item.severity == "blocks_restart"]
    risks = [item.id for item in report.findings if item.severity == "data_risk"]
    found = []
    fails = said.outcome == "fail"
    if (fails and not blocking) or (blocking and not fails and not said.then):
        found.append(f"check: outcome {said.outcome} ({said.reason}), findings that block: {blocking}")
    is_later = bool(risks) and not said.is_data_risk and said.outcome == "resume" and bool(said.then)
    if said.outcome != "fail" and bool(risks) != said.is_data_risk and not is_later:
        found.append(f"check: risks {[risk.id for risk in said.risks]}, findings at risk: {risks}")
    return found


def effects(seen: Observed) -> dict[SinkKind, str]:
    """What happened to the rows at the kinds of sink that can be judged.

    All that a sink holds after the restart is compared with an undisturbed run. When the restart failed, rows
    that were not delivered yet are not lost. What starts before this one have done to a sink already is not
    held against this one: such a sink is left out.
    """
    expected = rows_of(seen.expected)
    found: dict[SinkKind, str] = {}
    for kind in SINK_KINDS:
        before = _held(kind, seen.held, seen.earlier)
        if seen.earlier and (rows_of([before]) - expected or kind != "overwrite" or not seen.fact.delivered):
            continue
        after = _held(kind, seen.held, (*seen.earlier, seen.fact.delivered))
        found[kind] = effect_of(expected, rows_of([after]), bool(seen.fact.causes))
    return found


def _held(kind: str, first: Mapping[int, Rows], starts: Iterable[Mapping[int, Rows]]) -> dict[int, Rows]:
    """What a sink of one kind holds after the first run and some starts: batch id -> rows."""
    held = dict(first)
    for delivered in starts:
        newest = max(held, default=-1)
        for batch_id, rows in delivered.items():
            if kind == "append":
                held[batch_id] = (*held.get(batch_id, ()), *rows)
            elif kind == "overwrite" or batch_id > newest:
                held[batch_id] = rows
    return held


def rows_of(parts: Iterable[Mapping[int, Rows]]) -> Counter[str]:
    """All rows of some batches."""
    return Counter(row for part in parts for rows in part.values() for row in rows)


def effect_of(expected: Counter[str], actual: Counter[str], ended_early: bool) -> str:
    """loss, duplicates or exact. Rows that a failed start did not get to are not lost."""
    if expected - actual and not ended_early:
        return "loss"
    return "duplicates" if actual - expected else "exact"
