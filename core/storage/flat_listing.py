"""One listing for a whole checkpoint: what lies outside of ``state/`` in one page of keys instead of a
request for each directory.

A checkpoint that keeps Spark's 100 batches has some 200 files beside its state, and S3 gives 1,000 names in
one answer. Who looks into thousands of checkpoints pays for each request, so here one or two stand for four.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.storage.listing import Content, Look
from core.storage.s3 import S3Store
from core.storage.store import Folder, Tally

LEFT_OUT = "state"
"""What is listed only when it is asked for: it can hold 440,000 files."""


class FlatStore:
    """An S3 store that answers the first listing of each directory from the one of the root.

    Listing the root again takes a new look, and a directory that is asked for a second time is listed by
    itself: whoever asks again wants to know how it is now. ``state/`` is listed page after page, which takes
    fewer requests than one for each partition, and longer.
    """

    def __init__(self, store: S3Store) -> None:
        self._store = store
        self._everything: Folder | None = None
        self._answered: set[str] = set()

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        if "" in prefixes and not recursive:
            self._everything = self._store.list_without(LEFT_OUT, tally)
            self._answered = set()
        found: dict[str, Folder] = {}
        for prefix in prefixes:
            if self._everything is None or prefix in self._answered or recursive or _is_left_out(prefix):
                continue
            found[prefix] = _level(self._everything, prefix)
            self._answered.add(prefix)
        rest = [prefix for prefix in prefixes if prefix not in found]
        if rest and recursive and all(map(_is_left_out, rest)):
            found |= self._store.list_flat(rest, tally)
        elif rest:
            found |= self._store.list(rest, recursive, first_page, tally)
        return {prefix: found[prefix] for prefix in prefixes}

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        return self._store.read(paths, tally)

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        return self._store.look(paths, tally)


def _is_left_out(prefix: str) -> bool:
    return prefix.split("/", 1)[0] == LEFT_OUT


def _level(everything: Folder, prefix: str) -> Folder:
    """The files and directories right below a prefix."""
    files = [info for info in everything.files if info.path.rpartition("/")[0] == prefix]
    directories = {path for path in everything.directories if path.rpartition("/")[0] == prefix}
    is_file = any(info.path == prefix for info in everything.files)
    exists = not prefix or prefix in everything.directories
    return Folder(files, directories, exists, is_file and not exists)
