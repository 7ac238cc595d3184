"""The cells of the recovery proof that were run, kept beside the documents: what came out, with which steps and when."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from tests.support.kit_parts import kit_of
from tests.support.recovery_cells import Asked, Cell, Operator, SinkName, Store
from tests.support.recovery_proof import Trial, Word

COLUMNS = (
    "option",
    "query",
    "sink",
    "state store",
    "taken",
    "damage",
    "result",
    "exit statuses",
    "rows more",
    "rows less",
    "seconds",
    "how",
    "kit",
    "day",
)
PROCESSES, SESSION = "processes", "session"


def is_of_today(trial: Trial) -> bool:
    """Whether its script had the steps that are here."""
    return trial.kit == kit_of(trial.option)


def read_cells(file: Path) -> dict[str, Trial]:
    """The trials by their cells; none where there is no file."""
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as lines:
        trials = [_trial(line) for line in csv.DictReader(lines)]
    return {trial.cell.id: trial for trial in trials}


def write_cells(file: Path, trials: Iterable[Trial]) -> None:
    """One line for each, in the order of their names. What a trial noted is left out: it names places."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(map(_line, trials)))


def newest(*some: dict[str, Trial]) -> dict[str, Trial]:
    """Of each cell the trial with the steps that are here, else the later one of those given."""
    found: dict[str, Trial] = {}
    for trials in some:
        for name, trial in trials.items():
            if name not in found or is_of_today(trial) or not is_of_today(found[name]):
                found[name] = trial
    return found


def _line(trial: Trial) -> list[str]:
    cell = trial.cell
    numbers = [str(trial.repeated), str(trial.missing), str(trial.seconds)]
    how = PROCESSES if trial.as_processes else SESSION
    what = [trial.option, trial.broken, trial.word, " ".join(map(str, trial.statuses))]
    return [cell.asked, cell.operator, cell.sink, cell.store, *what, *numbers, how, trial.kit, trial.day]


def _trial(line: dict[str, str]) -> Trial:
    asked, operator = cast("Asked", line["option"]), cast("Operator", line["query"])
    return Trial(
        Cell(asked, operator, cast("SinkName", line["sink"]), cast("Store", line["state store"])),
        cast("Word", line["result"]),
        "",
        line["taken"],
        line["damage"],
        tuple(int(status) for status in line["exit statuses"].split()),
        int(line["rows more"]),
        int(line["rows less"]),
        float(line["seconds"]),
        line["how"] == PROCESSES,
        line["kit"],
        line["day"],
    )
