"""The bases of the Delta proof: made once per run with real Delta, copied for each case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.delta import DeltaEngine
from tests.support.delta_proof import TOOLS, Case, copy, remove

# One commit of ten rows per version; the query stops at the first row that `stop_at` names, so the batch of
# that row stays pending.
RECIPES: dict[str, tuple[str, range, dict[str, Any]]] = {
    # Batches 0 to 4 hold versions 0 to 4; version 5 is the pending batch 5, version 6 waits behind it.
    "plain": (
        (
            "for i in range(7): put(i * 10, i * 10 + 10)\nmark()\nresult = run(50, startingVersion=0,"
            " maxFilesPerTrigger=1)"
        ),
        range(70),
        {"startingVersion": 0, "maxFilesPerTrigger": 1},
    ),
    # The same, with everything copied.
    "done": (
        (
            "for i in range(7): put(i * 10, i * 10 + 10)\nmark()\nresult = run(startingVersion=0,"
            " maxFilesPerTrigger=3)"
        ),
        range(70),
        {"startingVersion": 0, "maxFilesPerTrigger": 3},
    ),
    # The first snapshot (version 2, three commits of two files) is left after four of its six files.
    "snapshot": (
        (
            "for i in range(3): put(i * 10, i * 10 + 10, files=2)\nresult = run(20,"
            " maxFilesPerTrigger=1)\nput(30, 40); put(40, 50)\nmark()"
        ),
        range(50),
        {"maxFilesPerTrigger": 1},
    ),
    # Version 2 has four files, two of them are read.
    "inside": (
        (
            "put(0, 10); put(10, 20); put(20, 40, files=4); put(40, 50)\nmark()\nresult = run(30,"
            " startingVersion=0, maxFilesPerTrigger=1)"
        ),
        range(50),
        {"startingVersion": 0, "maxFilesPerTrigger": 1},
    ),
    # The whole of a small table is batch 0, with no start option.
    "first": ("put(0, 10)\nput(10, 20)\nresult = run()\nput(20, 30)\nmark()", range(30), {}),
    # Column mapping, so that columns can be renamed.
    "mapped": (
        (
            "session.sql(f\"CREATE TABLE delta.`{args['source']}` (id LONG, seq LONG) USING delta"
            " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')\")\nput(0, 10); put(10, 20)\nresult ="
            " run(startingVersion=0, maxFilesPerTrigger=1)"
        ),
        range(20),
        {"startingVersion": 0, "maxFilesPerTrigger": 1},
    ),
}


@pytest.fixture(scope="session")
def bases(delta: DeltaEngine, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The directory of a base by name, made on first use."""
    root = tmp_path_factory.mktemp("bases")

    def base(name: str) -> Path:
        place = root / name
        if not place.exists():
            script, _, _ = RECIPES[name]
            paths = {part: str(place / part) for part in ("source", "sink", "checkpoint")}
            answer = delta.run(TOOLS + script, **paths)
            stopped = any("stop" in cause[3] for cause in answer["causes"])
            assert stopped == ("run(startingVersion" not in script and "run()" not in script), answer
        return place

    return base


@pytest.fixture
def case(delta: DeltaEngine, bases: Callable[[str], Path], tmp_path: Path) -> Callable[..., Case]:
    """A copy of a base. ``pending=False``: the batch that stopped the query was never planned."""

    def make(name: str = "plain", pending: bool = False, **options: Any) -> Case:
        _, expected, given = RECIPES[name]
        place = tmp_path / "case"
        copy(bases(name), place)
        found = Case(delta, place, expected, {**given, **options})
        offsets = {int(p.name) for p in (found.checkpoint / "offsets").iterdir() if p.name.isdigit()}
        commits = {int(p.name) for p in (found.checkpoint / "commits").iterdir() if p.name.isdigit()}
        if not pending:
            for batch in offsets - commits:
                remove(found.checkpoint / "offsets" / str(batch))
        return found

    return make
