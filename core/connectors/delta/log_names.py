"""What the names in ``_delta_log`` mean. Nothing is read here.

Rules (Delta protocol; seen with Delta 4.4): a commit is 20 digits and ``.json``; ``<20 digits>.crc`` is the
table's own checksum of that version; a log checkpoint is ``.checkpoint.parquet`` (classic),
``.checkpoint.<part>.<parts>.parquet`` (in several parts, complete when all are there) or
``.checkpoint.<uuid>.json|parquet`` (v2). Everything else is passed over: ``_last_checkpoint``,
``_staged_commits/``, ``_sidecars/``, compacted logs, Hadoop's hidden checksum files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from core.sparklogs.names import LARGEST_ID
from core.storage import FileInfo

LOG = "_delta_log"

_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKSUM = re.compile(r"([0-9]{20})\.crc")
_CLASSIC = re.compile(r"([0-9]{20})\.checkpoint\.parquet")
_PART = re.compile(r"([0-9]{20})\.checkpoint\.([0-9]{10})\.([0-9]{10})\.parquet")
_V2 = re.compile(r"([0-9]{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)")
MOST_PARTS = 10_000  # a name that claims more parts is no log checkpoint


@dataclass(frozen=True, slots=True)
class LogCheckpoint:
    """A complete log checkpoint: the table as of ``version``. ``parts`` in order; one file unless it is in
    several parts."""

    version: int
    parts: tuple[FileInfo, ...]

    @property
    def size_bytes(self) -> int:
        """All parts together, as far as the store gives their sizes."""
        return sum(part.size_bytes or 0 for part in self.parts)


@dataclass(frozen=True, slots=True)
class LogNames:
    """The files of ``_delta_log`` by what they are, each by version, ascending; ``checkpoints`` are the
    complete ones."""

    commits: Mapping[int, FileInfo]
    checksums: Mapping[int, FileInfo]
    checkpoints: tuple[LogCheckpoint, ...]

    @property
    def newest(self) -> int | None:
        """The newest version of the table; None when there is neither a commit nor a log checkpoint."""
        return max(
            [*list(self.commits)[-1:], *(point.version for point in self.checkpoints[-1:])], default=None
        )

    @property
    def oldest(self) -> int | None:
        """The oldest commit of the unbroken run that ends in the newest version; None when its commit file is
        not there."""
        first = None
        for version in sorted(self.commits, reverse=True):
            if first is None and version != self.newest:
                return None
            if first is not None and version != first - 1:
                break
            first = version
        return first

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """First and last version of each hole between two commits."""
        versions = list(self.commits)
        return tuple((a + 1, b - 1) for a, b in pairwise(versions) if b > a + 1)

    def base_of(self, version: int) -> LogCheckpoint | None:
        """The newest complete log checkpoint at or before ``version`` from which the commits go on without a
        hole."""
        for point in reversed(self.checkpoints):
            if point.version <= version:
                return (
                    point if all(v in self.commits for v in range(point.version + 1, version + 1)) else None
                )
        return None

    def can_rebuild(self, version: int) -> bool:
        """Whether the table as of ``version`` can be worked out: from a log checkpoint, or from version 0."""
        if self.base_of(version) is not None:
            return True
        return version < len(self.commits) and all(v in self.commits for v in range(version + 1))


def log_names(files: Iterable[FileInfo]) -> LogNames:
    """Sorts a listing of ``_delta_log``."""
    commits: dict[int, FileInfo] = {}
    checksums: dict[int, FileInfo] = {}
    whole: dict[int, LogCheckpoint] = {}
    parts: dict[tuple[int, int], dict[int, FileInfo]] = {}
    for info in files:
        name = info.name
        if name[:20].isdecimal() and int(name[:20]) > LARGEST_ID:
            continue  # no version that Delta can read
        if match := _COMMIT.fullmatch(name):
            commits[int(match[1])] = info
        elif match := _CHECKSUM.fullmatch(name):
            checksums[int(match[1])] = info
        elif match := _CLASSIC.fullmatch(name) or _V2.fullmatch(name):
            whole[int(match[1])] = LogCheckpoint(int(match[1]), (info,))
        elif match := _PART.fullmatch(name):
            parts.setdefault((int(match[1]), int(match[3])), {})[int(match[2])] = info
    for (version, count), found in parts.items():
        if 0 < count <= MOST_PARTS and set(found) == set(range(1, count + 1)):
            whole.setdefault(version, LogCheckpoint(version, tuple(found[i] for i in range(1, count + 1))))
    return LogNames(
        dict(sorted(commits.items())),
        dict(sorted(checksums.items())),
        tuple(point for _, point in sorted(whole.items())),
    )
