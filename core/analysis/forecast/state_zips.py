"""RocksDB zips whose .sst files are all gone: a copy or a clean-up rule that left ``SSTs/`` out.

Only the zip names its .sst files, so it has to be read. That is done where a store has a zip and no .sst
file at all, which a store with rows never has; single ones that are missing are seen by the deep check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.step_verdict import Verdict, failed
from core.analysis.forecast.versions import V42
from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.restore_chain import CommittedIds, first_missing
from core.checkpoint.state_content.rocksdb_zip import ZipContent, read_zip
from core.messages import say
from core.sparklogs.evidence import Evidence
from core.storage import FileInfo

# Zips that are read at most: one tells as much as all where the directories are gone.
ZIPS_READ = 8


def check_sst_files(
    s: RestartContext, op: OperatorState, version: int, committed: CommittedIds
) -> Verdict | None:
    """The first zip of the next start whose .sst files are not there; None when none shows."""
    bare = list(_bare_zips(op, version))[:ZIPS_READ]
    infos = {file.path: FileInfo(file.path, file.size_bytes, file.modified_ms) for _, file in bare}
    contents = s.checkpoint.door.read(list(infos.values())) if infos else {}
    for partition, file in bare:
        data = contents[file.path]
        content = read_zip(data) if isinstance(data, bytes) else None
        if not isinstance(content, ZipContent) or not content.sst_files:
            continue
        if s.version >= V42 and _goes_without(op, partition, file, version, committed):
            continue
        path = f"{file.path.rpartition('/')[0]}/SSTs/{content.sst_files[0].name}"
        why = say("forecast_steps.sst_missing", path=path, zip=file.path)
        details = {"file": f"{s.location}/{path}"}
        return failed(
            s,
            "sst_missing",
            "STATE_NOT_RESTORABLE",
            why,
            Evidence(path),
            Evidence(file.path),
            details=details,
        )
    return None


def _bare_zips(op: OperatorState, version: int) -> Iterator[tuple[PartitionState, StateFile]]:
    """The zip that each store starts from, of stores without any .sst or log file."""
    expected = op.expected_partitions
    for partition in op.partitions:
        if expected is not None and partition.partition_id >= expected:
            continue
        if any(file.kind in ("sst", "rocksdb_log") for file in partition.files):
            continue
        zips = [f for f in partition.files if f.kind == "zip" and (f.version or 0) <= version]
        newest = max(zips, key=lambda file: file.version or 0, default=None)
        if newest is not None and newest.size_bytes != 0:
            yield partition, newest


def _goes_without(
    op: OperatorState, partition: PartitionState, zip_file: StateFile, version: int, committed: CommittedIds
) -> bool:
    """Whether 4.2 and newer rebuild the version from what is there beside the zip."""
    files = tuple(replace(f, size_bytes=0) if f is zip_file else f for f in partition.files)
    partitions = tuple(replace(p, files=files) if p is partition else p for p in op.partitions)
    without = replace(op, partitions=partitions)
    where = (partition.partition_id, partition.store, version, committed)
    return first_missing(without, *where) is None
