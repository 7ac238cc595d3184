"""The checkpoints and verbs that are run under every fault."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.state_rows import row_choices
from tests.support.build import SAMPLES, unpack_corpus
from tests.support.fault_rules import differences
from tests.support.faults import KINDS, LISTING_KINDS, FaultyStores, Kind, Run, Target

PLACES = (
    "delta-batch-already-in-table",
    "delta-pending-batch-already-in-table",
    "delta-stopped-in-first-snapshot",
    "dropduplicates-removed",
    "files-died-mid-batch",
    "files-stopped-cleanly",
    "hand-made-rewind",
    "join-watermark-held-back",
    "kafka-async-progress",
    "kafka-pipeline-died-mid-batch",
    "named-sources",
    "state-format-2",
    "transform-with-state-timers",
    "union-of-two-sources",
)
"""Twelve samples and two of the corpus; five have a sink, four of these a source beside it."""

ERROR_TEXT = (
    "org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated with exception:\n"
    "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred during loading state."
    " Error reading delta file /data/checkpoint/state/0/0/3.delta: it does not exist. SQLSTATE: 58030\n"
)


@dataclass(frozen=True, slots=True)
class Place:
    """One checkpoint with what lies beside it."""

    name: str
    root: Path
    checkpoint: Path
    source: Path | None
    sink: Path | None

    def below(self, target: Target) -> str:
        """The path of a fault as it stands in answers: below the checkpoint, the source or the sink."""
        for root in (self.checkpoint, self.source, self.sink):
            if root is not None and target.path.startswith(f"{root}/"):
                return target.path.removeprefix(f"{root}/")
        return target.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Plan:
    """One verb on one checkpoint."""

    place: Place
    verb: str
    arguments: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """What is given to ``python -m core``."""
        return [self.verb, str(self.place.checkpoint), *self.arguments, "--json"]

    def __str__(self) -> str:
        shown = [a.replace(f"{self.place.root}/", "") for a in self.arguments]
        return " ".join([self.place.name, self.verb, *shown])


@dataclass(frozen=True, slots=True)
class Broken:
    """A run whose answer breaks the rule."""

    plan: Plan
    kind: Kind
    target: Target
    said: tuple[str, ...]

    def __str__(self) -> str:
        where = self.target.below(self.plan.place.root)
        return f"{self.plan} | {self.kind} {where}\n    " + "\n    ".join(self.said[:4])


def place_of(name: str, target: Path) -> Place:
    """A sample where it lies, or an entry of the corpus unpacked below ``target``."""
    root = SAMPLES / name if (SAMPLES / name).is_dir() else target / name
    if not root.is_dir():
        unpack_corpus(name, target)
    inside = root / "checkpoint" if (root / "checkpoint").is_dir() else root
    source, sink = root / "source", root / "sink"
    return Place(name, root, inside, source if source.is_dir() else None, sink if sink.is_dir() else None)


def plans(place: Place, error: Path) -> list[Plan]:
    """Every verb, with sink and source where they are there."""
    beside: list[str] = []
    if place.sink is not None:
        beside += ["--sink", str(place.sink)]
    if place.source is not None:
        beside += ["--source", f"0={place.source}"]
    batch = sorted(int(p.name) for p in (place.checkpoint / "commits").iterdir() if p.name.isdecimal())[-2:][
        0
    ]
    ends: Sequence[Sequence[str]] = ([], beside) if beside else ([],)
    found = [
        Plan(place, "inspect", ()),
        Plan(place, "resume", ("--batch", str(batch))),
        Plan(place, "check", ("--level", "quick")),
        Plan(place, "explain", ("--error", str(error))),
        Plan(place, "changes", ()),
        Plan(place, "survey", ()),
        Plan(place, "metrics", ()),
    ]
    for given in ends:
        found += [
            Plan(place, "forecast", tuple(given)),
            Plan(place, "check", tuple(given)),
            Plan(place, "check", ("--level", "deep", *given)),
            Plan(place, "resume", tuple(given)),
            Plan(place, "recover", tuple(given)),
            Plan(place, "recover", ("--option", "reset", *given)),
        ]
    if (place.checkpoint / "state").is_dir():
        found += [Plan(place, "state", ()), Plan(place, "state", ("--replay",))]
        ck = Checkpoint.open(str(place.checkpoint))
        first = next(iter(row_choices(ck, state_inventory(ck).operators[0]).values()))
        found.append(Plan(place, "rows", (*first.option.split(), "--reveal", "--limit", "10000")))
    return found


def runs(
    stores: FaultyStores, plan: Plan, kinds: Sequence[Kind] = KINDS, share: float = 1.0, seed: int = 1
) -> Iterator[Broken | None]:
    """The verb under every fault at everything it reads, or a ``share`` of that; None where the rule holds."""
    given = [item.rsplit("/", 1)[-1] for item in plan.arguments]  # wherever the project lies: the same runs
    rng = random.Random(f"{seed} {plan.place.name} {plan.verb} {given}")
    stores.forget()
    healthy = stores.run(plan.command)
    if healthy.trace:
        raise AssertionError(f"{plan}: {healthy.trace}")
    for target in stores.targets():
        for kind in kinds:
            if kind not in LISTING_KINDS and target.is_listing:
                continue
            if share < 1.0 and rng.random() >= share:
                continue
            yield _one(stores, plan, healthy, kind, target)


def _one(stores: FaultyStores, plan: Plan, healthy: Run, kind: Kind, target: Target) -> Broken | None:
    with stores.fault(kind, target):
        try:
            faulty = stores.run(plan.command)
        except Exception as error:
            return Broken(plan, kind, target, (f"traceback: {error!r}",))
        hits = stores.hits
    if not hits:
        return None
    said = differences(plan.verb, healthy, faulty, plan.place.below(target))
    return Broken(plan, kind, target, tuple(said)) if said else None
