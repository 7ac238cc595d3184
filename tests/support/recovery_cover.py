"""Which cells of the recovery proof to run first: those with which every pair of an option, a query, a sink and a
state store comes at least once."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap

from tests.support.recovery_cells import Cell
from tests.support.recovery_proof import WORDS, Trial, base_of

KINDS = ("option × query", "option × sink", "option × store", "query × sink")
ENOUGH = 3
"""So often an option may not be offered for a pair until the pair is left alone."""

Pair = tuple[str, str, str]


def pairs(cell: Cell) -> list[Pair]:
    """Those that a cell has."""
    return [
        (KINDS[0], cell.asked, cell.operator),
        (KINDS[1], cell.asked, cell.sink),
        (KINDS[2], cell.asked, cell.store),
        (KINDS[3], cell.operator, cell.sink),
    ]


def spread(cell: Cell) -> list[tuple[str, ...]]:
    """What a selection is spread over."""
    singles = [(cell.asked,), (cell.operator,), (cell.sink,)]
    return [*singles, *starmap(lambda _, *two: tuple(two), pairs(cell)), (cell.operator, cell.store)]


def covered(every: Iterable[Cell], trials: Iterable[Trial]) -> dict[str, tuple[int, int, int]]:
    """Per kind of pair: how many came in a cell that was run, in how many the option was not offered whenever it
    was tried, how many there are."""
    run, refused = _seen(trials)
    found: dict[str, set[Pair]] = defaultdict(set)
    for cell in every:
        for pair in pairs(cell):
            found[pair[0]].add(pair)
    return {
        kind: (
            sum(pair in run for pair in found[kind]),
            sum(pair in refused and pair not in run for pair in found[kind]),
            len(found[kind]),
        )
        for kind in KINDS
    }


def next_cell(fitting: Sequence[Cell], trials: Sequence[Trial], seed: int, last: Cell | None) -> Cell | None:
    """The cell that has the most pairs which did not come yet; of those one that begins as the last one did, then
    the one whose parts came least. None when every pair came, or no cell is left for it."""
    run, refused = _seen(trials)
    done = {trial.cell.id for trial in trials}
    left = [cell for cell in fitting if cell.id not in done]
    random.Random(seed).shuffle(left)
    counts = Counter(part for trial in trials for part in spread(trial.cell))

    def gain(cell: Cell) -> int:
        return sum(pair not in run and refused.get(pair, 0) < ENOUGH for pair in pairs(cell))

    def worth(cell: Cell) -> tuple[int, bool, int]:
        seen = sum(counts[part] ** 2 for part in spread(cell))
        return gain(cell), last is not None and base_of(cell) == base_of(last), -seen

    best = max(left, key=worth, default=None)
    return best if best is not None and gain(best) else None


def _seen(trials: Iterable[Trial]) -> tuple[set[Pair], Mapping[Pair, int]]:
    """The pairs that came in a cell that was run, and how often the option was not offered for a pair."""
    run: set[Pair] = set()
    refused: Counter[Pair] = Counter()
    for trial in trials:
        if trial.word in WORDS:
            run.update(pairs(trial.cell))
        elif trial.word == "not offered":
            refused.update(pairs(trial.cell))
    return run, refused
