"""``python -m core state``: rows per partition, without a JVM."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.counts import PartitionCount, count_keys
from core.documents.state import StorePart, state_document, store_part
from core.errors import UsageError
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean, size, table

ROW_CHECKSUM_KEY = "spark.sql.streaming.stateStore.rowChecksum.enabled"
SHOWN = 20  # partitions in the text; the JSON has all


def add_arguments(parser: ArgumentParser) -> None:
    """What ``state`` takes beside the location."""
    parser.add_argument(
        "--batch", type=int, metavar="N", help="the state after this batch (default: the last committed one)"
    )
    parser.add_argument(
        "--replay",
        action="store_true",
        help="also count where the files record no number (reads deltas and changelogs)",
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """Counts the rows of every store."""
    ck = Checkpoint.open(args.location, settings)
    batch_id = _batch(ck, args.batch)
    version = batch_id + 1
    ck.load([batch_id])
    operators = state_inventory(ck).operators if ck.has_state else ()
    has_row_checksums = ck.conf.get(ROW_CHECKSUM_KEY) == "true"
    counted = [
        (
            operator,
            count_keys(
                ck.door,
                operator,
                version,
                committed_ids(ck),
                replay=args.replay,
                has_row_checksums=has_row_checksums,
            ),
        )
        for operator in operators
    ]
    lines: list[str] = []
    for operator, stores in counted:
        for name, partitions in stores.items():
            lines += ["", *_text(operator, store_part(name, partitions), partitions, args.replay)]
    head = (
        f"State version {version}, after batch {batch_id}."
        if operators
        else f"No state after batch {batch_id}: the query is stateless."
    )
    return Answer(state_document(ck, batch_id, counted), "\n".join([head, *lines]) + "\n")


def _batch(ck: Checkpoint, asked: int | None) -> int:
    newest = ck.last_committed_batch
    if newest is None:
        raise UsageError("No batch is committed, so there is no state to count.")
    if asked is not None and asked not in ck.commit_files:
        raise UsageError(
            f"Batch {asked} is not committed here; the commit log holds {ck.commit_ids[0]} to {newest}."
        )
    return newest if asked is None else asked


def _text(
    operator: OperatorState, store: StorePart, partitions: Sequence[PartitionCount], replayed: bool
) -> list[str]:
    total = store.keys_total
    unknown = sum(p.count.keys is None for p in partitions)
    rows = (
        f"{total:,} rows"
        if total is not None
        else f"rows unknown in {unknown:,} of {len(partitions):,} partitions"
    )
    hint = " (--replay counts them)" if unknown and not replayed else ""
    lines = [
        f"operator {operator.operator_id} ({clean(operator.name or 'unknown', 60)}), store"
        f" {clean(store.name, 60)}: {rows}{hint}"
    ]
    heaviest = sorted(
        partitions, key=lambda p: (-(p.count.at_least or 0), -(p.size_bytes or 0), p.partition_id)
    )
    lines += table(
        ("partition", "rows", "how", "bytes", "files"),
        [
            (str(p.partition_id), _rows(p), p.count.how, size(p.size_bytes), f"{p.file_count:,}")
            for p in heaviest[:SHOWN]
        ],
    )
    if len(heaviest) > SHOWN:
        lines.append(f"  and {len(heaviest) - SHOWN:,} partitions with fewer")
    return lines


def _rows(partition: PartitionCount) -> str:
    count = partition.count
    if count.keys is not None:
        return f"{count.keys:,}"
    if count.at_least is None:
        return "?"
    return (
        f"{count.at_least:,} to {count.at_most:,}"
        if count.at_most is not None
        else f"{count.at_least:,} or more"
    )


VERB = Verb("state", "rows per partition, without a JVM", add_arguments, run)
