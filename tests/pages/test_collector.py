"""What is kept is not collected again and again, and what is not used any more is given back."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from tests.support.build import kafka_checkpoint
from ui import collector


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    callbacks, thresholds = list(gc.callbacks), gc.get_threshold()
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)
    collector.look_at_everything()


def test_what_survives_a_long_collection_is_passed_over_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "LONG_SECONDS", 0.0)
    collector.install()
    collector.install()
    assert sum(each is collector._watch for each in gc.callbacks) == 1
    assert gc.get_threshold() == collector.THRESHOLDS
    kept = [{"key": [number]} for number in range(400_000)]
    gc.collect()
    assert gc.get_freeze_count() > len(kept)
    assert not any(each is kept for each in gc.get_objects()), "the collector still looks at it"


def test_a_checkpoint_that_was_set_aside_is_freed_when_another_one_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector.install()
    monkeypatch.setattr(collector, "LONG_SECONDS", 0.0)
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(30))))
    assert (
        ck.sources[0].context is not None
    )  # sources refer to their checkpoint: only the collector frees them
    seen = weakref.ref(ck)
    gc.collect()
    assert gc.get_freeze_count() > 0
    del ck
    collector.look_at_everything()
    gc.collect()
    assert seen() is None


def test_what_was_set_aside_is_looked_at_again_after_some_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector.install()
    monkeypatch.setattr(collector, "LONG_SECONDS", 0.0)
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(30))))
    assert ck.sources[0].context is not None
    seen = weakref.ref(ck)
    gc.collect()
    del ck
    gc.collect()
    assert seen() is not None
    monkeypatch.setattr(collector, "LOOK_AGAIN_SECONDS", -1)
    gc.collect()
    assert seen() is None
