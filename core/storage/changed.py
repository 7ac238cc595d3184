"""A place as it would be after some files were changed: nothing is written, only what is listed and read
differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.storage.listing import Content, FileInfo, Gone, Look
from core.storage.store import Folder, Store, Tally

Changes = Mapping[str, bytes | None]
"""Path below the root -> its content, None for a file that is gone."""


class ChangedStore:
    """Another store with some files changed. A file that is new has no time; directories stay."""

    def __init__(self, store: Store, changes: Changes) -> None:
        self._store = store
        self._changes = dict(changes)

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        found = self._store.list(prefixes, recursive, first_page, tally)
        return {prefix: self._changed(prefix, folder, recursive) for prefix, folder in found.items()}

    def _changed(self, prefix: str, folder: Folder, recursive: bool) -> Folder:
        below = f"{prefix}/" if prefix else ""
        files = [info for info in folder.files if info.path not in self._changes]
        directories = set(folder.directories)
        for path, content in self._changes.items():
            if content is None or not path.startswith(below):
                continue
            first, slash, _ = path[len(below) :].partition("/")
            if slash:
                directories.add(below + first)
            if recursive or not slash:
                files.append(FileInfo(path, len(content)))
        exists = folder.exists or len(files) > 0 or len(directories) > 0
        return replace(folder, files=files, directories=directories, exists=exists, by_path=None)

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        kept = [path for path in paths if path not in self._changes]
        found = self._store.read(kept, tally) if kept else {}
        return {**found, **{path: self._content(path) for path in paths if path in self._changes}}

    def _content(self, path: str) -> Content:
        content = self._changes[path]
        return Gone() if content is None else content

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        kept = [path for path in paths if path not in self._changes]
        found = self._store.look(kept, tally) if kept else {}
        for path in paths:
            if path in self._changes:
                content = self._changes[path]
                found[path] = Gone() if content is None else FileInfo(path, len(content))
        return found
