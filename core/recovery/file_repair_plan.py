"""The plan of repairs of single files: the checkpoint as it would be while repairs are added, and what comes
of it."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import Literal

from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.checkpoint.state_content.checksums import hidden_name
from core.connectors import ConnectorAnswers
from core.connectors.model import SinkState
from core.connectors.sink import sink_state
from core.messages import say
from core.storage import FileInfo

MOST_BYTES = 256 << 20
"""A larger file is not replaced: the script holds each by its digest, for which it is read here."""

Does = Literal["leave_out", "write", "copy"]


@dataclass(frozen=True, slots=True)
class FileRepair:
    """One file that the repaired copy has differently. ``text`` is the content of a file that is written,
    None for a new query id that the script makes; ``source`` the file that is copied. ``was``: SHA-256 of the
    content now, None when the file is missing."""

    file: str
    does: Does
    why: str
    finding: str
    text: str | None = None
    source: str | None = None
    was: str | None = None


@dataclass(frozen=True, slots=True)
class FileRepairs:
    """The repairs of a checkpoint, in order. ``refused`` says why what is wrong cannot be repaired so (empty
    when it can, or when nothing is wrong). ``forecast`` is about the repaired copy.

    ``again_from``: the first batch that is planned or run again although the sink may have rows of it,
    ``again_to``: the last one whose rows come again, ``again_is_same``: with the end offsets it had.
    ``is_new_id``: the query id cannot be known any more. ``makes_state_again``: the batch has to write its
    state a second time (state checkpoint format 2), which it does not where the sink skips it (observed:
    "CheckpointInfo length: 0"). ``reruns_planned``: ``again_from`` is the planned batch, which runs
    again as it does without any repair.
    """

    repairs: tuple[FileRepair, ...] = ()
    refused: str = ""
    forecast: Forecast | None = None
    again_from: int | None = None
    again_to: int | None = None
    again_is_same: bool = False
    is_new_id: bool = False
    makes_state_again: bool = False
    reruns_planned: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether there is something to repair, and the repaired copy starts."""
        return bool(self.repairs) and not self.refused


class CannotRepairError(Exception):
    """Why a fault is not repaired; the text is one sentence."""


@dataclass(slots=True)
class RepairPlan:
    """The checkpoint as it would be, while repairs are added."""

    original: Checkpoint
    ck: Checkpoint
    connectors: ConnectorAnswers
    changes: dict[str, bytes | None] = field(default_factory=dict)
    repairs: list[FileRepair] = field(default_factory=list)
    again_from: int | None = None
    again_to: int | None = None
    again_is_same: bool = True
    is_new_id: bool = False
    makes_state_again: bool = False

    @property
    def newest(self) -> int:
        return self.ck.offset_ids[-1]

    @property
    def committed(self) -> int:
        return max(self.ck.commit_ids, default=-1)

    @property
    def sink(self) -> SinkState | None:
        known = self.connectors.sink
        return None if known is None else sink_state(self.ck, known)

    def leave_out(self, path: str, why: str, finding: str) -> None:
        """The repaired copy does not have this file."""
        self.changes[path] = None
        self.changes[hidden_name(path)] = None
        self.repairs.append(FileRepair(path, "leave_out", why, finding, was=self._digest(path)))

    def write(self, path: str, text: str | None, why: str, finding: str, source: str | None = None) -> None:
        """The repaired copy has this text in the file; None for a new query id."""
        content = text if text is not None else f'{{"id":"{uuid.UUID(int=0)}"}}'
        self.changes[path] = content.encode()
        self.changes[hidden_name(path)] = None
        does: Does = "write" if source is None else "copy"
        stays = text if source is None else None
        self.repairs.append(FileRepair(path, does, why, finding, stays, source, self._digest(path)))

    def again(self, batch_id: int, *, is_same: bool, last: int | None = None) -> None:
        """Notes a batch that comes again, with what the batches after it up to ``last`` had read."""
        if self.again_from is None or batch_id < self.again_from:
            self.again_from = batch_id
        self.again_to = max(batch_id, last or 0, self.again_to or 0)
        self.again_is_same = self.again_is_same and is_same

    def _digest(self, path: str) -> str | None:
        seen = self.original.door.look([path])[path]
        if isinstance(seen, FileInfo) and (seen.size_bytes or 0) > MOST_BYTES:
            size, most = seen.size_bytes or 0, MOST_BYTES
            raise CannotRepairError(
                say("file_repairs.too_large", file=path, size_bytes=size, limit_bytes=most)
            )
        content = self.original.door.read([FileInfo(path, None)])[path]
        return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else None
