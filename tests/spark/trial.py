"""One trial: a copy of a base is damaged, the forecast and the check are asked, the query is started on real
Spark, and the three are compared."""

from __future__ import annotations

import pickle
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from core.analysis.findings import FindingsReport, Level
from core.analysis.forecast import Forecast, Query
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.judgement import judge
from core.storage import Location, parse_location
from tests.spark.cases import Case
from tests.spark.cases.model import NEW, NO_NEW
from tests.support.copies import copy_of
from tests.support.incidents import Edited, Incident, Scene
from tests.support.moments import went_back_to
from tests.support.oracle import ASKED, RECIPES, Base, Build, Fact, Oracle, Rows
from tests.support.spark import spark_version
from tests.support.verdict import Observed, Verdict, compare

NOTHING = Fact("resume", None, None, (), {}, None)


@dataclass(frozen=True)
class Trial:
    """What was tried, and how it ended. ``story``: what was done, where it does not follow from the name."""

    id: str
    kind: str
    rows: tuple[str, ...]
    story: tuple[str, ...]
    said: Forecast | None
    fact: Fact
    verdict: Verdict

    @property
    def report(self) -> str:
        """What a person needs to see of a trial that went wrong."""
        causes = [f"{cause.error_class}: {cause.message[:300]}" for cause in self.fact.causes]
        sentence = "" if self.said is None else self.said.sentence
        return "\n".join([*self.story, *self.verdict.differences, f"said: {sentence}", f"Spark: {causes}"])


@dataclass(frozen=True)
class Tried:
    """What was done to a copy of a base and what the start after it did; the copy is as it was before it.

    ``earlier``: the rows that starts since the damage have handed out before it. ``session``, ``hidden`` and
    ``edited``: the settings and the input files with which the query was started. ``story``: in words.
    """

    base: Base
    copy: Path
    fact: Fact
    is_quiet: bool
    session: Mapping[str, str]
    hidden: tuple[str, ...]
    edited: Mapping[str, str]
    earlier: tuple[Mapping[int, Rows], ...]
    story: tuple[str, ...] = ()


def try_case(oracle: Oracle, case: Case) -> Trial:
    """A case of the facts pages."""
    base = oracle.base_of(RECIPES[case.base])

    def damage(copy: Path) -> Tried:
        case.damage(copy)
        earlier: tuple[Mapping[int, Rows], ...] = ()
        settings = {**base.recipe.restart_conf, **case.session}
        if case.started_before:
            with oracle.away(base, second_of(oracle, base)):
                earlier = (oracle.restart(base, copy, case.build, settings).delivered,)
        quiet = case.query.new_data == "no"
        return start(
            oracle,
            Tried(base, copy, NOTHING, quiet, case.session, case.hidden, case.edited, earlier),
            case.build,
        )

    tried = kept_or(oracle, base, case.id, damage)
    spark = ASKED if case.written_by is None else str(spark_version())
    said, verdict = judged(oracle, tried, case.query, case.level, case.places, spark)
    return Trial(case.id, case.kind, case.rows, (), said, tried.fact, verdict)


def try_incident(oracle: Oracle, incident: Incident) -> Trial:
    """A random incident; the forecast reads all that it can."""
    base = oracle.base_of(incident.recipe)

    def damage(copy: Path) -> Tried:
        earlier: list[Mapping[int, Rows]] = []

        def run_once(scene: Scene) -> None:
            with oracle.away(base, second_of(oracle, base)):
                settings = {**base.recipe.restart_conf, **scene.conf}
                earlier.append(oracle.restart(base, scene.ck, conf=settings).delivered)

        scene = incident.befall(base, copy, run_once)
        return start(
            oracle,
            Tried(
                base,
                copy,
                NOTHING,
                incident.is_quiet,
                scene.conf,
                tuple(scene.hidden),
                scene.edited,
                tuple(earlier),
                tuple(scene.story),
            ),
        )

    tried = kept_or(oracle, base, incident.id, damage)
    said, verdict = judged(oracle, tried, NO_NEW if incident.is_quiet else NEW, "deep")
    return Trial(incident.id, "random", (), tried.story, said, tried.fact, verdict)


def second_of(oracle: Oracle, base: Base) -> tuple[str, ...]:
    """The new input files but the first of each source."""
    return tuple(name for name in oracle.waiting(base) if f"{base.recipe.files:04d}" not in name)


