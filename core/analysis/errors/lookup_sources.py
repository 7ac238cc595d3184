"""Looking an error up in the sources: their number and kinds, the logs of file sources, Kafka positions, the
Delta table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from core.analysis.errors.error_location import normal_path
from core.analysis.errors.lookup_context import Looking, batch_evidence, number
from core.analysis.errors.model import Statement
from core.checkpoint.model import OffsetEntry
from core.checkpoint.source import Source
from core.checkpoint.sources.forms import parsed
from core.messages import say
from core.messages.words import NOT_KNOWN
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
    shown = [
        say("errors_lookup.source_kind", key=line.key, label=kinds.get(line.key, NOT_KNOWN))
        for line in newest.sources
    ]
    path, in_log = newest.evidence.path, number(look.value("in_log"))
    if in_log is None:
        sentence = say("errors_lookup.sources", path=path, count=count, shown=shown)
    elif in_log == count:
        sentence = say("errors_lookup.sources_as_said", path=path, count=count, shown=shown)
    else:
        sentence = say("errors_lookup.sources_unlike_said", path=path, count=count, said=in_log, shown=shown)
    yield Statement(sentence, (Evidence(path),))


def look_source_logs(look: Looking) -> Iterator[Statement]:
    """Gaps and the end of each file source's log, against the entry that the error names and against the
    newest offset."""
    ck = look.ck
    newest = look.newest
    named = number(look.value("batch"))
    for source in ck.sources:
        if not source.kind.has_own_log or source.directory is None:
            continue
        chain = compactible_log(ck.door.list([source.directory], known_there=True)[source.directory])
        if chain.missing:
            yield Statement(
                say(
                    "errors_lookup.source_log_gap",
                    path=f"{source.directory}/{chain.missing[0]}",
                    key=source.key,
                ),
                (Evidence(f"{source.directory}/{chain.missing[0]}"),),
                shows_fault=True,
            )
        wanted = _log_offset(newest, source)
        if wanted is not None and (chain.newest_id is None or chain.newest_id < wanted):
            yield Statement(
                _short_log(source, chain.newest_id, newest, wanted),
                (Evidence(f"{source.directory}/{wanted}"), *([newest.evidence] if newest else [])),
                shows_fault=True,
            )
        elif named is not None and not chain.missing and chain.newest_id is not None:
            yield Statement(
                say(
                    "errors_lookup.source_log_entry"
                    if named <= chain.newest_id
                    else "errors_lookup.source_log_entry_missing",
                    entry=named,
                    key=source.key,
                ),
                (Evidence(f"{source.directory}/{named}"),),
            )


def _short_log(source: Source, last: int | None, newest: OffsetEntry | None, wanted: int) -> str:
    needs = newest.evidence.path if newest is not None else "offsets"
    if last is None:
        return say("errors_lookup.source_log_empty", key=source.key, needs=needs, wanted=wanted)
    return say("errors_lookup.source_log_short", key=source.key, last=last, needs=needs, wanted=wanted)


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
            yield Statement(
                say(
                    "errors_lookup.source_files",
                    key=source.key,
                    count=len(entries),
                    directories=directories,
                ),
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
            if gone:
                sentence = say("errors_lookup.plan_leaves_out", pending=pending, partitions=gone)
            else:
                sentence = say("errors_lookup.plan_is_lower", pending=pending, last=last, partitions=lower)
            yield Statement(
                sentence,
                (batch_evidence(ck, pending), *([batch_evidence(ck, last)] if last is not None else [])),
                "inferred",
                shows_fault=True,
            )
        if names and not known:
            topics = sorted({name.rpartition("-")[0] for name in done or planned})
            yield Statement(
                say("errors_lookup.no_position", partitions=names, key=source.key, topics=topics),
                (batch_evidence(ck, last if last is not None else pending or 0),),
            )
        elif not names:
            count = len(done or planned)
            yield Statement(
                say("errors_lookup.positions", key=source.key, count=count),
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
    evidence = []
    if done is not None and last is not None:
        evidence.append(batch_evidence(ck, last))
    if planned is not None and pending is not None:
        evidence.append(batch_evidence(ck, pending))
    if planned is None or pending is None:
        sentence = say("errors_lookup.position_committed", name=name, last=last, done=done)
    elif done is None or last is None:
        sentence = say("errors_lookup.position_planned", name=name, pending=pending, planned=planned)
    else:
        sentence = say(
            "errors_lookup.position_both", name=name, last=last, done=done, pending=pending, planned=planned
        )
    return Statement(sentence, tuple(evidence))


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
        if start is not None and isinstance(previous, OffsetEntry):
            sentence = say(
                "errors_lookup.delta_position_needs",
                key=source.key,
                version=version,
                table=table,
                start=start,
                path=previous.evidence.path,
            )
        else:
            sentence = say("errors_lookup.delta_position", key=source.key, version=version, table=table)
        yield Statement(sentence, (newest.evidence,))
        if named is not None and table is not None and named != table:
            yield Statement(
                say("errors_lookup.delta_other_table", named=named, path=newest.evidence.path),
                (newest.evidence,),
            )
