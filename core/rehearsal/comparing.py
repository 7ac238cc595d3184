"""What two queries gave on two copies, compared: rows of each batch, and the state after it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.state_rows import RowsQuestion, read_rows, row_choices
from core.errors import CheckpointExplorerError
from core.messages import say
from core.rehearsal.model import Against, Compared, Example, QueryRun
from core.storage import Door

MOST_ROWS = 200_000
"""Rows of one batch or one store of which each is compared; of more only the numbers are."""
MOST_EXAMPLES = 20
_Row = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Side:
    """One query: what it did, the rows it wrote as JSON lines per batch, and its copy of the checkpoint."""

    run: QueryRun
    rows: Path
    checkpoint: Path


def compare_runs(old: Side, new: Side, keys: tuple[str, ...], door: Door) -> Against:
    """The differences. ``keys``: columns of the state's key, by which output rows are paired where both
    have them. ``door``: of the original, for its settings."""
    examples: list[Example] = []
    trouble: list[str] = []
    output = _outputs(old, new, keys, examples, trouble)
    state = _states(old, new, door, examples, trouble)
    return Against(
        old=old.run,
        output=tuple(output),
        state=tuple(state),
        examples=tuple(examples[:MOST_EXAMPLES]),
        input_differs=_input_differs(old.run, new.run),
        not_compared=tuple(trouble),
    )


def _input_differs(old: QueryRun, new: QueryRun) -> tuple[int, ...]:
    """Batches that both completed and whose input was not the same."""
    ends = {batch.id: (batch.input_rows, sorted(map(str, batch.ends))) for batch in old.batches}
    return tuple(
        batch.id
        for batch in new.batches
        if batch.id in ends and ends[batch.id] != (batch.input_rows, sorted(map(str, batch.ends)))
    )


# ---------------------------------------------------------------- the output


def _outputs(
    old: Side, new: Side, keys: tuple[str, ...], examples: list[Example], trouble: list[str]
) -> list[Compared]:
    numbers = sorted({batch.id for side in (old, new) for batch in side.run.batches})
    both = [name for name in old.run.columns if name in new.run.columns]
    columns = [name for name in both if name in keys]
    found = []
    for number in numbers:
        counts = [_count(side.run, number) for side in (old, new)]
        if max(counts) > MOST_ROWS:
            trouble.append(say("rehearse.batch_too_large", batch=number, rows=max(counts), most=MOST_ROWS))
            continue
        rows = [_read(side.rows / f"{number}.jsonl") for side in (old, new)]
        paired_by = columns or _same_columns(both, rows[0], rows[1])
        pairs = [[({c: row.get(c) for c in paired_by}, row) for row in side] for side in rows]
        only = _differences(pairs[0], pairs[1], "output", number, None, examples)
        found.append(Compared(number, None, counts[0], counts[1], *only))
    return found


def _same_columns(names: list[str], old: list[dict[str, Json]], new: list[dict[str, Json]]) -> list[str]:
    """The columns that have the same values in both, which rows are paired by where no key is known."""

    def values(rows: list[dict[str, Json]], name: str) -> Counter[str]:
        return Counter(json.dumps(row.get(name), sort_keys=True) for row in rows)

    return [name for name in names if values(old, name) == values(new, name)]


def _count(run: QueryRun, number: int) -> int:
    return next((batch.output_rows or 0 for batch in run.batches if batch.id == number), 0)


def _read(place: Path) -> list[dict[str, Json]]:
    if not place.is_file():
        return []
    with place.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# ---------------------------------------------------------------- the state


def _states(old: Side, new: Side, door: Door, examples: list[Example], trouble: list[str]) -> list[Compared]:
    both = {batch.id for batch in old.run.batches} & {batch.id for batch in new.run.batches}
    if not both:
        return []
    number, found = max(both), []
    sides: list[dict[str, list[tuple[_Row, _Row]] | None]] = []
    for side in (old, new):
        try:
            sides.append(_state_rows(side.checkpoint, number, door, trouble))
        except CheckpointExplorerError as error:
            trouble.append(say("rehearse.state_not_read", reason=error))
            return []
    for place in sorted(sides[0].keys() | sides[1].keys()):
        before, after = sides[0].get(place, []), sides[1].get(place, [])
        if before is None or after is None:
            continue
        only = _differences(before, after, "state", number, place, examples)
        found.append(Compared(number, place, len(before), len(after), *only))
    return found


def _state_rows(
    checkpoint: Path, number: int, door: Door, trouble: list[str]
) -> dict[str, list[tuple[_Row, _Row]] | None]:
    """Rows by store ("operator 0, default"); None for a store that was not read."""
    ck = Checkpoint.open(str(checkpoint), door.settings)
    found: dict[str, list[tuple[_Row, _Row]] | None] = {}
    for operator in state_inventory(ck).operators if ck.has_state else ():
        for name, choice in row_choices(ck, operator).items():
            place = f"{operator.operator_id}/{name}"
            question = RowsQuestion(
                batch_id=number,
                operator_id=operator.operator_id,
                store=choice.store,
                side=choice.side,
                variable=choice.variable,
                is_timers=choice.is_timers,
                limit=MOST_ROWS,
            )
            try:
                answer = read_rows(ck, question)
            except CheckpointExplorerError as error:
                trouble.append(say("rehearse.store_not_read", place=place, reason=error))
                found[place] = None
                continue
            if answer.is_truncated or answer.not_read:
                trouble.append(say("rehearse.store_too_large", place=place, most=MOST_ROWS))
                found[place] = None
                continue
            found[place] = [
                (row.key, row.value if isinstance(row.value, dict) else {"value": row.value})
                for row in answer.rows
            ]
    return found


# ---------------------------------------------------------------- the difference


def _differences(
    old: Iterable[tuple[_Row, _Row]],
    new: Iterable[tuple[_Row, _Row]],
    where: Literal["output", "state"],
    batch: int,
    place: str | None,
    examples: list[Example],
) -> tuple[int, int]:
    """How many rows only the old and only the new query gave; some of them become examples, those with the
    same key in one."""
    counts = [Counter(_text(pair) for pair in side) for side in (old, new)]
    only = [sorted((counts[0] - counts[1]).elements()), sorted((counts[1] - counts[0]).elements())]
    shown = [[_pair(text) for text in side] for side in only]
    by_key: list[dict[str, _Row]] = [{json.dumps(key): row for key, row in side} for side in shown]
    is_unique = all(len(keys) == len(side) for keys, side in zip(by_key, shown, strict=True))
    has_keys = any(key for side in shown for key, _ in side)
    if has_keys and is_unique:
        for text in sorted(by_key[0].keys() | by_key[1].keys()):
            before, after = by_key[0].get(text), by_key[1].get(text)
            columns = {**(before or {}), **(after or {})}
            differs = tuple(c for c in columns if _value(before, c) != _value(after, c))
            examples.append(Example(where, batch, place, json.loads(text), before, after, differs))
            if len(examples) >= MOST_EXAMPLES:
                break
    else:
        for at, side in enumerate(shown):
            for key, row in side[: MOST_EXAMPLES // 2]:
                before, after = (row, None) if at == 0 else (None, row)
                examples.append(Example(where, batch, place, key, before, after, tuple(row)))
    return len(only[0]), len(only[1])


def _value(row: _Row | None, column: str) -> tuple[bool, Json]:
    """The value of a column, and whether there is one."""
    return (row is not None and column in row), (row or {}).get(column)


def _text(pair: tuple[_Row, _Row]) -> str:
    return json.dumps(pair, sort_keys=True, default=str)


def _pair(text: str) -> tuple[_Row, _Row]:
    key, row = json.loads(text)
    return key, row
