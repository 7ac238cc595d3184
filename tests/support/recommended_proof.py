"""Whether the recommended option, taken as it is handed out, brings a broken query back, and whether a cheaper
one would have given the same rows.

What happens to a checkpoint is written from the observed table of restarts (what Spark reads at a start, and
what happens when that is missing, cut, foreign or of another batch), not from the rules of the recovery. After
the damage everything is kept aside, so that each option begins with the same files.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.recovery import Option, OptionId, RecoveryContext, options
from tests.support import damage as d
from tests.support.delta import DeltaError
from tests.support.oracle import ids
from tests.support.recovery_cells import OPERATORS, SINKS, STORES, Asked, Broken, Cell, Operator, can_be
from tests.support.recovery_proof import (
    FIRST,
    WAITING,
    EndedError,
    Engine,
    NotMadeError,
    Pipeline,
    Proof,
    Truths,
    Word,
    context_of,
    prepare,
    put_back,
)

PRICE: Mapping[OptionId, int] = {
    "restart": 0,
    "repair_files": 1,
    "drop_state": 2,
    "skip_batch": 2,
    "rewind": 2,
    "reset": 2,
    "full_refresh": 4,
    "backup_and_backfill": 5,
}
"""What an option costs: nothing; files of a copy; a copy or a new checkpoint that leaves things out; all rows
again; all rows again and those that are gone at the source. No trial has a backup."""


def price(option: Option, sink: str) -> int | None:
    """More than in the table: a table that has to be restored first, and a state for which all old rows are read
    once. None for what does not bring a query back."""
    is_more = (option.id == "rewind" and sink.startswith("delta")) or option.recipe.method == "warm_up"
    return 3 if is_more else PRICE.get(option.id)


ByChance = Literal["by chance"]
Outcome = Literal[Word, ByChance, "too expensive", "nothing recommended", "not run"]
GOOD: tuple[Outcome, ...] = ("exact", "as stated")


# ---------------------------------------------------------------- what happens


@dataclass(frozen=True)
class Happening:
    """One thing that happens to a checkpoint. ``is_tried``: somebody starts the query once before anything is
    asked. ``asked`` and ``broken``: it happens to the query, by the proof of the cells."""

    name: str
    damage: d.Damage = d.nothing
    needs: Literal["", "state", "deltas"] = ""
    is_tried: bool = False
    asked: Asked = "recommended"
    broken: Broken | None = None


def _newest_source_entry(ck: Path) -> None:
    log = ck / "sources" / "0"
    d.remove(log / str(ids(log)[-1]))


def _checksum_left_over(ck: Path) -> None:
    newest = d.newest(ck)
    shutil.copy2(ck / "offsets" / f".{newest}.crc", ck / "offsets" / f".{newest + 1}.crc")


def _two_commits(ck: Path) -> None:
    for each in ids(ck / "commits")[-2:]:
        d.remove(ck / "commits" / str(each))


def _newest_state_halved(ck: Path) -> None:
    version = d.newest(ck, "commits") + 1
    found = sorted(
        path
        for path in (ck / "state" / "0" / "1").rglob("*")
        if path.suffix in (".delta", ".zip", ".changelog")
        and path.name.partition(".")[0].partition("_")[0] == str(version)
    )
    assert found, f"no state of version {version}"
    d.halve(found[0])


def _later_commit(ck: Path) -> None:
    commits = ck / "commits"
    newest = d.newest(ck, "commits")
    (commits / str(newest + 4)).write_bytes((commits / str(newest)).read_bytes())


HAPPENINGS: tuple[Happening, ...] = (
    Happening("stopped cleanly"),
    Happening("killed: the newest commit is gone", broken="commit is gone"),
    Happening("the two newest commits are gone", _two_commits),
    Happening("all commits are gone", d.log_gone("commits")),
    Happening("the planned offsets are an empty file", d.holding("offsets/{n+1}", "")),
    Happening(
        "the planned offsets are cut", d.derived("offsets/{n+1}", "offsets/{n}", lambda text: text[:-40])
    ),
    Happening("the newest commit is an empty file", d.holding("commits/{c}", "")),
    Happening("the newest commit has no line but its version", d.holding("commits/{c}", "v1")),
    Happening("the newest offsets are gone, their commit is there", d.without("offsets/{n}")),
    Happening("the newest committed offsets are cut", d.cut("offsets/{n}")),
    Happening("the offsets before the newest are gone", d.without("offsets/{n-1}")),
    Happening("all offsets are gone", d.log_gone("offsets")),
    Happening("metadata is gone", d.without("metadata")),
    Happening("metadata has no UUID", d.holding("metadata", '{"id":"orders"}')),
    Happening("the newest entry of the source log is gone", _newest_source_entry),
    Happening("sources is gone", d.without("sources")),
    Happening("set back by hand by two batches", d.rewound(2)),
    Happening("a commit of a later batch lies there", _later_commit),
    Happening("a file 007 lies in offsets", d.holding("offsets/007", "v1\n")),
    Happening("a checksum file of the next batch is left over", _checksum_left_over),
    Happening("the newest offsets name log version 9", d.changed("offsets/{n}", lambda t: "v9" + t[2:])),
    Happening("state is gone", d.without("state"), "state", is_tried=True),
    Happening("the newest state of a partition is gone", needs="state", broken="state is gone"),
    Happening("the newest state of a partition is cut", _newest_state_halved, "state", is_tried=True),
    Happening("the first delta is gone", d.state_missing("1", "delta"), "deltas", is_tried=True),
    Happening("the operator metadata is gone", d.without("state/0/_metadata/metadata"), "state"),
    Happening("the schema of the state is empty", d.holding("state/0/0/_metadata/schema", ""), "state"),
    Happening(
        "the stateful operators were removed",
        needs="state",
        asked="drop_state",
        broken="operators were removed",
    ),
    Happening("a row always fails", asked="skip_batch", broken="a row always fails"),
)


@dataclass(frozen=True)
class Incident:
    """A query and what happens to it."""

    happening: Happening
    operator: Operator
    sink: str
    store: str

    @property
    def cell(self) -> Cell:
        """For the answers and the truth."""
        return Cell(self.happening.asked, self.operator, self.sink, self.store)  # type: ignore[arg-type]

    @property
    def id(self) -> str:
        """Readable and unique."""
        return f"{self.happening.name} | {self.query}"

    @property
    def query(self) -> str:
        """Query, sink and, where there is state, its store."""
        named = [self.operator, self.sink, *([self.store] if self.operator != "stateless" else [])]
        return ", ".join(named)


def incidents(seed: int, count: int) -> list[Incident]:
    """So many, no kind of damage twice before each came once; query, sink and store by chance."""
    rng = random.Random(seed)
    found: list[Incident] = []
    while len(found) < count:
        for happening in rng.sample(HAPPENINGS, len(HAPPENINGS)):
            fitting = [
                Incident(happening, operator, sink, store)
                for operator in OPERATORS
                for sink in SINKS
                for store in STORES
                if _fits(happening, operator, store)
                and can_be(happening.asked, operator, sink, store)
                and not any(each.operator == operator and each.sink == sink for each in found)
            ]
            if fitting:
                found.append(rng.choice(fitting))
    return found[:count]


def _fits(happening: Happening, operator: Operator, store: str) -> bool:
    if happening.asked == "skip_batch":
        return operator == "stateless"
    if happening.needs and operator == "stateless":
        return False
    if happening.needs == "deltas":
        return store == "HDFS" and not operator.startswith("join")
    named = "schema" in happening.name or "operator metadata" in happening.name
    return not (
        named and (operator.startswith("join") or operator == "transformWithState")
    )  # they keep theirs elsewhere


# ---------------------------------------------------------------- one trial


@dataclass(frozen=True)
class Tried:
    """How one option ended."""

    option: OptionId
    word: Word | ByChance
    note: str


@dataclass(frozen=True)
class Trial:
    """How one incident ended. ``word``: of the recommended option; ``cheaper``: the others that were tried
    because they cost less, with how they ended."""

    incident: str
    kind: Literal["sample", "fresh"]
    query: str
    word: Outcome
    note: str
    option: str = ""
    cheaper: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def id(self) -> str:
        """Of the incident or the sample."""
        return self.incident if self.kind == "sample" else f"{self.incident} | {self.query}"


Attempt = Callable[[Option], Tried]
WORDS: Mapping[str, str] = {
    "WRONG": "does not work",
    "refused": "refuses",
    "by chance": "exact file by file, not with all files in one batch",
}
"""Of an option that is not the recommended one."""


def judge(
    found: Sequence[Option],
    sink: str,
    attempt: Attempt,
    confirm: Callable[[Tried], Tried] = lambda done: done,
) -> tuple[Outcome, str, str, tuple[str, ...]]:
    """The recommended option, then all that cost less: outcome, note, option, how the others ended.
    ``confirm``: whether what was exact is so in other batches."""
    best = next((each for each in found if each.recommended), None)
    if best is None:
        return "nothing recommended", "; ".join(each.why for each in found[:2])[:300], "", ()
    done, limit = attempt(best), price(best, sink)
    assert limit is not None
    costs = [(each, price(each, sink)) for each in found]
    cheaper = [
        attempt(each)
        for each, cost in costs
        if cost is not None
        and cost < limit
        and (each.possible or each.id == "restart")  # a plain start is tried whatever the forecast says
    ]
    cheaper = [confirm(each) if each.word == "exact" else each for each in cheaper]
    others = tuple(f"{each.option}: {WORDS.get(each.word, each.word)}" for each in cheaper)
    exact = [each.option for each in cheaper if each.word == "exact"]
    if exact:
        return (
            "too expensive",
            f"{', '.join(exact)} would have been exact; {best.id}: {done.word}",
            best.id,
            others,
        )
    return done.word, done.note, best.id, others


def prove(engine: Engine, truths: Truths, place: Path, incident: Incident, seed: int) -> Trial:
    """Makes, breaks and recovers one."""
    began = time.monotonic()
    pipeline = Pipeline(engine, place, incident.cell, seed)
    kept = place.with_name(f"{place.name}.kept")
    try:
        make(pipeline, incident.happening)
        shutil.copytree(place, kept, symlinks=True)
        context = answered(pipeline, incident.happening)
        result = judge(
            options(context),
            incident.sink,
            lambda option: tried(pipeline, truths, seed, incident, context, option, kept),
            lambda done: again(pipeline, truths, seed, incident, context, done, kept),
        )
    except (NotMadeError, DeltaError) as error:
        result = ("not made", str(error)[-500:], "", ())
    finally:
        shutil.rmtree(kept, ignore_errors=True)
    word, note, option, cheaper = result
    seconds = round(time.monotonic() - began, 1)
    return Trial(incident.happening.name, "fresh", incident.query, word, note, option, cheaper, seconds)


def make(pipeline: Pipeline, happening: Happening) -> None:
    """Four batches, the damage, and a file that waits."""
    if happening.broken is not None:
        prepare(pipeline, happening.broken)
        return
    for number in FIRST:
        failed = pipeline.step(number)
        if failed is not None:
            raise NotMadeError(f"the query failed before it was broken: {failed}")
    happening.damage(pipeline.checkpoint)
    for number in WAITING:
        pipeline.put(number)
    if happening.is_tried:
        pipeline.start()


def answered(pipeline: Pipeline, happening: Happening) -> RecoveryContext:
    """The facts and the answers; where the checkpoint no longer tells what the query reads, the user says so, and
    who has seen a start fail says that something is damaged."""
    seen = {"what_happened": "damaged"} if happening.is_tried else {}
    context = context_of(pipeline, seen)
    guessed = [source.path_guess and source.format_guess for source in context.sources]
    if len(guessed) == len(pipeline.sources) and all(guessed):
        return context
    places = {f"source.{key}.path": str(path) for key, path in pipeline.sources.items()}
    formats = {f"source.{key}.format": "json" for key in pipeline.sources}
    return context_of(pipeline, {**seen, **places, **formats})


def tried(
    pipeline: Pipeline,
    truths: Truths,
    seed: int,
    incident: Incident,
    context: RecoveryContext,
    option: Option,
    kept: Path,
) -> Tried:
    """One option on the files as they were after the damage."""
    put_back(pipeline.engine, pipeline.place, kept, is_delta=pipeline.cell.is_delta)
    proof = Proof(pipeline, truths, seed, is_disturbed=False)
    proof.broken = incident.happening.broken or incident.happening.name
    return taken(proof, context, option)


def taken(proof: Proof, context: RecoveryContext, option: Option) -> Tried:
    """An option as it is handed out, and how it ended."""
    try:
        proof.take(context, option)
        word, note = proof.judge()
    except EndedError as ended:
        word, note = ended.word, str(ended)
    return Tried(option.id, word, note)


def again(
    pipeline: Pipeline,
    truths: Truths,
    seed: int,
    incident: Incident,
    context: RecoveryContext,
    done: Tried,
    kept: Path,
) -> Tried:
    """The same option when all new files come in one batch."""
    option = next(each for each in options(context) if each.id == done.option)
    pipeline.is_at_once = True
    try:
        second = tried(pipeline, truths, seed, incident, context, option, kept)
    finally:
        pipeline.is_at_once = False
    return done if second.word == "exact" else Tried(done.option, "by chance", second.note)
