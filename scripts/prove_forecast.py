"""Restart every case of the oracle and random incidents on the Spark of this environment, and compare what
happens with what forecast and check had said.

Called by `scripts/prove-forecast`. One session does all restarts; a base is made once. Bases that another
release has written are made in the environment of that release by a call of this module with ``--make``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.spark import skipped
from tests.spark.cases import CASES, UPGRADES, Case
from tests.spark.trial import Trial, try_case, try_incident
from tests.support.incidents import incidents
from tests.support.oracle import RECIPES, Oracle
from tests.support.scratch import scratch_root
from tests.support.spark import PROJECT, start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = PROJECT / "docs" / "forecast.md"
WORDS = ("right", "wrong", "unknown")
RANDOM, SEED = 350, 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-forecast", description=__doc__)
    parser.add_argument("--random", type=int, default=RANDOM, metavar="N", help="so many random incidents")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random incidents")
    parser.add_argument("--number", type=int, action="append", help="only these of the random incidents")
    parser.add_argument("--kind", action="append", help="only cases of this class")
    parser.add_argument("--only", help="only cases whose name contains this")
    parser.add_argument("--bases", type=Path, help="keep bases and restarts here: the next call only judges")
    parser.add_argument("--write", action="store_true", help="put the table into docs/forecast.md")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    with scratch(asked.bases) as place:
        if asked.make:
            make(place, asked.make.split(","))
            return 0
        trials = run(place, asked)
    text = table(trials, asked)
    print(f"\n{text}")
    if asked.write:
        write(PAGE, version("pyspark"), text)
    return int(any(trial.verdict.differences for trial in trials))


@contextlib.contextmanager
def scratch(bases: Path | None) -> Iterator[Path]:
    """Where the bases lie: a directory that is kept, or one that is not."""
    if bases is not None:
        bases.mkdir(parents=True, exist_ok=True)
        yield bases.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="prove-forecast-", dir=scratch_root()) as place:
        yield Path(place)


def make(place: Path, names: Iterable[str]) -> None:
    """Makes bases with the Spark of this environment, those that it can."""
    session = start_session(scratch=place / "spark")
    oracle = Oracle(session, place)
    for name in names:
        if RECIPES[name].needs.is_here:
            oracle.base(name)
    stop_session(session, place / "spark")


def run(place: Path, asked: argparse.Namespace) -> list[Trial]:
    """Every trial that was asked for."""
    cases = [case for case in (*CASES, *UPGRADES) if wanted(case, asked)]
    chosen = [
        incident
        for incident in incidents(asked.seed, asked.random)
        if (not asked.number or incident.number in asked.number)
        and (not asked.kind or "random" in asked.kind)
    ]
    if asked.only or asked.number:
        chosen = chosen if asked.number else []
        cases = cases if asked.only else []
    foreign = [case for case in cases if case.written_by is not None]
    session = Started(place / "spark")
    oracle = Oracle(cast("SparkSession", session), place / version("pyspark"))
    trials = [
        *(tell(try_case(oracle, case)) for case in cases if case.written_by is None),
        *(tell(try_incident(oracle, incident)) for incident in chosen),
        *(tell(trial) for trial in try_foreign(oracle, foreign, place)),
        *(tell(trial) for trial in with_the_batch(oracle, asked)),
        *(tell(trial) for trial in at_random_with_the_batch(oracle, asked)),
    ]
    session.stop()
    return trials


class Started:
    """A session that is started when it is first used: what is kept needs none."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._session: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._session is None:
            self._session = start_session(scratch=self._place)
        return getattr(self._session, name)

    def stop(self) -> None:
        """Ends it, if it was started."""
        if self._session is not None:
            stop_session(self._session, self._place)


def wanted(case: Case, asked: argparse.Namespace) -> bool:
    """Whether a case was asked for, and this Spark has what it needs."""
    if not case.needed.is_here or case.written_by == version("pyspark"):
        return False
    return (not asked.kind or case.kind in asked.kind) and (not asked.only or asked.only in case.id)


