"""The stateful operators of a query: names and stores in full, the rest as a table."""

from __future__ import annotations

from core.checkpoint.model import StateInventory
from core.messages import say, words
from ui import cards, tables


def show(inventory: StateInventory) -> None:
    """One row and one line per operator."""
    tables.table(as_columns(inventory), alt=say("screen_state.operators_table"), most=6)
    for operator in inventory.operators:
        name = operator.name or say("screen_state.name_not_known")
        if operator.name and operator.name_certainty != "certain":
            name = say("screen_state.name_inferred", name=name, certainty=operator.name_certainty)
        number, stores = operator.operator_id, operator.stores
        cards.text(say("screen_state.operator", operator=number, name=name, stores=stores), "small")


def as_columns(inventory: StateInventory) -> tables.Columns:
    """One row per stateful operator."""
    operators = inventory.operators
    return {
        "operator": [op.operator_id for op in operators],
        "provider": [f"{op.provider} ({op.provider_certainty})" for op in operators],
        "format": [f"v{op.format_version}" for op in operators],
        "partitions": [len({part.partition_id for part in op.partitions}) for op in operators],
        "size": [words.size(op.size_bytes) for op in operators],
        "files": [op.file_count for op in operators],
        "rebuilt up to version": [op.restorable.newest_common_version for op in operators],
    }
