"""Looking an error up in the sources: their number and kinds, the logs of file sources, Kafka positions, the
Delta table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from core.analysis.errors.error_location import normal_path
from core.analysis.errors.lookup_context import Looking, batch_evidence, number
from core.analysis.errors.model import Statement
from core.checkpoint.model import OffsetEntry
from core.checkpoint.progress import parsed
from core.checkpoint.source import Source
from core.sparklogs.compactible import compactible_log
from core.sparklogs.evidence import Evidence

_TOPIC_PARTITION = re.compile(r"[\w.\-]{1,249}-\d{1,9}")
_SHOWN = 4


def look_sources(look: Looking) -> Iterator[Statement]:
    """How many sources the newest offset entry has, and of which kinds."""
    newest = look.newest
    if newest is None:
        return
    kinds = {source.key: source.kind.label for source in look.ck.sources}
    count = len(newest.sources)
    shown = ", ".join(f"{line.key} {kinds.get(line.key, 'not known')}" for line in newest.sources[:_SHOWN])
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    in_log = number(look.value("in_log"))
    fits = None if in_log is None else in_log == count
    tail = (
        "" if fits is None else ", as the message says" if fits else f", and the message speaks of {in_log}"
    )
    yield Statement(
        f"{newest.evidence.path} has {count} source{'s' * (count != 1)}{tail}: {shown}{more}.",
        (Evidence(newest.evidence.path),),
    )


def look_source_logs(look: Looking) -> Iterator[Statement]:
    """Gaps and the end of each file source's log, against the entry that the error names and against the
    newest offset."""
    ck = look.ck
    newest = look.newest
    named = number(look.value("batch"))
    for source in ck.sources:
        if not source.kind.has_own_log or source.directory is None:
            continue
        chain = compactible_log(ck.door.list([source.directory])[source.directory])
        if chain.missing:
            yield Statement(
                f"{source.directory}/{chain.missing[0]} is missing in the middle of the log of source"
                f" {source.key}.",
                (Evidence(f"{source.directory}/{chain.missing[0]}"),),
                shows_fault=True,
            )
        wanted = _log_offset(newest, source)
        if wanted is not None and (chain.newest_id is None or chain.newest_id < wanted):
            end = "is empty" if chain.newest_id is None else f"ends with entry {chain.newest_id}"
            yield Statement(
                f"The log of source {source.key} {end}, and"
                f" {newest.evidence.path if newest else 'the offset'} needs entry {wanted}.",
                (Evidence(f"{source.directory}/{wanted}"), *([newest.evidence] if newest else [])),
                shows_fault=True,
            )
        elif named is not None and not chain.missing and chain.newest_id is not None:
            there = "is there" if named <= chain.newest_id else "is not there"
            yield Statement(
                f"Entry {named} of the log of source {source.key} {there}.",
                (Evidence(f"{source.directory}/{named}"),),
            )


def _log_offset(entry: OffsetEntry | None, source: Source) -> int | None:
    line = entry.source(source.key) if entry is not None else None
    offset = parsed(line.raw) if line is not None and line.raw is not None else None
    value = offset.get("logOffset") if isinstance(offset, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def look_files(look: Looking) -> Iterator[Statement]:
    """Which directories the files in the log of a file source come from."""
    for source in look.ck.sources:
        if not source.kind.has_own_log:
            continue
        entries = source.context.file_log
        directories = sorted({normal_path(entry.path).rpartition("/")[0] for entry in entries})
        if directories:
            more = f" and {len(directories) - 2} more directories" if len(directories) > 2 else ""
            yield Statement(
                f"Source {source.key} has read {len(entries):,} files, from"
                f" {' and '.join(directories[:2])}{more}.",
                (Evidence(source.directory or "sources"),),
            )


def look_kafka(look: Looking) -> Iterator[Statement]:
    """The positions of the partitions that the message names: where the committed batches end, and what the
    pending one is planned to read."""
    ck = look.ck
    last, pending = ck.last_committed_batch, ck.pending_batch
    names = _partitions(look)
    for source in ck.sources:
        if source.kind.asks != "broker":
            continue
        done = _positions(look, source, last)
        planned = _positions(look, source, pending)
        known = [name for name in names if name in done or name in planned]
        for name in known[:_SHOWN]:
            yield _position(look, name, done.get(name), planned.get(name))
        gone = [name for name in done if pending is not None and planned and name not in planned]
        lower = [name for name in planned if name in done and planned[name] < done[name]]
        if pending is not None and (gone or lower):
            what = (
                f"leaves out {', '.join(gone[:_SHOWN])}"
                if gone
                else f"ends below batch {last} in {', '.join(lower[:_SHOWN])}"
            )
            yield Statement(
                f"offsets/{pending} {what}: it was planned by a start that failed, and every start keeps that"
                " plan until the file is deleted.",
                (batch_evidence(ck, pending), *([batch_evidence(ck, last)] if last is not None else [])),
                "inferred",
                shows_fault=True,
            )
        if names and not known:
            topics = sorted({name.rpartition("-")[0] for name in done or planned})
            shown = ", ".join(topics[:_SHOWN]) or "none"
            yield Statement(
                f"The checkpoint has no position for {', '.join(names[:_SHOWN])}; source {source.key} reads:"
                f" {shown}.",
                (batch_evidence(ck, last if last is not None else pending or 0),),
            )
        elif not names:
            count = len(done or planned)
            yield Statement(
                f"Source {source.key} has positions for {count} partition{'s' * (count != 1)}.",
                (batch_evidence(ck, last if last is not None else pending or 0),),
            )


def _partitions(look: Looking) -> list[str]:
    text = look.value("topicPartition", "partitions") or ""
    return list(dict.fromkeys(_TOPIC_PARTITION.findall(text[:5_000])))


def _positions(look: Looking, source: Source, batch_id: int | None) -> Mapping[str, int]:
    entry = look.ck.offset(batch_id) if batch_id is not None else None
    line = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
    return source.kind.positions(parsed(line.raw)) if line is not None and line.raw is not None else {}


def _position(look: Looking, name: str, done: int | None, planned: int | None) -> Statement:
    ck = look.ck
    last, pending = ck.last_committed_batch, ck.pending_batch
    parts, evidence = [], []
    if done is not None and last is not None:
        parts.append(f"batch {last} (committed) ended at {done:,}")
        evidence.append(batch_evidence(ck, last))
    if planned is not None and pending is not None:
        parts.append(f"batch {pending} (not committed) is planned up to {planned:,}")
        evidence.append(batch_evidence(ck, pending))
    return Statement(f"{name}: {', '.join(parts)}.", tuple(evidence))


def look_delta(look: Looking) -> Iterator[Statement]:
    """The table and version of the newest two offsets of each Delta source, against the table id in the
    message."""
    ck = look.ck
    newest = look.newest
    if newest is None:
        return
    before = ck.previous_offset_id(newest.batch_id)
    previous = ck.offset(before) if before is not None else None
    named = look.value("oldTableId")
    for source in ck.sources:
        line = newest.source(source.key)
        offset = (
            parsed(line.raw)
            if source.kind.asks == "table" and line is not None and line.raw is not None
            else None
        )
        if not isinstance(offset, Mapping):
            continue
        table, version = offset.get("reservoirId"), offset.get("reservoirVersion")
        old = previous.source(source.key) if isinstance(previous, OffsetEntry) else None
        earlier = parsed(old.raw) if old is not None and old.raw is not None else None
        start = earlier.get("reservoirVersion") if isinstance(earlier, Mapping) else None
        needs = (
            f"; Spark asks for the log from version {start} on, where {previous.evidence.path} stands"
            if start is not None and isinstance(previous, OffsetEntry)
            else ""
        )
        yield Statement(
            f"Source {source.key} stands at version {version} of table {table}{needs}.", (newest.evidence,)
        )
        if named is not None and table is not None and named != table:
            yield Statement(
                f"The message speaks of table {named}, which is not the one in {newest.evidence.path}: it is"
                " from another checkpoint or source.",
                (newest.evidence,),
            )
