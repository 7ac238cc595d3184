"""A place where nothing lies: what is left of a checkpoint that was deleted."""

from __future__ import annotations

from collections.abc import Sequence

from core.storage.listing import Content, Gone, Look
from core.storage.store import Folder, Tally


class NothingStore:
    """The root is there and empty; no request is sent."""

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        return {prefix: Folder(exists=not prefix) for prefix in prefixes}

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        return {path: Gone() for path in paths}

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        return {path: Gone() for path in paths}
