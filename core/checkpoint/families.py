"""What the rows of a store with column families are: which families are added up, and which of them hold a
whole list in each row."""

from __future__ import annotations

from core.checkpoint.model import OperatorState
from core.checkpoint.operator_metadata import OperatorMetadata, parse_operator_metadata

# Families of joins that Spark keeps for itself: counters and a second order of the same rows.
_INTERNAL = ("keyToNumValues", "tsWithKey")
# Join state format 4 keeps the rows of one key and event time together.
_LIST = "ListState"
_LISTS_OF_JOINS = ("keyWithTsToValues",)


def counted_families(operator: OperatorState) -> tuple[str, ...]:
    """The column families whose rows are counted together, by name; none for a store without families.

    Spark's own (``$...``, counters) are no part of a count: Spark records them apart.
    """
    own = (name for name in operator.column_families if name != "default")
    return tuple(name for name in own if not name.startswith("$") and not name.endswith(_INTERNAL))


def list_families(operator: OperatorState) -> tuple[str, ...]:
    """Those of them in which one row is a list, however long: list variables of transformWithState, and the
    values of a join in state format 4 (seen with Spark 4.2 and 4.3; Spark's own numRowsTotal counts them so
    too)."""
    variables = {name for name, kind in state_variables(operator).items() if kind == _LIST}
    return tuple(
        name for name in counted_families(operator) if name in variables or name.endswith(_LISTS_OF_JOINS)
    )


def state_variables(operator: OperatorState) -> dict[str, str]:
    """Name -> type (``ValueState``, ``ListState``, ...) of what transformWithState keeps, by the operator's
    metadata; none for other operators."""
    metadata = metadata_of(operator)
    listed = metadata.properties.get("stateVariables") if metadata is not None else None
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return {str(item.get("stateName")): str(item.get("stateVariableType")) for item in items}


def metadata_of(operator: OperatorState) -> OperatorMetadata | None:
    """What Spark noted about the operator; None where there is nothing that can be read."""
    raw = operator.metadata_raw
    found = parse_operator_metadata(raw.encode(), "") if raw is not None else None
    return found if isinstance(found, OperatorMetadata) else None
