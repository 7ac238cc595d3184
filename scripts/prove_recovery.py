"""Recover really broken checkpoints with the scripts of the tool, and compare the rows with the truth.

Called by `scripts/prove-recovery`. One session makes and breaks the queries; the scripts are killed and
executed as processes of their own. Cells with Delta run on the Spark that has it.
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
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.support.delta import DeltaEngine
from tests.support.recovery_cells import ASKED, OPERATORS, SINKS, Cell, cells
from tests.support.recovery_proof import WORDS, Engine, Here, Trial, Truths, prove
from tests.support.spark import PROJECT, start_session, stop_session

PAGE = PROJECT / "docs" / "recovery.md"
BEGIN, END = "<!-- proof -->", "<!-- end of proof -->"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-recovery", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="only cells whose name has this")
    parser.add_argument("--without", action="append", default=[], help="no cells whose name has this")
    parser.add_argument(
        "--random", type=int, metavar="N", help="so many cells, spread over options and sinks"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice, the damage and the kills")
    parser.add_argument("--log", type=Path, help="append the trials to this file, and count those in it")
    parser.add_argument("--quick", action="store_true", help="run the scripts in the session that is there")
    parser.add_argument("--minutes", type=float, help="begin no further cell after so long")
    parser.add_argument("--keep", type=Path, help="keep what was run below this directory")
    parser.add_argument("--write", action="store_true", help="put the table into docs/recovery.md")
    asked = parser.parse_args(arguments)
    done = earlier(asked.log)
    wanted = [
        cell
        for cell in chosen(cells(), asked.random, asked.seed)
        if all(part in cell.id for part in asked.only)
        and not any(part in cell.id for part in asked.without)
        and cell.id not in done
    ]
    trials = [*done.values(), *run(wanted, asked)]
    text = table(trials)
    if asked.write:
        write(PAGE, text)
    print(f"\n{text}")
    return int(any(trial.word == "WRONG" for trial in trials))


def chosen(found: list[Cell], number: int | None, seed: int) -> list[Cell]:
    """All, or so many: each time the cell whose option, query, sink and store, came least."""
    shuffled = random.Random(seed).sample(found, len(found))
    if number is None:
        return shuffled
    seen: Counter[tuple[str, ...]] = Counter()
    picked: list[Cell] = []
    while shuffled and len(picked) < number:
        best = min(shuffled, key=lambda cell: sum(seen[part] ** 2 for part in parts(cell)))
        shuffled.remove(best)
        picked.append(best)
        seen.update(parts(best))
    return picked


def parts(cell: Cell) -> list[tuple[str, ...]]:
    """What a selection is spread over."""
    return [
        (cell.asked,),
        (cell.operator,),
        (cell.sink,),
        (cell.asked, cell.operator),
        (cell.asked, cell.sink),
        (cell.operator, cell.sink),
        (cell.operator, cell.store),
    ]


def run(wanted: Iterable[Cell], asked: argparse.Namespace) -> list[Trial]:
    """Every cell, as long as there is time."""
    wanted = list(wanted)
    if not wanted:
        return []
    began = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="prove-recovery-", dir="/var/tmp") as scratch:
        place = Path(scratch)
        session = start_session(scratch=place / "spark")
        session.sparkContext.setLogLevel("OFF")
        delta = DeltaEngine(place / "delta")
        here = Here(session)
        truths = Truths(here, place / "truths")
        trials = []
        for number, cell in enumerate(wanted):
            minutes = (datetime.now(UTC) - began).total_seconds() / 60
            if asked.minutes is not None and minutes > asked.minutes:
                break
            engine: Engine = delta if cell.is_delta else here
            where = (asked.keep or place) / f"cell-{number}"
            trial = prove(engine, truths, where, cell, asked.seed, as_processes=not asked.quick)
            trials.append(trial)
            tell(trial, asked.log)
            if asked.keep is None:
                shutil.rmtree(where, ignore_errors=True)
        delta.stop()
        stop_session(session, place / "spark")
    return trials


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
    processes = sum(trial.as_processes and -9 in trial.statuses for trial in tried)
    cut = sum(not trial.as_processes and -9 in trial.statuses for trial in tried)
    counts = ", ".join(f"{total[word]} {word}" for word in WORDS)
    lines = [
        f"Spark {version('pyspark')} (Delta: 4.2.0), {datetime.now(UTC):%Y-%m-%d}: "
        f"{len(tried)} of {len(cells())} cells were run ({processes} scripts as processes of their own, "
        f"killed with -9; {cut} in one session, cut off in the middle): {counts}. "
        f"In {total['not offered']} further cells the option was not offered.",
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


def words(trials: Sequence[Trial]) -> str:
    """What came out over the state stores; a dash where the option is not offered, nothing where none ran."""
    found = Counter(trial.word if trial.word != "not offered" else "–" for trial in trials)
    return ", ".join(word if len(found) == 1 and n == 1 else f"{word} {n}" for word, n in found.items())


def write(page: Path, text: str) -> None:
    """Puts the table into the page, between its marks."""
    old = page.read_text(encoding="utf-8")
    assert BEGIN in old, f"{page} has no place for the table"
    new = re.sub(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{text}\n{END}", old, flags=re.DOTALL
    )
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
