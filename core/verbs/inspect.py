"""``python -m core inspect``: the facts of a checkpoint."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from tempfile import TemporaryFile

from core.checkpoint import Checkpoint
from core.checkpoint.execution_mode import Execution, execution_of
from core.checkpoint.model import CommitEntry, OffsetEntry, StateInventory
from core.documents.inspect import inspect_document, spool_batches, state_of, state_problems
from core.messages import say, words
from core.settings import Settings
from core.storage.evidence_manifest import Manifest
from core.verbs import PIECE_BYTES, Answer, LongField, Verb
from core.verbs._text import clean, table

LONG_LOG = 1_000  # batches of more are written as they are read
SHOWN_BATCHES = 20  # of the text; the JSON has 100, and --all shows every batch in both


def add_arguments(parser: ArgumentParser) -> None:
    """What ``inspect`` takes beside the location."""
    parser.add_argument("--all", action="store_true", dest="all_batches", help=say("cli.help_all"))


def run(args: Namespace, settings: Settings) -> Answer:
    """Reads the checkpoint. Problems are files that are there and cannot be understood."""
    long_field: LongField | None = None
    if args.all_batches:  # each file is read once
        settings = settings.model_copy(update={"content_cache_bytes": 0})
    ck = Checkpoint.open(args.location, settings)
    if args.all_batches and args.json and len(ck.offset_files) > LONG_LOG:
        items = TemporaryFile(buffering=PIECE_BYTES)  # noqa: SIM115
        long_field = LongField("batches", items)  # closed when it is written
        document = spool_batches(ck, items)
    else:
        document = inspect_document(ck, all_batches=args.all_batches)
    text = "" if args.json else "\n".join(_text(ck, args.all_batches)) + "\n"
    is_damaged = any(item.condition != "unreadable" for item in document.problems)
    return Answer(document, text, is_damaged, ck.not_read, long_field=long_field)


def _mode(execution: Execution) -> str:
    what = words.EXECUTION_MODES[execution.mode]
    certainty = words.CERTAINTY["inferred"]
    return say("cli.inferred", what=what, certainty=certainty, why=clean(execution.why, 400))


def _text(ck: Checkpoint, all_batches: bool) -> list[str]:
    tracking, writer, execution = ck.tracking, ck.written_by, execution_of(ck)
    state, refused = state_of(ck)
    version = say(
        "cli.inferred",
        what=_version(writer.at_least, writer.at_most),
        certainty=words.CERTAINTY[writer.certainty],
        why=clean(writer.why, 400),
    )
    progress = say(
        "cli.inferred",
        what="asynchronous" if tracking.mode == "async" else "synchronous",
        certainty=words.CERTAINTY[tracking.certainty],
        why=clean(tracking.why, 400),
    )
    lines = [
        f"Checkpoint     {clean(ck.location.url)}",
        *([f"               {say('checkpoint.bare')}"] if ck.is_bare else []),
        f"Read at        {words.moment(ck.read_at_ms)}",
        *([f"               {_evidence(ck.door.evidence)}"] if ck.door.evidence is not None else []),
        f"Query id       {clean(ck.query_id or words.NOT_KNOWN)}",
        f"Written by     {version}",
        f"Offset log     {_log(ck.offset_ids, tracking.missing_offsets, tracking.missing_offset_count)}",
        f"Commit log     {_log(ck.commit_ids, tracking.missing_commits, tracking.missing_commit_count)}",
        f"Progress       {progress}",
        *([f"Mode           {_mode(execution)}"] if execution.writes_before_logging else []),
        f"Last committed {_none(ck.last_committed_batch)}",
        f"Pending        {_none(ck.pending_batch)}",
        "",
        *_sources(ck),
        *_operators(state),
        *_batches(ck, all_batches),
        *_conf(ck),
    ]
    leftovers = [*ck.leftovers, *(state.leftovers if state is not None else ())]
    if leftovers:
        lines += ["", say("cli.leftovers", count=len(leftovers))]
        lines += [f"  {clean(item.path)}  {item.kind}" for item in leftovers[:10]]
        lines += [f"  {say('cli.more', count=len(leftovers) - 10)}"] if len(leftovers) > 10 else []
    problems = [*ck.problems, *refused, *state_problems(state)]
    lines += ["", say("cli.problems", count=len(problems)) if problems else say("cli.no_problems")]
    return lines + [f"  {clean(item.reason, 400)}" for item in problems]


def _evidence(record: Manifest) -> str:
    return say("evidence.is_evidence", moment=record.moment_ms, location=clean(record.location))


def _none(batch_id: int | None) -> str:
    return say("cli.no_batch") if batch_id is None else say("cli.log_one", first=batch_id)


def _version(at_least: str | None, at_most: str | None) -> str:
    if at_least and at_most:
        return say("cli.version_between", at_least=at_least, at_most=at_most)
    if at_least:
        return say("cli.version_known", at_least=at_least)
    return say("cli.version_at_most", at_most=at_most) if at_most else say("cli.version_unknown")


def _log(present: tuple[int, ...], missing: tuple[int, ...], missing_count: int) -> str:
    if not present:
        return say("cli.no_batch")
    first, last = present[0], present[-1]
    log = (
        say("cli.log_one", first=first)
        if len(present) == 1
        else say("cli.log_many", count=len(present), first=first, last=last)
    )
    return say("cli.log_missing", log=log, count=missing_count, ids=missing) if missing_count else log


def _sources(ck: Checkpoint) -> list[str]:
    if not ck.sources:
        return [f"Sources        {say('cli.sources_none')}"]
    rows = [
        (clean(source.key), source.kind.label, str(source.partitions or "-"), clean(source.directory or "-"))
        for source in ck.sources
    ]
    return ["Sources", *table(("key", "kind", "partitions", "directory"), rows)]


def _operators(state: StateInventory | None) -> list[str]:
    if state is None:
        return []
    rows = []
    for operator in state.operators:
        restorable = operator.restorable
        rows.append(
            (
                str(operator.operator_id),
                clean(operator.name or "?"),
                str(len({partition.partition_id for partition in operator.partitions})),
                clean(", ".join(operator.stores)),
                operator.provider,
                words.size(operator.size_bytes),
                f"{operator.file_count:,}",
                f"{_number(restorable.newest_common_version)} / {_number(restorable.needed_version)}",
            )
        )
    header = (
        "id",
        "operator",
        "partitions",
        "stores",
        "provider",
        "size",
        "files",
        "version restorable / needed",
    )
    return ["", "Stateful operators", *table(header, rows)]


def _number(version: int | None) -> str:
    return "-" if version is None else str(version)


def _batches(ck: Checkpoint, all_batches: bool) -> list[str]:
    known = sorted({*ck.offset_ids, *ck.commit_ids})
    shown = known if all_batches else known[-SHOWN_BATCHES:]
    rows = []
    for batch_id in reversed(shown):
        offset, commit = ck.offset(batch_id), ck.commit(batch_id)
        entry = offset if isinstance(offset, OffsetEntry) else None
        rows.append(
            (
                str(batch_id),
                "committed" if batch_id in ck.commit_files else "not committed",
                _moment(entry.timestamp_ms if entry is not None else None),
                _watermark(entry.watermark_ms if entry is not None else None),
                _watermark(commit.next_watermark_ms if isinstance(commit, CommitEntry) else None),
                _advances(ck, batch_id, entry),
            )
        )
    title = (
        say("cli.batches_all")
        if len(shown) == len(known)
        else say("cli.batches_newest", shown=len(shown), count=len(known))
    )
    return (
        ["", title, *table(("batch", "status", "planned", "watermark", "next watermark", "advance"), rows)]
        if rows
        else []
    )


def _moment(epoch_ms: int | None) -> str:
    return "-" if epoch_ms is None else words.moment(epoch_ms)


def _watermark(watermark_ms: int | None) -> str:
    return "none yet" if watermark_ms == 0 else _moment(watermark_ms)


def _advances(ck: Checkpoint, batch_id: int, entry: OffsetEntry | None) -> str:
    if entry is None:
        is_there = batch_id in ck.offset_files
        return say("cli.offset_unreadable") if is_there else say("cli.offset_absent")
    texts = []
    for line in entry.sources:
        advance = ck.advance(batch_id, line.key)
        amount = (
            "?" if advance is None or advance.amount is None else words.amount(advance.amount, advance.unit)
        )
        texts.append(amount if len(entry.sources) == 1 else f"{clean(line.key)}: {amount}")
    return "; ".join(texts)


def _conf(ck: Checkpoint) -> list[str]:
    changes = ck.conf_changes()
    if not changes:
        return []
    lines = ["", say("cli.conf_changes", count=len(changes))]
    return lines + [
        f"  batch {c.batch_id}: {clean(c.key)} {clean(c.before)} -> {clean(c.after)}" for c in changes[-20:]
    ]


VERB = Verb("inspect", add_arguments, run)
