"""Recover really broken checkpoints with the scripts of the tool, and compare the rows with the truth.

Called by `scripts/prove-recovery`. One session makes and breaks the queries, each once for all cells that
begin with it; the scripts are run and killed as processes of their own. Cells with Delta run on the Spark
that has it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from tests.support.delta import PYTHON as DELTA_PYTHON
from tests.support.delta import DeltaEngine, delta_jars
from tests.support.kept_cells import is_of_today, newest, read_cells, write_cells
from tests.support.recovery_cells import ASKED, OPERATORS, SINKS, Cell, cells
from tests.support.recovery_cover import covered, next_cell, spread
from tests.support.recovery_proof import (
    DELTA_CONFS,
    TINY_QUERIES,
    WORDS,
    Engine,
    Here,
    Kept,
    Trial,
    Truths,
    base_of,
    prove,
)
from tests.support.scratch import scratch_root
from tests.support.script_processes import Scripts
from tests.support.spark import PROJECT, start_session, stop_session

PAGE = PROJECT / "docs" / "recovery.md"
KEPT = PROJECT / "docs" / "recovery-cells.csv"
BEGIN, END = "<!-- proof -->", "<!-- end of proof -->"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-recovery", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="only cells whose name has this")
    parser.add_argument("--without", action="append", default=[], help="no cells whose name has this")
    parser.add_argument("--cover", choices=("pairs",), help="cells until every pair came once")
    parser.add_argument(
        "--random", type=int, metavar="N", help="so many cells, spread over options and sinks"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice, the damage and the kills")
    parser.add_argument("--log", type=Path, help="append the trials to this file, and count those in it")
    parser.add_argument("--quick", action="store_true", help="run the scripts in the session that is there")
    parser.add_argument("--never-run", action="store_true", help="no cells that were ever run")
    parser.add_argument(
        "--only-in-session", action="store_true", help="no cells whose script was a process of its own, once"
    )
    parser.add_argument("--minutes", type=float, help="begin no further cell after so long")
    parser.add_argument("--keep", type=Path, help="keep what was run below this directory")
    parser.add_argument(
        "--write", action="store_true", help="keep the cells beside docs/, and the table there"
    )
    asked = parser.parse_args(arguments)
    fitting = [
        cell
        for cell in cells()
        if all(part in cell.id for part in asked.only) and not any(part in cell.id for part in asked.without)
    ]
    trials = run(fitting, asked)
    text = table(trials)
    if asked.write:
        write_cells(KEPT, trials)
        put_between(PAGE, BEGIN, END, text)
    print(f"\n{text}")
    return int(any(trial.word == "WRONG" for trial in trials))


def wanted(fitting: Sequence[Cell], asked: argparse.Namespace, trials: dict[str, Trial]) -> Iterator[Cell]:
    """The cells in turn; ``trials`` grows meanwhile, also by what other calls write into the log."""
    last: Cell | None = None
    while asked.cover and (
        cell := next_cell(fitting, list(filter(is_of_today, trials.values())), asked.seed, last)
    ):
        yield cell
        if cell.id not in trials:
            return
        last = cell
    if asked.cover and asked.random is None:
        return

    def is_done(cell: Cell) -> bool:
        trial = trials.get(cell.id)
        if trial is None:
            return False
        if asked.only_in_session:
            return trial.as_processes or not trial.statuses
        return asked.never_run or is_of_today(trial)

    left = [cell for cell in fitting if not is_done(cell)]
    for cell in chosen(left, asked.random, asked.seed, [trial.cell for trial in trials.values()]):
        if not is_done(cell):
            yield cell


def chosen(found: list[Cell], number: int | None, seed: int, done: Iterable[Cell] = ()) -> list[Cell]:
    """All, those that begin with the same query behind one another; or so many: each time the cell whose
    option, query, sink and store, came least, also among those that were run."""
    shuffled = random.Random(seed).sample(found, len(found))
    if number is None:
        return list(chain.from_iterable(by_base(shuffled).values()))
    seen = Counter(part for cell in done for part in spread(cell))
    picked: list[Cell] = []
    while shuffled and len(picked) < number:
        best = min(shuffled, key=lambda cell: sum(seen[part] ** 2 for part in spread(cell)))
        shuffled.remove(best)
        picked.append(best)
        seen.update(spread(best))
    return picked


def by_base(found: Iterable[Cell]) -> dict[str, list[Cell]]:
    """The cells by the query that they begin with, which is run once for them."""
    groups: dict[str, list[Cell]] = {}
    for cell in found:
        groups.setdefault(base_of(cell), []).append(cell)
    return groups


def run(fitting: Sequence[Cell], asked: argparse.Namespace) -> list[Trial]:
    """Those that are kept and those of the log, and every further cell as long as there is time."""
    trials = newest(read_cells(KEPT), earlier(asked.log))
    chosen_cells = wanted(fitting, asked, trials)
    first = next(chosen_cells, None)
    if first is None or asked.minutes == 0:
        return list(trials.values())
    began = datetime.now(UTC)
    with (
        tempfile.TemporaryDirectory(prefix="prove-recovery-", dir=scratch_root()) as scratch,
        ExitStack() as stack,
    ):
        place = asked.keep or Path(scratch)
        session = start_session(scratch=place / "spark")
        stack.callback(stop_session, session, place / "spark")
        session.sparkContext.setLogLevel("OFF")
        delta = DeltaEngine(place / "delta")
        stack.callback(delta.stop)
        here = Here(session)
        log = asked.log.with_name(f"{asked.log.name}.truths.json") if asked.log else None
        truths, kept = Truths(here, place / "truths", log), Kept(place / "cells")
        processes: dict[bool, Scripts] = {}
        for is_delta in () if asked.quick else (False, True):
            processes[is_delta] = scripts_of(place, is_delta)
            stack.callback(processes[is_delta].stop)
        for cell in chain([first], chosen_cells):
            minutes = (datetime.now(UTC) - began).total_seconds() / 60
            if asked.minutes is not None and minutes > asked.minutes:
                break
            engine: Engine = delta if cell.is_delta else here
            scripts = processes.get(cell.is_delta)
            where = kept.place_of(cell)
            trial = prove(engine, truths, where, cell, asked.seed, scripts=scripts, kept=kept)
            tell(trial, asked.log)
            trials.update(newest(trials, earlier(asked.log), {cell.id: trial}))
            if asked.keep and trial.word == "WRONG":
                shutil.copytree(where, asked.keep / cell.id.replace(" | ", "-").replace(" ", "-"))
    return list(trials.values())


def scripts_of(place: Path, is_delta: bool) -> Scripts:
    """What runs the scripts as processes of their own."""
    if is_delta:
        return Scripts(
            place / "delta-scripts", str(DELTA_PYTHON), {**DELTA_CONFS, **TINY_QUERIES}, delta_jars()
        )
    return Scripts(place / "scripts", sys.executable, TINY_QUERIES)


def tell(trial: Trial, log: Path | None) -> None:
    """Says how a trial ended."""
    how = f"{trial.option}; {trial.broken}; {trial.statuses}; {trial.seconds} s"
    print(f"{trial.word}: {trial.cell.id} [{how}] {trial.note}", flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial)) + "\n")


def earlier(log: Path | None) -> dict[str, Trial]:
    """The trials of earlier calls; the newest of each cell counts."""
    found: dict[str, Trial] = {}
    if log is None or not log.exists():
        return found
    for line in log.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        values["cell"], values["statuses"] = Cell(**values["cell"]), tuple(values["statuses"])
        trial = Trial(**values)
        if trial.word != "not made":
            found[trial.cell.id] = trial
    return found


def table(trials: Sequence[Trial]) -> str:
    """Option by option and query by query, in Markdown."""
    trials = [trial for trial in trials if trial.word != "not made"]
    tried = [trial for trial in trials if trial.word != "not offered"]
    total = Counter(trial.word for trial in trials)
    scripts = [trial for trial in tried if trial.statuses]
    own = [trial for trial in scripts if trial.as_processes]
    killed = sum(-9 in trial.statuses for trial in own)
    counts = ", ".join(f"{total[word]} {word}" for word in WORDS)
    today = sum(map(is_of_today, tried))
    days = sorted({trial.day for trial in trials})
    lines = [
        f"Spark {version('pyspark')} (Delta: 4.2.0), {' to '.join(dict.fromkeys((days[0], days[-1])))}: "
        f"{len(tried)} of {len(cells())} cells were run: {counts}. "
        f"{today} of them with the scripts as they are now. "
        f"{len(tried) - len(scripts)} needed no script; {len(own)} scripts were processes of their own, "
        f"{killed} of them killed with -9 in the middle; {len(scripts) - len(own)} ran in one session. "
        f"In {total['not offered']} further cells the option was not offered.",
        "",
        f"Pairs that came at least once: {pairs_covered(trials)}.",
        "",
        f"| option | query | {' | '.join(SINKS)} |",
        f"|---|---|{'---|' * len(SINKS)}",
    ]
    for option in ASKED:
        for operator in OPERATORS:
            rows = [t for t in trials if (t.cell.asked, t.cell.operator) == (option, operator)]
            row = [words([t for t in rows if t.cell.sink == sink]) for sink in SINKS]
            if any(row):
                lines.append(f"| {option} | {operator} | {' | '.join(row)} |")
    return "\n".join(lines)


def pairs_covered(trials: Sequence[Trial]) -> str:
    """How many pairs of each kind came."""
    return ", ".join(
        f"{kind} {run} of {every}" + (f" ({refused} never offered)" if refused else "")
        for kind, (run, refused, every) in covered(cells(), trials).items()
    )


def words(trials: Sequence[Trial]) -> str:
    """What came out over the state stores; a dash where the option is not offered, nothing where none ran."""
    found = Counter(trial.word if trial.word != "not offered" else "–" for trial in trials)
    return ", ".join(word if len(found) == 1 and n == 1 else f"{word} {n}" for word, n in found.items())


def put_between(page: Path, begin: str, end: str, text: str) -> None:
    """Puts a table into the page, between its marks."""
    old = page.read_text(encoding="utf-8")
    assert begin in old, f"{page} has no place for the table"
    new = re.sub(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}\n{end}", old, flags=re.DOTALL
    )
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