@contextmanager
def surroundings(oracle: Oracle, tried: Tried) -> Iterator[None]:
    """The input files as they are at this start."""
    base = tried.base
    hidden = sorted({*tried.hidden, *(oracle.waiting(base) if tried.is_quiet else ())})
    edited = {name: content for name, content in tried.edited.items() if name not in hidden}
    with oracle.away(base, hidden), Edited(base.root, edited):
        yield


def start(oracle: Oracle, tried: Tried, build: Build | None = None, output: Path | None = None) -> Tried:
    """Starts the query, into an ``output`` that has seen batches before or a new one; the copy is put back as it
    was before."""
    before = tried.copy.with_name("before")
    copy_of(tried.copy, before)
    with surroundings(oracle, tried):
        fact = oracle.restart(
            tried.base, tried.copy, build, {**tried.base.recipe.restart_conf, **tried.session}, output
        )
    gone = tried.copy.with_name("gone")
    copy_of(before, tried.copy.with_name(KEPT))
    tried.copy.rename(gone)
    before.rename(tried.copy)
    shutil.rmtree(gone, ignore_errors=True)  # maintenance may still write there, and to the name it knows
    return replace(tried, fact=fact)


def judged(
    oracle: Oracle,
    tried: Tried,
    query: Query,
    level: Level,
    places: Mapping[str, str] | None = None,
    spark: str | None = ASKED,
) -> tuple[Forecast | None, Verdict]:
    """Forecast and check of the damaged copy, compared with what the start did."""
    base = tried.base
    given = {key: parse_location(str(base.root / below)) for key, below in (places or {}).items()}
    # The files of an earlier moment do not tell that there was a later one: the sink is that of the moment.
    back = went_back_to(base, tried.copy)
    with surroundings(oracle, tried):
        if query.new_data == "no" and not_logged(tried):
            query = replace(query, new_data="yes")  # what a roll-back of the source log leaves
        asked = ask(tried.copy, query, level, given, spark)
    later = {} if tried.is_quiet and not tried.earlier else base.undisturbed
    held = {number: rows for number, rows in base.delivered.items() if back is None or number <= back}
    seen = Observed(held, (base.delivered, later), tried.fact, tried.earlier)
    if isinstance(asked, str):
        fact = tried.fact
        return None, Verdict((f"refused: {asked}; Spark: {fact.outcome} {fact.first_batch}",), ())
    said, report = asked
    return said, compare(seen, said, report, tried.copy)


KEPT = "kept"  # the damaged copy once more, under a name that no running Spark knows


def kept_or(oracle: Oracle, base: Base, name: str, damage: Callable[[Path], Tried]) -> Tried:
    """What an earlier call has tried and kept, else tried now: what Spark does to a copy stays the same
    while the forecast changes."""
    place = oracle.scratch / "tried" / re.sub(r"[^\w.-]", "_", f"{name}-{base.recipe.name}")
    noted = place / "tried.pickle"
    if noted.exists():
        if (place / KEPT).exists():
            shutil.rmtree(place / "ck")
            copy_of(place / KEPT, place / "ck")
        kept: Tried = pickle.loads(noted.read_bytes())
        return replace(kept, base=base, copy=place / "ck")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    copy_of(base.checkpoint, place / "ck")
    tried = damage(place / "ck")
    noted.write_bytes(pickle.dumps(replace(tried, base=None)))  # type: ignore[arg-type]  # holds functions
    return tried


def not_logged(tried: Tried) -> bool:
    """Whether an input file is there that no source log names."""
    logs = [path for path in (tried.copy / "sources").glob("*/*") if path.is_file() and path.name[0] != "."]
    named = "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)
    inputs = (tried.base.root / "in").glob("[0-9]*.json")
    return any(path.name not in named for path in inputs)


def ask(
    copy: Path, query: Query, level: Level, places: Mapping[str, Location], spark: str | None
) -> tuple[Forecast, FindingsReport] | str:
    """Forecast and check of a copy; the error's name and words where it refuses."""
    try:
        ck = Checkpoint.open(str(copy))
        judgement = judge(ck, ConnectorAnswers(places=places), level=level, spark=spark, query=query)
        return judgement.forecast, judgement.findings
    except Exception as error:
        return f"{type(error).__name__}: {error}"
