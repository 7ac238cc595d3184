"""A value that is worked out once for an object; no object waits for another one."""

from __future__ import annotations

import threading

from core.storage.lazy import lazy


class Slow:
    """Its value is there when somebody lets it."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.times = threading.Event(), threading.Event(), 0

    @lazy
    def value(self) -> object:
        """What it is worth."""
        self.begun.set()
        self.times += 1
        assert self.may_end.wait(30)
        return object()


def test_an_object_that_waits_for_its_store_keeps_no_other_waiting() -> None:
    slow, quick = Slow(), Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(30)
    quick.may_end.set()
    assert quick.value is quick.value and thread.is_alive()
    slow.may_end.set()
    thread.join(30)
    assert (quick.times, slow.times) == (1, 1) and slow.value is not quick.value


def test_two_threads_that_ask_at_once_get_the_same() -> None:
    one, found = Slow(), list[object]()
    threads = [threading.Thread(target=lambda: found.append(one.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert one.begun.wait(30)
    one.may_end.set()
    for thread in threads:
        thread.join(30)
    assert found[0] is found[1] is one.value and "value" in vars(one)


def test_the_class_shows_its_documentation() -> None:
    assert Slow.value.__doc__ == "What it is worth."
