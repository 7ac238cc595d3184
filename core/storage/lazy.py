"""A value that an object works out at its first use and keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801  (used as a decorator, like property)
    """As ``functools.cached_property``, for values that are read from a store.

    That one holds a lock until Python 3.11, one for all objects of a class: while one checkpoint waits for
    its store, no other could be judged. Here two threads that ask the same object at once may both work the
    value out; they get the same one.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner_object: None, owner: type | None = None) -> lazy[T]: ...

    @overload
    def __get__(self, owner_object: object, owner: type | None = None) -> T: ...

    def __get__(self, owner_object: object | None, owner: type | None = None) -> lazy[T] | T:
        if owner_object is None:
            return self
        value: T = vars(owner_object).setdefault(self._name, self._work_out(owner_object))
        return value