def written_elsewhere(place: Path, cases: Sequence[Case]) -> dict[str, Path]:
    """Release -> where the bases lie that it has written. A release without an environment is left out."""
    names: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        if case.written_by is not None:
            names[case.written_by].add(case.base)
    found = {}
    for release, bases in sorted(names.items()):
        python = PROJECT / (".venv" if release == "4.3.0" else f".venv-spark-{release}") / "bin" / "python"
        if not python.exists():
            print(
                f"bases of {release} are left out: scripts/prove-forecast --spark {release} makes its Spark"
            )
            continue
        found[release] = place / f"written-by-{release}"
        command: list[str | Path] = [
            python,
            "-m",
            "scripts.prove_forecast",
            "--bases",
            found[release],
            "--make",
            ",".join(sorted(bases)),
        ]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
        subprocess.run(command, cwd=PROJECT, env=clean, check=True)
    return found


def try_foreign(oracle: Oracle, cases: Sequence[Case], place: Path) -> Iterator[Trial]:
    """The cases on bases that another release has written, as far as it can write them."""
    oracles = {
        release: Oracle(oracle.session, bases) for release, bases in written_elsewhere(place, cases).items()
    }
    for case in cases:
        there = oracles.get(case.written_by or "")
        if there is not None and (there.scratch / case.base / "made.json").exists():
            yield try_case(there, case)


def with_the_batch(oracle: Oracle, asked: argparse.Namespace) -> Iterator[Trial]:
    """The cases once more where the sink has the pending batch."""
    is_wanted = (not asked.kind or skipped.KIND in asked.kind) and (asked.only or not asked.number)
    for case in CASES if is_wanted else ():
        if case.needed.is_here and skipped.fits(case) and (not asked.only or asked.only in case.id):
            trial = skipped.try_skipped(oracle, case)
            if trial is not None:
                yield trial


def at_random_with_the_batch(oracle: Oracle, asked: argparse.Namespace) -> Iterator[Trial]:
    """The random incidents once more where the sink has the pending batch."""
    is_wanted = (not asked.kind or skipped.RANDOM in asked.kind) and not asked.only
    for incident in incidents(asked.seed, asked.random) if is_wanted else ():
        if not asked.number or incident.number in asked.number:
            trial = skipped.try_skipped_incident(oracle, incident)
            if trial is not None:
                yield trial


def tell(trial: Trial) -> Trial:
    """Says how a trial ended."""
    print(f"{trial.verdict.word}: {trial.kind}: {trial.id}", file=sys.stderr, flush=True)
    if trial.verdict.differences:
        print(f"\n{trial.kind}: {trial.id} {' '.join(trial.rows)}\n{trial.report}", flush=True)
    return trial


def table(trials: Sequence[Trial], asked: argparse.Namespace) -> str:
    """Class by class, in Markdown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for trial in trials:
        counts[trial.kind][trial.verdict.word] += 1
    total = Counter(trial.verdict.word for trial in trials)
    false_exact = sum("said exact, was" in line for trial in trials for line in trial.verdict.differences)
    lines = [
        f"Spark {version('pyspark')}, {datetime.now(UTC):%Y-%m-%d}: {len(trials)} restarts, "
        f"random incidents of seed {asked.seed}. *exact* was wrong {false_exact} times.",
        "",
        "| class | right | wrong | not judged |",
        "|---|---|---|---|",
    ]
    for kind, row in counts.items():
        lines.append(f"| {kind} | {' | '.join(str(row[word]) for word in WORDS)} |")
    lines.append(f"| **all** | {' | '.join(str(total[word]) for word in WORDS)} |")
    return "\n".join(lines)


def write(page: Path, release: str, text: str) -> None:
    """Puts the table of a release into the page, between its marks."""
    begin, end = f"<!-- proof {release} -->", f"<!-- end of proof {release} -->"
    old = page.read_text(encoding="utf-8")
    assert begin in old, f"{page} has no place for Spark {release}"
    new = re.sub(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}\n{end}", old, flags=re.DOTALL
    )
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
