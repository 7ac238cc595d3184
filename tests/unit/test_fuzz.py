"""Mutated checkpoints with a fixed seed, 400 of them, with CHECKPOINT_EXPLORER_EVERY_CASE=1 a thousand;
`scripts/fuzz` runs as many as there is time for."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from scripts.fuzzing import Bases, mutate, run_case, run_cases
from tests.spark.cases import EVERY_CASE

SEED, CASES = 20261122, 1_000 if os.environ.get(EVERY_CASE) else 400


@pytest.mark.slow
def test_no_mutation_stops_an_answer() -> None:
    number, failures = run_cases(SEED, iter(range(CASES)))
    assert number == CASES
    assert not failures, "\n".join(map(str, failures))


def test_a_case_is_the_same_every_time(tmp_path: Path) -> None:
    trees = []
    for name in ("a", "b"):
        rng = random.Random(7)
        Bases(tmp_path / "corpus").copy(rng, tmp_path / name)
        done = [mutate(tmp_path / name, rng) for _ in range(4)]
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        trees.append((done, [(path.relative_to(tmp_path / name), path.read_bytes()) for path in files]))
    assert trees[0] == trees[1]


def test_a_traceback_is_found_and_says_how_to_repeat_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Checkpoint, "open", broken)
    failure = run_case(SEED, 1, Bases(tmp_path / "corpus"), tmp_path / "case")
    assert failure is not None
    assert "ZeroDivisionError" in str(failure)
    assert f"scripts/fuzz --seed {SEED} --case 1" in str(failure)
