"""What an error means where its words, or the open checkpoint, tell which of several faults it is; the texts
are in ``core/messages/errors_particular.py``."""

from __future__ import annotations

from core.analysis.errors.model import Kind, Meaning, Recognised, meaning
from core.messages import errors_particular as texts

OF_CONTINUOUS: Meaning = meaning(
    texts.OF_CONTINUOUS, Kind(options=("change_query", "reset"), in_files=True, look=("mode", "forecast"))
)

_SCHEMA_OF_A_VARIABLE = Kind(
    options=("change_query", "reset", "full_refresh"), look=("operators", "pending", "version")
)
_TTL, _MAP = "StructField(ttlExpirationMs,LongType", "StructField(userKey,StructType"
_OF_VARIABLES: tuple[tuple[str, str, str, Meaning, Meaning], ...] = (
    (
        _TTL,
        "storedValueSchema",
        "newValueSchema",
        meaning(texts.TTL_ADDED, _SCHEMA_OF_A_VARIABLE),
        meaning(texts.TTL_REMOVED, _SCHEMA_OF_A_VARIABLE),
    ),
    (
        _MAP,
        "storedKeySchema",
        "newKeySchema",
        meaning(texts.BECAME_MAP, _SCHEMA_OF_A_VARIABLE),
        meaning(texts.WAS_MAP, _SCHEMA_OF_A_VARIABLE),
    ),
)
"""A column that Spark adds to the state of a variable of transformWithState; where the message has the schema
of the state and that of the query; what it means when only the query has it, and when only the state has."""

_ARGUMENT = meaning(
    texts.ARGUMENT_CHANGED, Kind(options=("change_query", "reset"), look=("pending", "version"))
)


def particular_of_words(main: Recognised) -> Meaning | None:
    """What the values in the message tell; None where they tell no more than the name."""
    values = main.parameters
    if main.name == "STATE_STORE_INVALID_CONFIG_AFTER_RESTART":
        return _ARGUMENT if values.get("configName") in ("outputMode", "timeMode") else None
    for column, stored, new, added, removed in _OF_VARIABLES:
        was, now = column in values.get(stored, ""), column in values.get(new, "")
        if stored in values and new in values and was != now:
            return added if now else removed
    return None
