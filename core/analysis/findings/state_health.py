"""Whether the state is in proportion: how evenly it is spread over the partitions, by the sizes of files, and
whether a RocksDB store grows without end, by the number of rows that its snapshots record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.analysis.balance import Balance, balance
from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding, Severity
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry, OperatorState, PartitionState, StateFile
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.rocksdb_zip import ZipContent, read_zip
from core.messages import say
from core.sparklogs.budget import read_within
from core.sparklogs.evidence import Evidence
from core.storage import FileInfo

GROWTH_PARTITIONS = 4
"""Of so many partitions of an operator the snapshots are read: three small files each. Hashing spreads new
keys over all partitions."""


def skewed(ck: Checkpoint) -> Iterator[Finding]:
    """Of each operator the store with the most skewed partition, when that is so many times the median
    (setting ``skew_ratio``) and large enough to matter (``skew_least_bytes``)."""
    for operator in state_inventory(ck).operators:
        found = [item for store in operator.stores if (item := skewed_store(ck, operator, store)) is not None]
        if found:
            yield _skew(operator, max(found, key=lambda item: item.max_over_median or 0))


def skewed_store(ck: Checkpoint, operator: OperatorState, store: str) -> Balance | None:
    """The balance of a store that has a skewed partition; None for any other.

    By the files that hold the rows now AND by everything that is kept: of a RocksDB store the listing does
    not tell which .sst files a version needs, and one partition may wait for its next snapshot longer than
    the others.
    """
    settings = ck.settings
    now = balance(operator, store)
    heaviest = now.heaviest
    if heaviest is None or heaviest.size_bytes < settings.skew_least_bytes:
        return None
    kept = balance(operator, store, measure="kept")
    kept_bytes = {share.partition_id: share.size_bytes for share in kept.partitions}
    is_heavy = (
        now.max_over_median is not None
        and now.max_over_median >= settings.skew_ratio
        and kept_bytes.get(heaviest.partition_id, 0) >= settings.skew_ratio * kept.median_bytes
    )
    return now if is_heavy else None


def _skew(operator: OperatorState, found: Balance) -> Finding:
    heaviest = found.partitions[0]
    files = [
        file
        for partition in operator.partitions
        if partition.partition_id == heaviest.partition_id and partition.store == found.store
        for file in partition.files
    ]
    largest = sorted(files, key=lambda file: -(file.size_bytes or 0))[:3]
    sentence = say(
        "findings_health.state_skewed",
        partition_id=heaviest.partition_id,
        operator_id=operator.operator_id,
        name=operator.name or say("findings_health.name_not_known"),
        store=found.store,
        size_bytes=heaviest.size_bytes,
        ratio=found.max_over_median,
        median=round(found.median_bytes),
        share=heaviest.share,
    )
    return finding(
        "STATE_SKEWED",
        sentence,
        *(Evidence(file.path) for file in largest),
        certainty="inferred",
        place=f"{operator.operator_id}/{heaviest.partition_id}/{found.store}",
    )


def rocksdb_growth(ck: Checkpoint, entries: Sequence[OffsetEntry]) -> Iterator[Finding]:
    """RocksDB state that grows while the watermark stands still (setting ``growth_batches``), with
    changelogs or without: the oldest, a middle and the newest zip of the largest partitions record the
    number of rows."""
    marks = {entry.watermark_ms or 0 for entry in entries}
    if len(entries) < ck.settings.growth_batches or len(marks) > 1:
        return
    for operator in state_inventory(ck).operators:
        chosen = [zips for part in _largest(operator) if (zips := _three_zips(part)) is not None]
        counts = [_rows_of(ck, zips) for zips in chosen]
        known = [count for count in counts if count is not None]
        if not known or len(known) < len(counts) or any(list(count) != sorted(count) for count in known):
            continue
        first, last = sum(count[0] for count in known), sum(count[-1] for count in known)
        if first == 0 or last < ck.settings.growth_ratio * first:
            continue
        sentence = (
            say(
                "findings_health.rows_grow_no_watermark",
                operator_id=operator.operator_id,
                first=first,
                last=last,
                partitions=len(known),
            )
            if marks == {0}
            else say(
                "findings_health.rows_grow_still",
                operator_id=operator.operator_id,
                first=first,
                last=last,
                partitions=len(known),
            )
        )
        evidence = (Evidence(zips[at].path) for zips in chosen[:1] for at in (0, -1))
        yield finding(
            "STATE_GROWS",
            sentence,
            *evidence,
            certainty="inferred",
            severity=growth_severity(ck, operator),
            place=str(operator.operator_id),
        )


def growth_severity(ck: Checkpoint, operator: OperatorState) -> Severity:
    """Attention for state that is large already (setting ``growth_attention_bytes``), else a note."""
    size_bytes = sum(part.size_bytes or 0 for part in operator.partitions)
    return "attention" if size_bytes >= ck.settings.growth_attention_bytes else "note"


def _largest(operator: OperatorState) -> list[PartitionState]:
    """The largest partitions of the first store of a RocksDB operator."""
    if operator.provider != "rocksdb" or not operator.stores:
        return []
    mine = [part for part in operator.partitions if part.store == operator.stores[0]]
    return sorted(mine, key=lambda part: -(part.size_bytes or 0))[:GROWTH_PARTITIONS]


def _three_zips(part: PartitionState) -> tuple[StateFile, StateFile, StateFile] | None:
    """The oldest, a middle and the newest zip; None when fewer are kept. Of two attempts at a version the
    later one counts."""
    newest: dict[int, StateFile] = {}
    for file in part.files:
        if file.kind != "zip" or file.version is None:
            continue
        other = newest.get(file.version)
        if other is None or (file.modified_ms or 0) > (other.modified_ms or 0):
            newest[file.version] = file
    if len(newest) < 3:
        return None
    versions = sorted(newest)
    return newest[versions[0]], newest[versions[len(versions) // 2]], newest[versions[-1]]


def _rows_of(ck: Checkpoint, zips: Sequence[StateFile]) -> tuple[int, ...] | None:
    """The rows that the zips record; None when one cannot be read or Spark did not count them."""
    files = [FileInfo(file.path, file.size_bytes, file.modified_ms, None) for file in zips]
    contents = read_within(ck.door, files, ck.settings.state_definition_bytes)
    counts = []
    for info in files:
        content = contents.get(info.path)
        parsed = read_zip(content) if isinstance(content, bytes) else None
        if not isinstance(parsed, ZipContent) or parsed.num_keys is None:
            return None
        counts.append(parsed.num_keys)
    return tuple(counts)
