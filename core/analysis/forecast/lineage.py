"""State checkpoint format 2 without any zip: whether the changelogs lead back to the first version.

A changelog names the versions since the zip that it is built on. Spark 4.0 finds no base where these do not
begin at version 1 and the zip is gone (``CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT``); 4.2 and newer cannot repair
it either. All changelogs may be there all the same.
"""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.model import OperatorState, StateFile
from core.checkpoint.restore_chain import CommittedIds
from core.checkpoint.state_content.framing import Unpacked, unpack
from core.checkpoint.state_content.records import parse_changelog
from core.messages import say
from core.sparklogs.evidence import Evidence
from core.storage import FileInfo

_BYTES = 16 << 20  # so much is read


def check_lineage(s: RestartContext, op: OperatorState, version: int, ids: CommittedIds) -> Verdict | None:
    """The stores of format 2 that have changelogs and no zip; None when each can be built from version 1, or
    nothing is known."""
    if op.format_version != 2 or not s.with_state:
        return None
    newest = _newest_without_zip(op, version, ids)
    if not newest or sum(file.size_bytes or 0 for file in newest) > _BYTES:
        return None
    contents = s.checkpoint.door.read([FileInfo(file.path, file.size_bytes) for file in newest])
    unpacked = unpack({path: data for path, data in contents.items() if isinstance(data, bytes)}, op.codec)
    for file in newest:
        content = unpacked.get(file.path)
        lineage = parse_changelog(content).lineage if isinstance(content, Unpacked) else ()
        oldest = min((item.version for item in lineage), default=1)
        if oldest > 1:
            why = say("forecast_steps.base_missing", path=file.path, version=oldest - 1)
            return failed(s, "base_snapshot_missing", "STATE_NOT_RESTORABLE", why, Evidence(file.path))
    return None


def _newest_without_zip(op: OperatorState, version: int, ids: CommittedIds) -> list[StateFile]:
    found = []
    for part in op.partitions:
        if any(f.kind == "zip" and f.version is not None and f.version <= version for f in part.files):
            continue
        wanted = ids.of(op.operator_id, part.partition_id, op.stores.index(part.store)).get(version)
        found += [f for f in part.files if (f.kind, f.version, f.unique_id) == ("changelog", version, wanted)]
    return found
