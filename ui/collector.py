"""Python's garbage collector in a server that keeps large checkpoints open.

Streamlit collects everything at the end of each run of a page, which takes longer the more is kept: 0.1 s
with two checkpoints of 20,000 batches. What survived a long collection is set aside (``gc.freeze``), so that
the next ones pass over it. What was set aside and is not used any more is found once everything is looked at
again: when a checkpoint is opened or read again, and after some minutes.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

LONG_SECONDS = 0.02
"""After a collection that took longer, what survived it is set aside."""

LOOK_AGAIN_SECONDS = 600
"""What was set aside is looked at again when it is so old."""

THRESHOLDS = (50_000, 20, 50)
"""As ``python -m core`` has it: a fifth of reading large state was looking for garbage."""

_ALL = 2  # the generation of a collection that looks at everything


@dataclass(slots=True)
class _State:
    began: float = 0.0
    frozen_at: float | None = None


_state = _State()


def install() -> None:
    """Sets aside what survives long collections, and collects less often while much is read, from now on in
    this process. Streamlit collects everything after each run of a page all the same."""
    gc.set_threshold(*THRESHOLDS)
    if not any(getattr(each, "__qualname__", "") == _watch.__qualname__ for each in gc.callbacks):
        gc.callbacks.append(_watch)


def look_at_everything() -> None:
    """The next full collection looks at what was set aside too: something large may not be used any more."""
    gc.unfreeze()
    _state.frozen_at = None


def _watch(phase: str, info: dict[str, int]) -> None:
    if info.get("generation") != _ALL:
        return
    now = time.perf_counter()
    if phase == "start":
        if _state.frozen_at is not None and now - _state.frozen_at > LOOK_AGAIN_SECONDS:
            look_at_everything()
        _state.began = now
    elif now - _state.began > LONG_SECONDS:
        gc.freeze()
        _state.frozen_at = now
