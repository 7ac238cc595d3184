"""How the work grows: the verbs on checkpoints of three sizes, each ten times the one before.

    .venv/bin/python -m scripts.bench.growth [--rounds 3] [--write]

Local files, nothing cached, processor seconds of this process, the least of the rounds. The exponent says how
the time grows: 1 with the size, 2 with its square; it is taken between neighbouring sizes, where the smaller
one takes longer than the clock is coarse, and the largest one counts. ``--write`` puts the table into
docs/performance.md. Exit status 1 when an exponent is above 1.1.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from core.documents.base import to_text
from core.settings import Settings
from core.verbs import verb_named
from scripts.bench.large_checkpoint import Shape, write
from scripts.bench.table import machine, put
from ui import collector

MOST = 1.1
COARSE_SECONDS = 0.01
VERBS = ("inspect", "forecast", "check", "resume", "state")


@dataclass(frozen=True)
class Axis:
    """What grows, from ``first`` by ten, and again by ten."""

    name: str
    first: int
    shape: Callable[[int], Shape]
    verbs: tuple[str, ...] = VERBS

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.first, 10 * self.first, 100 * self.first


PLAIN = Shape(batches=30, partitions=0, topic_partitions=2)
AXES = (
    Axis("batches", 200, lambda size: replace(PLAIN, batches=size, topic_partitions=10)),
    Axis("partitions of a topic", 100, lambda size: replace(PLAIN, topic_partitions=size)),
    Axis("sources", 10, lambda size: replace(PLAIN, sources=size)),
    Axis("state files", 1_100, lambda size: replace(PLAIN, batches=100, partitions=size // 110)),
)


def seconds_of(name: str, place: Path, rounds: int) -> float:
    """The least processor seconds of a verb and of writing its answer."""
    verb, parser = verb_named(name), ArgumentParser()
    verb.add_arguments(parser)
    args = Namespace(location=str(place), json=True, **vars(parser.parse_args([])))
    found = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        to_text(verb.run(args, Settings(content_cache_bytes=0)).document)
        found.append(time.process_time() - start)
    return min(found)


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float | None:
    """The largest between neighbours; None where all is done before the clock shows it."""
    steps = [
        math.log(later[1] / before[1]) / math.log(later[0] / before[0])
        for before, later in pairwise(zip(sizes, seconds, strict=True))
        if before[1] > COARSE_SECONDS
    ]
    return max(steps, default=None)


def table(rounds: int) -> tuple[list[str], float]:
    """The lines of the table, and the largest exponent."""
    lines = ["| what grows | verb | seconds | exponent |", "|---|---|---|---|"]
    worst = 0.0
    for axis in AXES:
        with tempfile.TemporaryDirectory() as scratch:
            places = [Path(scratch) / str(size) for size in axis.sizes]
            for place, size in zip(places, axis.sizes, strict=True):
                write(place, axis.shape(size))
            for name in axis.verbs:
                seconds_of(name, places[0], 1)  # imports
                found = [seconds_of(name, place, rounds) for place in places]
                steepest = exponent(axis.sizes, found)
                worst = max(worst, steepest or 0.0)
                sizes = f"{axis.name}: {' / '.join(f'{size:,}' for size in axis.sizes)}"
                times = " / ".join(f"{each:.3f}" for each in found)
                shown = "-" if steepest is None else f"**{steepest:.2f}**"
                lines.append(f"| {sizes} | {name} | {times} | {shown} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return lines, worst


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args()
    gc.set_threshold(*collector.THRESHOLDS)  # as python -m core does
    lines, worst = table(given.rounds)
    lines += ["", f"Processor seconds, the least of {given.rounds} rounds. {machine()}"]
    print("\n".join(lines))
    if given.write:
        put("growth", lines)
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
