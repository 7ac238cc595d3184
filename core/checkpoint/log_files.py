"""The batch files of ``offsets/`` or ``commits/`` in columns: some bytes for each of 20,000, not objects.

A server keeps many checkpoints open. Objects that live long and lie between others keep Python from giving
memory back, so that it is better not to have them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TypeVar, overload

from core.checkpoint.model import LogFile
from core.storage import FileInfo, file_info

T = TypeVar("T")
D = TypeVar("D")

_NO_SIZE = -1
_BITS = 63
_NO_TIME = -(1 << 63)


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The batch files of one directory, ascending by batch id. ``odd_paths``: those that are not
    ``<directory>/<batch id>``."""

    directory: str
    ids: array[int]
    sizes: array[int]
    modified: array[int]
    etags: str = ""
    etag_ends: array[int] = field(default_factory=lambda: array("I"))
    odd_paths: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: str, ids: Sequence[int], infos: Iterable[FileInfo]) -> LogFiles:
        """The columns of these files; ``ids`` in any order, each once."""
        if not ids:
            return cls(directory, array("q"), array("q"), array("q"))
        paths: Sequence[str]
        etags: Sequence[str | None]
        paths, sizes, modified, etags = zip(*infos, strict=True)
        columns: list[Sequence[int]] = [ids, _numbers(sizes, _NO_SIZE), _numbers(modified, _NO_TIME)]
        if any(map(int.__gt__, ids, ids[1:])):
            order = sorted(range(len(ids)), key=ids.__getitem__)
            columns = [[column[at] for at in order] for column in columns]
            paths, etags = [paths[at] for at in order], [etags[at] for at in order]
        start = directory + "/"
        odd = {
            batch_id: path
            for batch_id, path in zip(columns[0], paths, strict=True)
            if path != f"{start}{batch_id}"
        }
        marks = [] if etags.count(None) == len(etags) else [etag or "" for etag in etags]
        return cls(
            directory,
            array("q", columns[0]),
            array("q", columns[1]),
            array("q", columns[2]),
            "".join(marks),
            array("I", accumulate(map(len, marks))),
            odd,
        )

    def place(self, batch_id: object) -> int | None:
        """Where in the columns a batch is; None when there is none."""
        ids = self.ids
        if not ids or not isinstance(batch_id, int):
            return None
        at = batch_id - ids[0]  # nearly always: no number is left out
        if 0 <= at < len(ids) and ids[at] == batch_id:
            return at
        at = bisect_left(ids, batch_id)
        return at if at < len(ids) and ids[at] == batch_id else None

    def log_file(self, at: int) -> LogFile:
        """What stands at a place of the columns."""
        batch_id, size, modified = self.ids[at], self.sizes[at], self.modified[at]
        odd = self.odd_paths
        return _as_log_file(
            (
                batch_id,
                odd[batch_id] if odd and batch_id in odd else f"{self.directory}/{batch_id}",
                None if size == _NO_SIZE else size,
                None if modified == _NO_TIME else modified,
            )
        )

    def time(self, at: int) -> int | None:
        """Its time alone."""
        modified = self.modified[at]
        return None if modified == _NO_TIME else modified

    def info(self, at: int) -> FileInfo:
        """The same, as the storage door takes it."""
        _, path, size, modified = self.log_file(at)
        etag = self.etags[self.etag_ends[at - 1] if at else 0 : self.etag_ends[at]] if self.etag_ends else ""
        return file_info((path, size, modified, etag or None))


# What LogFile(*columns) makes, without the work of calling it.
_as_log_file: Callable[[tuple[int, str, int | None, int | None]], LogFile] = partial(tuple.__new__, LogFile)


class ByBatch(Mapping[int, T]):
    """The columns as a mapping of batch id, ascending, to what is made of one place when it is asked for."""

    __slots__ = ("_columns", "_made")

    def __init__(self, columns: LogFiles, made: Callable[[int], T]) -> None:
        self._columns, self._made = columns, made

    def __getitem__(self, batch_id: int) -> T:
        at = self._columns.place(batch_id)
        if at is None:
            raise KeyError(batch_id)
        return self._made(at)

    @overload
    def get(self, key: int, /) -> T | None: ...
    @overload
    def get(self, key: int, default: T | D, /) -> T | D: ...
    def get(self, key: int, default: object = None, /) -> object:
        """As of any mapping, without an exception on the way."""
        at = self._columns.place(key)
        return default if at is None else self._made(at)

    def __contains__(self, batch_id: object) -> bool:
        return self._columns.place(batch_id) is not None

    def __iter__(self) -> Iterator[int]:
        return iter(self._columns.ids)

    def __reversed__(self) -> Iterator[int]:
        return reversed(self._columns.ids)

    def __len__(self) -> int:
        return len(self._columns.ids)

    def values(self) -> ValuesView[T]:
        """As of any mapping, without a search for each."""
        return _Values(self, self._made)

    def items(self) -> ItemsView[int, T]:
        """As of any mapping, without a search for each."""
        return _Items(self, self._made)


class _Values(ValuesView[T]):
    def __init__(self, mapping: Mapping[int, T], made: Callable[[int], T]) -> None:
        super().__init__(mapping)
        self._made = made

    def __iter__(self) -> Iterator[T]:
        return map(self._made, range(len(self)))


class _Items(ItemsView[int, T]):
    def __init__(self, mapping: Mapping[int, T], made: Callable[[int], T]) -> None:
        super().__init__(mapping)
        self._all, self._made = mapping, made

    def __iter__(self) -> Iterator[tuple[int, T]]:
        return zip(iter(self._all), map(self._made, range(len(self))), strict=True)


def _numbers(numbers: Sequence[int | None], unknown: int) -> Sequence[int]:
    try:
        return array("q", numbers)  # type: ignore[arg-type]
    except (TypeError, OverflowError):  # an evidence file that somebody else made can name any number
        return [unknown if number is None or number.bit_length() > _BITS else number for number in numbers]
