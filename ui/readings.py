"""What is kept of checkpoints that are open, and given back when nobody looks at them any more.

Viewers share what was read of a checkpoint and what was worked out from it. A page that is open redraws its
age every few seconds, which counts as looking; once the last one is closed, all that rests on the reading is
let go of after the setting ``open_checkpoint_seconds``.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

import streamlit as st

from core.settings import get_settings
from ui import collector

Reading = tuple[str, int]
"""The name of a checkpoint as in the address, and which reading of it."""

T = TypeVar("T")

MOST_OFTEN_SECONDS = 1.0
LEAST_OFTEN_SECONDS = 60.0


class _Kept:
    """When each reading was looked at, and what was kept for it: which cache, under which arguments."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen: dict[Reading, float] = {}
        self.made: dict[Reading, dict[tuple[object, str], tuple[Any, ...]]] = {}
        self.timer: threading.Timer | None = None
        self.told: list[Callable[[Reading], None]] = []


_kept = _Kept()


def when_put_away(forget: Callable[[Reading], None]) -> None:
    """``forget`` is called for each reading that is let go of."""
    _kept.told.append(forget)


def cached(most: int, show_spinner: str | bool = False) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """As ``st.cache_resource``, for a function whose first argument is a :data:`Reading`, or a tuple with one
    or more in it: the answer is let go of with the first of them."""

    def decorated(make: Callable[..., T]) -> Callable[..., T]:
        cache = st.cache_resource(max_entries=most, show_spinner=show_spinner)(make)
        is_hidden = [name.startswith("_") for name in inspect.signature(make).parameters]

        @wraps(make)
        def answer(*args: Any) -> T:
            # What the cache does not look at is not held on to here either.
            named = tuple(None if hidden else arg for hidden, arg in zip(is_hidden, args, strict=True))
            for reading in _readings(args[0]):
                look_at(reading)
                with _kept.lock:
                    _kept.made.setdefault(reading, {})[cache, repr(named)] = named
            found: T = cache(*args)
            return found

        return answer

    return decorated


def look_at(reading: Reading) -> None:
    """Notes that somebody looks at this reading now."""
    with _kept.lock:
        _kept.seen[reading] = time.monotonic()
        if _kept.timer is None:
            _start_timer()


def put_away(seconds: float) -> list[Reading]:
    """Lets go of the readings that nobody has looked at for so long, and of all that rests on them."""
    now = time.monotonic()
    with _kept.lock:
        over = [reading for reading, seen in _kept.seen.items() if now - seen >= seconds]
        made = [_kept.made.pop(reading, {}) for reading in over]
        for reading in over:
            del _kept.seen[reading]
    for reading in over:
        for forget in _kept.told:
            forget(reading)
    for answers in made:
        for (cache, _), named in answers.items():
            cache.clear(*named)  # type: ignore[attr-defined]
    return over


def give_back() -> None:
    """Collects what nothing refers to, and returns free memory to the system where it can be returned."""
    collector.look_at_everything()
    gc.collect()
    with suppress(OSError, AttributeError):  # only the C library of GNU has it
        ctypes.CDLL(None).malloc_trim(0)


def _readings(key: object) -> Iterator[Reading]:
    if isinstance(key, tuple):
        if len(key) == 2 and isinstance(key[0], str) and isinstance(key[1], int):
            yield key
        else:
            for part in key:
                yield from _readings(part)


def _start_timer() -> None:
    seconds = get_settings().open_checkpoint_seconds
    every = min(LEAST_OFTEN_SECONDS, max(MOST_OFTEN_SECONDS, seconds / 4))
    _kept.timer = threading.Timer(every, _sweep, [seconds])
    _kept.timer.daemon = True
    _kept.timer.start()


def _sweep(seconds: float) -> None:
    try:
        if put_away(seconds):
            give_back()
    finally:
        with _kept.lock:
            _kept.timer = None
            if _kept.seen:
                _start_timer()
