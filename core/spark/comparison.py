"""Whether Spark read as many rows as the files record.

Spark's state reader leaves out the rows of a damaged block of an ``.sst`` file without an error (observed
with Spark 4.3: 9 of 21 flipped bits). So no answer is shown before every partition was counted by both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.checkpoint import Checkpoint
from core.checkpoint.conf import ROW_CHECKSUM_KEY
from core.checkpoint.families import counted_families, list_families
from core.checkpoint.model import OperatorState
from core.checkpoint.state import committed_ids
from core.checkpoint.state_content.counts import PartitionCount, count_keys
from core.checkpoint.state_names import DEFAULT_STORE
from core.errors import RowsDiffer
from core.messages import Sentence, say
from core.spark.question import ROWS_OF_SIDE, ROWS_WITH_TIME, StateQuestion

_TIMERS = "Timers_keyToTimestamp"

Counts = Mapping[int, int]
# Of each column family of a partition: its rows with every element of a list counted, and its keys.
Families = Mapping[int, Mapping[str, Sequence[int]]]
_ROWS, _KEYS = 0, 1


def has_families(operator: OperatorState) -> bool:
    """Whether the rows that the files count are those of several column families together, so that Spark has
    to count these too."""
    return bool(counted_families(operator))


def recorded_rows(
    ck: Checkpoint, operator: OperatorState, question: StateQuestion
) -> tuple[PartitionCount, ...] | None:
    """What the files say of the store that is asked for, by partition; None where they record no number:
    changes, and one partition of a store with column families. Raises StorageError when they cannot be read
    at all."""
    if question.changes is not None or question.metadata:
        return None
    if question.snapshot is not None and has_families(operator):
        return None  # Spark counts its column families over all partitions only
    counted = count_keys(
        ck.door,
        operator,
        question.batch_id + 1,
        committed_ids(ck),
        replay=True,
        with_rows=False,  # Spark may be asked because there are too many for this machine
        has_row_checksums=ck.conf.get(ROW_CHECKSUM_KEY) == "true",
    )
    store = question.store or DEFAULT_STORE
    if has_families(operator):
        store = DEFAULT_STORE
    elif question.side is not None:
        store = f"{question.side}-{ROWS_OF_SIDE}"
    found = counted.get(store, ())
    if question.snapshot is not None:
        found = tuple(count for count in found if count.partition_id == question.snapshot[1])
    return found


def compare(
    operator: OperatorState,
    question: StateQuestion,
    recorded: Sequence[PartitionCount],
    read: Counts,
    families: Families,
) -> dict[int, str]:
    """Per partition how the number was known that Spark's is equal to. Raises RowsDiffer with the partitions
    where it is not."""
    own = counted_families(operator)
    parts: dict[int, Sentence] = {}
    how: dict[int, str] = {}
    known = {count.partition_id: count for count in recorded}
    for partition_id in sorted(known.keys() | read.keys() | families.keys()):
        count = known.get(partition_id)
        rows = read.get(partition_id, 0)
        if own:
            inside = families.get(partition_id, {})
            alone = _family(operator, question)
            stored = rows if alone is None else _sum(inside, *alone)
            if stored != rows:
                parts[partition_id] = say(
                    "spark.rows_differ_part", partition_id=partition_id, recorded=stored, read=rows
                )
            rows = _sum(inside, own, _KEYS)
        if count is None:
            parts.setdefault(
                partition_id, say("spark.rows_differ_part", partition_id=partition_id, recorded=0, read=rows)
            )
            continue
        how[partition_id] = count.count.how
        if (wrong := _difference(count, rows, bool(own))) is not None:
            parts.setdefault(partition_id, wrong)
    if parts:
        raise RowsDiffer(say("spark.rows_differ", parts=list(parts.values())), tuple(parts))
    return how


def _difference(count: PartitionCount, rows: int, is_sum: bool) -> Sentence | None:
    fewest, most = count.count.at_least, count.count.at_most
    if (fewest is None or rows >= fewest) and (most is None or rows <= most):
        return None
    number = count.partition_id
    recorded = count.count.keys
    if recorded is not None and is_sum:
        return say("spark.families_differ", partition_id=number, recorded=recorded, read=rows)
    if recorded is not None:
        return say("spark.rows_differ_part", partition_id=number, recorded=recorded, read=rows)
    return say("spark.rows_differ_bounds", partition_id=number, at_least=fewest, at_most=most or 0, read=rows)


def _family(operator: OperatorState, question: StateQuestion) -> tuple[tuple[str, ...], int] | None:
    """The column families that hold the rows of the answer, and whether these are their rows or their keys;
    None where neither is so."""
    families = operator.column_families
    if question.timers:
        return tuple(name for name in families if name.endswith(_TIMERS)), _ROWS
    if question.variable is not None:
        if question.is_flat:
            return (question.variable,), _ROWS
        return ((question.variable,), _KEYS) if question.variable in list_families(operator) else None
    name = question.store
    if question.side is not None:
        ends = (ROWS_OF_SIDE, ROWS_WITH_TIME)
        name = next((f for f in families if f.startswith(question.side) and f.endswith(ends)), None)
    return ((name,), _ROWS) if name in families else None


def _sum(inside: Mapping[str, Sequence[int]], names: Sequence[str], which: int) -> int:
    return sum(inside[name][which] for name in names if name in inside)
