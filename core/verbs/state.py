"""``python -m core state``: rows per partition, without a JVM."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from core.checkpoint import Checkpoint
from core.checkpoint.asked import committed_batch
from core.checkpoint.conf import ROW_CHECKSUM_KEY
from core.checkpoint.model import CommitEntry, OffsetEntry, OperatorState
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.counts import PartitionCount, count_keys
from core.documents.state import StorePart, state_document, store_part
from core.messages import say, words
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean, table

NEEDED_BATCHES = 2  # whose log entries are read: settings of the newest, and the one that is counted
SHOWN = 20  # partitions in the text; the JSON has all


def add_arguments(parser: ArgumentParser) -> None:
    """What ``state`` takes beside the location."""
    parser.add_argument("--batch", type=int, metavar="N", help=say("cli.help_batch_state"))
    parser.add_argument(
        "--replay",
        action="store_true",
        help=say("cli.help_replay"),
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """Counts the rows of every store."""
    ck = Checkpoint.open(args.location, settings, newest=NEEDED_BATCHES)
    batch_id = committed_batch(ck, args.batch)
    version = batch_id + 1
    ck.load([batch_id])
    if _needs_more(ck):
        ck.load(ck.offset_ids[-settings.first_view_batches :])
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
            lines += ["", *_text(operator, store_part(operator, name, partitions), partitions, args.replay)]
    head = (
        say("cli.state_after", version=version, batch_id=batch_id)
        if operators
        else say("cli.stateless", batch_id=batch_id)
    )
    return Answer(
        state_document(ck, batch_id, counted), "\n".join([head, *lines]) + "\n", not_read=ck.not_read
    )


def _needs_more(ck: Checkpoint) -> bool:
    """Whether older log entries say which state files count: commits of state checkpoint format 2 name them
    (commit log v2 and later). So it is taken, too, where an entry cannot be read."""
    entries = [*map(ck.offset, ck.offset_ids[-1:]), *map(ck.commit, ck.commit_ids[-1:])]
    return not all(isinstance(entry, OffsetEntry | CommitEntry) for entry in entries) or any(
        isinstance(entry, CommitEntry) and entry.format_version > 1 for entry in entries
    )


def _text(
    operator: OperatorState, store: StorePart, partitions: Sequence[PartitionCount], replayed: bool
) -> list[str]:
    total = store.keys_total
    unknown = sum(p.count.keys is None for p in partitions)
    number, named = operator.operator_id, clean(operator.name or words.NOT_KNOWN, 60)
    name = clean(store.name, 60)
    if total is not None:
        head = say("cli.store_rows", operator=number, name=named, store=name, rows=total)
    else:
        head = say(
            "cli.store_unknown" if replayed else "cli.store_replay",
            operator=number,
            name=named,
            store=name,
            unknown=unknown,
            partitions=len(partitions),
        )
    lines: list[str] = [head]
    heaviest = sorted(
        partitions, key=lambda p: (-(p.count.at_least or 0), -(p.size_bytes or 0), p.partition_id)
    )
    lines += table(
        ("partition", "rows", "how", "bytes", "files"),
        [
            (str(p.partition_id), _rows(p), p.count.how, words.size(p.size_bytes), f"{p.file_count:,}")
            for p in heaviest[:SHOWN]
        ],
    )
    if len(heaviest) > SHOWN:
        lines.append(f"  {say('cli.partitions_left', count=len(heaviest) - SHOWN)}")
    if store.column_families:
        names = [clean(family, 60) for family in store.column_families]
        lines.append(f"  {say('cli.families_together', families=names)}")
    if store.lists:
        lists = [clean(name, 60) for name in store.lists]
        lines.append(
            "  " + say("cli.families_of_lists", families=lists)
            if store.elements_total is None
            else "  " + say("cli.elements_of_lists", families=lists, elements=store.elements_total)
        )
    return lines


def _rows(partition: PartitionCount) -> str:
    count = partition.count
    if count.keys is not None:
        return f"{count.keys:,}"
    if count.at_least is None:
        return "?"
    return (
        say("cli.rows_between", at_least=count.at_least, at_most=count.at_most)
        if count.at_most is not None
        else say("cli.rows_at_least", at_least=count.at_least)
    )


VERB = Verb("state", add_arguments, run)
