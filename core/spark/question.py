"""What can be asked of a state store through Spark, and the options of Spark's readers that ask it.

The options and what they refuse were observed with Spark 4.3.0. Its reader answers a wrong combination with
STDS_FAILED_TO_READ_STATE_SCHEMA, and often only after the scan has begun, so a combination that cannot work
is refused here, before anything is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.checkpoint.families import counted_families, list_families, state_variables
from core.checkpoint.model import OperatorState
from core.checkpoint.state_content.stores import CHANGES
from core.checkpoint.state_names import DEFAULT_STORE
from core.errors import UsageError
from core.messages import say

Side = Literal["left", "right"]

JOIN = "symmetricHashJoin"
SIDES: tuple[Side, ...] = ("left", "right")
ROWS_OF_SIDE, ROWS_WITH_TIME = "keyWithIndexToValue", "keyWithTsToValues"
SQL_VIEW = "state"
_TIMER_VARIABLE = "TimerState"
_KEPT_APART = "$"  # names of what Spark keeps for itself begin with it; its reader refuses them


@dataclass(frozen=True, slots=True)
class StateQuestion:
    """One question to the state of one operator after a batch.

    ``side``: of a join. ``variable``: of transformWithState; ``timers`` asks for its timers instead.
    ``partition``: only its rows. ``changes``: the first and the last batch of which to show what changed,
    in place of the rows after ``batch_id``, which is not before them. ``snapshot``: (first batch,
    partition): one partition, rebuilt from the full file of that batch and the changes that follow.
    ``is_flat``: one row for each element of a list or map variable. ``sql``: a query over the view
    ``state``, which holds what the rest of the question asks for. ``limit``: so many rows at most come
    back; the counts are of all rows. ``metadata``: not the rows but what Spark's ``state-metadata``
    reader says of all operators.
    """

    batch_id: int
    operator: int = 0
    store: str | None = None
    side: Side | None = None
    variable: str | None = None
    timers: bool = False
    partition: int | None = None
    changes: tuple[int, int] | None = None
    snapshot: tuple[int, int] | None = None
    is_flat: bool = True
    sql: str | None = None
    limit: int = 100
    metadata: bool = False


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """What Spark answered.

    ``columns``: (name, Spark's type). ``rows``: each a dictionary by column, as JSON of Spark's ``to_json``
    with nulls kept, times in UTC, and decimals as text. ``rows_per_partition``: of the store, side or
    variable that was asked for, before SQL and limit. ``rows_total``: their sum; with SQL the rows of the
    query, None when there are more than the limit. ``compared``: per partition how the files tell the number
    of rows that Spark's was found equal to (``recorded``, ``replayed``, ``bounds``); ``unknown`` where they
    tell none and nothing was compared.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Mapping[str, object], ...]
    rows_total: int | None
    is_truncated: bool
    rows_per_partition: Mapping[int, int] = field(default_factory=dict)
    compared: Mapping[int, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StateChoices:
    """What can be asked of one operator: each combination of these that :func:`reader_options` takes works.

    ``sides`` is empty for all but joins; ``variables`` for all but transformWithState, which needs one of
    them, or ``timers``. ``stores``: names that ``store`` takes; ``needs_side``: a join is asked by side or by
    store. ``has_changes``: whether the files hold what each batch changed.
    """

    stores: tuple[str, ...]
    sides: tuple[Side, ...]
    variables: tuple[str, ...]
    lists: tuple[str, ...]
    has_timers: bool
    has_changes: bool

    @property
    def needs_side(self) -> bool:
        """Whether the question has to name a side or a store."""
        return bool(self.sides)


def state_choices(operator: OperatorState) -> StateChoices:
    """What can be asked of an operator, by its metadata and files."""
    is_join = operator.name == JOIN
    families = counted_families(operator)
    states = state_variables(operator)
    variables = tuple(
        name for name, kind in states.items() if not name.startswith(_KEPT_APART) and kind != _TIMER_VARIABLE
    )
    stores = operator.stores
    if is_join and families:
        stores = tuple(name for name in operator.column_families if name != DEFAULT_STORE)
    return StateChoices(
        stores=() if variables else stores,
        sides=SIDES if is_join else (),
        variables=variables,
        lists=tuple(name for name in list_families(operator) if name in variables),
        has_timers=bool(variables) and _TIMER_VARIABLE in states.values(),
        has_changes=any(
            file.kind in CHANGES for partition in operator.partitions for file in partition.files
        ),
    )


def reader_options(operator: OperatorState, question: StateQuestion) -> dict[str, str]:
    """The options of ``format("statestore")`` that ask this. Raises UsageError for a question that cannot be
    asked of this operator, with what can be."""
    choices = state_choices(operator)
    _check_place(operator, question, choices)
    _check_time(operator, question, choices)
    options = {"operatorId": str(operator.operator_id)}
    if question.changes is None:
        options["batchId"] = str(question.batch_id)
    else:
        first, last = question.changes
        options |= {
            "readChangeFeed": "true",
            "changeStartBatchId": str(first),
            "changeEndBatchId": str(last),
        }
    if question.snapshot is not None:
        first, partition = question.snapshot
        options |= {"snapshotStartBatchId": str(first), "snapshotPartitionId": str(partition)}
    if question.side is not None:
        options["joinSide"] = question.side
    elif question.store not in (None, DEFAULT_STORE):
        options["storeName"] = str(question.store)
    if question.timers:
        options["readRegisteredTimers"] = "true"
    elif question.variable is not None:
        options["stateVarName"] = question.variable
        if not question.is_flat:
            options["flattenCollectionTypes"] = "false"
    return options


def writes_before_4_3(operator: OperatorState, question: StateQuestion) -> bool:
    """Whether the state reader of Spark 4.0 to 4.2 writes into the checkpoint for this question: for a side
    of a join it begins a delta in each HDFS-backed store, and deletes it at the end (4.2.0; not 4.3.0)."""
    return question.side is not None and operator.provider == "hdfs"


def _check_place(operator: OperatorState, question: StateQuestion, choices: StateChoices) -> None:
    number = operator.operator_id
    if choices.sides and question.side is None and question.store is None:
        raise UsageError(say("spark.needs_side", operator_id=number))
    if not choices.sides and question.side is not None:
        raise UsageError(say("spark.no_sides", operator_id=number))
    if question.side is not None and question.store is not None:
        raise UsageError(say("spark.side_and_store"))
    if choices.variables:
        if question.timers and question.variable is not None:
            raise UsageError(say("spark.timers_and_variable"))
        if question.timers and not choices.has_timers:
            raise UsageError(say("spark.no_timers", operator_id=number))
        if not question.timers and question.variable not in choices.variables:
            sentence = say("spark.needs_variable", operator_id=number, variables=choices.variables)
            raise UsageError(sentence)
        if question.store not in (None, DEFAULT_STORE):
            raise UsageError(say("spark.no_store", store=question.store, stores=[DEFAULT_STORE]))
    elif question.variable is not None or question.timers:
        raise UsageError(say("spark.no_variables", operator_id=number))
    elif question.store is not None and question.store not in choices.stores:
        raise UsageError(say("spark.no_store", store=question.store, stores=choices.stores))


def _check_time(operator: OperatorState, question: StateQuestion, choices: StateChoices) -> None:
    if question.limit < 1:
        raise UsageError(say("spark.limit"))
    if question.changes is not None:
        first, last = question.changes
        if question.side is not None:
            raise UsageError(say("spark.changes_of_side"))
        if question.timers or question.snapshot is not None:
            raise UsageError(say("spark.changes_alone"))
        if not choices.has_changes:
            raise UsageError(say("spark.no_changes", operator_id=operator.operator_id))
        if not 0 <= first <= last <= question.batch_id:
            sentence = say("spark.changes_order", first=first, last=last, batch_id=question.batch_id)
            raise UsageError(sentence)
    if question.snapshot is not None and not 0 <= question.snapshot[0] <= question.batch_id:
        raise UsageError(say("spark.snapshot_after", first=question.snapshot[0], batch_id=question.batch_id))
