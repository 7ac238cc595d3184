"""``python -m core inspect``: the facts of a checkpoint."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from core.checkpoint import Checkpoint
from core.checkpoint.model import CommitEntry, OffsetEntry, StateInventory
from core.documents.inspect import inspect_document, state_of
from core.messages.words import CERTAINTY
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean, ids, moment, size, table

SHOWN_BATCHES = 20  # of the text; the JSON has 100, and --all shows every batch in both


def add_arguments(parser: ArgumentParser) -> None:
    """What ``inspect`` takes beside the location."""
    parser.add_argument(
        "--all", action="store_true", dest="all_batches", help="every batch, not only the newest"
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """Reads the checkpoint. Problems are files that are there and cannot be understood."""
    ck = Checkpoint.open(args.location, settings)
    document = inspect_document(ck, all_batches=args.all_batches)
    return Answer(
        document, "\n".join(_text(ck, args.all_batches)) + "\n", has_problems=bool(document.problems)
    )


def _text(ck: Checkpoint, all_batches: bool) -> list[str]:
    tracking, writer = ck.tracking, ck.written_by
    state, refused = state_of(ck)
    version = f"at least {writer.at_least or '?'}" + (f", at most {writer.at_most}" if writer.at_most else "")
    lines = [
        f"Checkpoint     {clean(ck.location.url)}",
        f"Read at        {moment(ck.read_at_ms)}",
        f"Query id       {clean(ck.query_id) if ck.query_id else 'not known'}",
        f"Written by     Spark {version} (inferred: {clean(writer.why, 400)})",
        f"Offset log     {_log(ck.offset_ids, tracking.missing_offsets, tracking.missing_offset_count)}",
        f"Commit log     {_log(ck.commit_ids, tracking.missing_commits, tracking.missing_commit_count)}",
        (
            f"Progress       {'asynchronous' if tracking.mode == 'async' else 'synchronous'}"
            f" ({CERTAINTY[tracking.certainty]}: {tracking.why})"
        ),
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
        lines += ["", f"Leftovers ({len(leftovers)}; not part of the checkpoint)"]
        lines += [f"  {clean(item.path)}  {item.kind}" for item in leftovers[:10]]
        lines += [f"  and {len(leftovers) - 10} more"] if len(leftovers) > 10 else []
    problems = [
        *ck.problems,
        *refused,
        *(item for operator in (state.operators if state is not None else ()) for item in operator.problems),
    ]
    lines += (
        ["", f"Problems ({len(problems)})"]
        if problems
        else ["", "No problems found in the files that were read."]
    )
    return lines + [f"  {clean(item.reason, 400)}" for item in problems]


def _none(batch_id: int | None) -> str:
    return "none" if batch_id is None else f"batch {batch_id}"


def _log(present: tuple[int, ...], missing: tuple[int, ...], missing_count: int) -> str:
    if not present:
        return "no batch"
    text = (
        f"batch {present[0]}"
        if len(present) == 1
        else f"{len(present):,} batches, {present[0]} to {present[-1]}"
    )
    return text + (f"; missing {missing_count:,}: {ids(missing)}" if missing_count else "")


def _sources(ck: Checkpoint) -> list[str]:
    if not ck.sources:
        return ["Sources        none known"]
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
                size(operator.size_bytes),
                f"{operator.file_count:,}",
                f"{_version(restorable.newest_common_version)} / {_version(restorable.needed_version)}",
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


def _version(version: int | None) -> str:
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
                moment(entry.timestamp_ms if entry is not None else None),
                _watermark(entry.watermark_ms if entry is not None else None),
                _watermark(commit.next_watermark_ms if isinstance(commit, CommitEntry) else None),
                _advances(ck, batch_id, entry),
            )
        )
    title = (
        "Batches"
        if len(shown) == len(known)
        else f"Batches (newest {len(shown)} of {len(known):,}; --all shows every one)"
    )
    return (
        ["", title, *table(("batch", "status", "planned", "watermark", "next watermark", "advance"), rows)]
        if rows
        else []
    )


def _watermark(watermark_ms: int | None) -> str:
    return "none yet" if watermark_ms == 0 else moment(watermark_ms)


def _advances(ck: Checkpoint, batch_id: int, entry: OffsetEntry | None) -> str:
    if entry is None:
        return "offset file not readable" if batch_id in ck.offset_files else "no offset file"
    texts = []
    for line in entry.sources:
        advance = ck.advance(batch_id, line.key)
        amount = "?" if advance is None or advance.amount is None else _amount(advance.amount, advance.unit)
        texts.append(amount if len(entry.sources) == 1 else f"{clean(line.key)}: {amount}")
    return "; ".join(texts)


def _amount(amount: int, unit: str) -> str:
    return f"{amount:,} {unit[:-1] if amount == 1 and unit.endswith('s') else unit}"


def _conf(ck: Checkpoint) -> list[str]:
    changes = ck.conf_changes()
    if not changes:
        return []
    lines = ["", f"Pinned settings that changed ({len(changes)})"]
    return lines + [
        f"  batch {c.batch_id}: {clean(c.key)} {clean(c.before)} -> {clean(c.after)}" for c in changes[-20:]
    ]


VERB = Verb(
    "inspect", "the facts: batches, offsets, sources, operators, settings, leftovers", add_arguments, run
)
