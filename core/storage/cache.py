"""File contents that were read before. Spark's log and state files do not change once written, so they are
kept for good."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable


class ContentCache:
    """Keeps the contents used last, up to ``limit_bytes``. Safe to use from many threads."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """How many bytes of content are kept."""
        return self._size_bytes

    def get(self, key: Hashable) -> bytes | None:
        with self._lock:
            content = self._kept.get(key)
            if content is not None:
                self._kept.move_to_end(key)
            return content

    def put(self, key: Hashable, content: bytes) -> None:
        if len(content) > self.limit_bytes:
            return
        with self._lock:
            self._size_bytes += len(content) - len(self._kept.pop(key, b""))
            self._kept[key] = content
            while self._size_bytes > self.limit_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._size_bytes -= len(oldest)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size_bytes = 0
