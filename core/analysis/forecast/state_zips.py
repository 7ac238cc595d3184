"""RocksDB zips whose .sst files are all gone: a copy or a clean-up rule that left ``SSTs/`` out.

Only the zip names its .sst files, so it has to be read. That is done where a store has a zip and no .sst
file at all, which a store with rows hardly ever has; single ones that are missing are seen by the deep check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    contents = _read(s, [file for _, file in bare])
    for partition, file in bare:
        content = contents.get(file.path)
        if content is None:
            continue
        missing = None
        if s.version >= V42:
            missing = _missing_without(s, op, partition, file, version, committed)
            if missing is None:
                continue
        path = f"{file.path.rpartition('/')[0]}/SSTs/{content.sst_files[0].name}"
        why = say("forecast_steps.sst_missing", path=path, zip=file.path)
        # 4.2 and newer look for the changelogs from the first one on before they give up.
        goes_back = missing is not None and any(each.kind == "changelog" for each in partition.files)
        details = {"file": f"{s.location}/{missing if goes_back else path}"}
        return failed(
            s,
            "rocksdb_missing" if goes_back else "sst_missing",
            "STATE_NOT_RESTORABLE",
            why,
            Evidence(path),
            Evidence(file.path),
            details=details,
        )
    return None


def _read(s: RestartContext, files: Iterable[StateFile]) -> dict[str, ZipContent]:
    """The zips that name .sst files, by path; those that could not be read are not among them."""
    infos = {file.path: FileInfo(file.path, file.size_bytes, file.modified_ms) for file in files}
    found = {}
    for path, data in (s.checkpoint.door.read(list(infos.values())) if infos else {}).items():
        content = read_zip(data) if isinstance(data, bytes) else None
        if isinstance(content, ZipContent) and content.sst_files:
            found[path] = content
    return found


def _bare_zips(op: OperatorState, version: int) -> Iterator[tuple[PartitionState, StateFile]]:
    """The zip that each store starts from, of stores without any .sst file."""
    expected = op.expected_partitions
    for partition in op.partitions:
        if expected is not None and partition.partition_id >= expected:
            continue
        if any(file.kind == "sst" for file in partition.files):
            continue
        if newest := next(iter(_zips(partition, version)), None):
            yield partition, newest


def _zips(partition: PartitionState, version: int) -> list[StateFile]:
    """The zips up to a version, newest first, without those of no bytes, which another rule judges."""
    zips = [f for f in partition.files if f.kind == "zip" and (f.version or 0) <= version]
    newest_first = sorted(zips, key=lambda file: file.version or 0, reverse=True)
    return [] if newest_first and newest_first[0].size_bytes == 0 else newest_first


def _missing_without(
    s: RestartContext,
    op: OperatorState,
    partition: PartitionState,
    newest: StateFile,
    version: int,
    committed: CommittedIds,
) -> str | None:
    """What 4.2 and newer miss that rebuild the version without the newest zip and the older ones that name
    .sst files, which they lack, too; None when they can."""
    useless = {newest.path, *_read(s, _zips(partition, version)[1:ZIPS_READ])}
    files = tuple(replace(f, size_bytes=0) if f.path in useless else f for f in partition.files)
    partitions = tuple(replace(p, files=files) if p is partition else p for p in op.partitions)
    without = replace(op, partitions=partitions)
    where = (partition.partition_id, partition.store, version, committed)
    return first_missing(without, *where)
