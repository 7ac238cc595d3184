"""How long a store may take for one request. A host that does not answer must cost one viewer one sentence,
and nobody else anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from core.messages import say

T = TypeVar("T")


class NoAnswer(TimeoutError):  # noqa: N818  (it says what is so; the door makes a StorageError of it)
    """The store gave no answer in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(say("storage.no_answer", seconds=f"{seconds:g}"))


def in_time(call: Callable[[], T], seconds: float | None) -> T:
    """What a blocking ``call`` gives. Raises :class:`NoAnswer` after ``seconds``; the call is then left to
    its own thread, because nothing can end it."""
    if seconds is None:
        return call()
    box: list[Any] = []

    def work() -> None:
        try:
            box[:] = [True, call()]
        except BaseException as error:
            box[:] = [False, error]

    thread = threading.Thread(target=work, name="store request", daemon=True)
    thread.start()
    thread.join(seconds)
    if not box:
        raise NoAnswer(seconds)
    if box[0]:
        answer: T = box[1]
        return answer
    raise box[1]


async def awaited_in_time(call: Awaitable[T], seconds: float | None) -> T:
    """As :func:`in_time` for a coroutine, which is cancelled when the time is over."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await call
    except TimeoutError as error:
        if seconds is not None and limit.expired():
            raise NoAnswer(seconds) from error
        raise
