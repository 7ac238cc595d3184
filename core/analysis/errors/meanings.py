"""What each error means: the tables of the other modules under one roof."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from core.analysis.errors.known_texts import AUTO_LOADER_PREFIX, PLAIN
from core.analysis.errors.meanings_code import CODE, UNSEEN
from core.analysis.errors.meanings_files import FILES
from core.analysis.errors.meanings_kafka import KAFKA_ERRORS
from core.analysis.errors.meanings_logs import LOGS
from core.analysis.errors.meanings_sources import SOURCES
from core.analysis.errors.meanings_state import STATE
from core.analysis.errors.meanings_tables import TABLES
from core.analysis.errors.model import GENERAL, Kind, Meaning, meaning
from core.analysis.findings.catalogue import action_of as action_of_finding
from core.messages.errors_code import OTHER
from core.messages.errors_lookup import OPTIONS
from core.messages.recovery import TITLES

# Conditions of Spark that have a number for a name are told by a name of this tool.
LEGACY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "_LEGACY_ERROR_TEMP_2207": "MULTIPLE_QUERIES_USE_CHECKPOINT",
        "_LEGACY_ERROR_TEMP_2263": "CHECKPOINT_PATH_ESCAPED",
        "_LEGACY_ERROR_TEMP_2200": "SINK_LOG_PATH_ESCAPED",
        "_LEGACY_ERROR_TEMP_1299": "NO_RECOVERY_FROM_CHECKPOINT",
    }
)

# What can be done, by the id that links and the command line carry.
OPTION_TITLES: Mapping[str, str] = MappingProxyType({**OPTIONS, **TITLES})


def _unseen() -> dict[str, Meaning]:
    return {
        name: Meaning(
            group.text.means,
            (),
            group.text.action,
            group.options,
            weight=GENERAL,
            unseen=group.text.unseen,
            look=("pending",),
        )
        for group in UNSEEN
        for name in group.ids
    }


# Names of the same fault.
ALIKE: Mapping[str, str] = MappingProxyType(
    {
        "AUTOCDC_MICROBATCH_VALIDATION.NON_ORDERABLE_SEQUENCE": "AUTOCDC_MICROBATCH_VALIDATION",
        "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY": "AUTOCDC_MICROBATCH_VALIDATION",
        "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE": "AUTOCDC_MICROBATCH_VALIDATION",
        "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER.ERROR_LOADING_CLASS": "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER",
        "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER.UNCATEGORIZED": "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER",
        "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT": "CANNOT_WRITE_STATE_STORE",
        "CF_METADATA_FILE_CONCURRENTLY_USED": "MULTIPLE_QUERIES_USE_CHECKPOINT",
        "DELTA_FILE_NOT_FOUND_DETAILED": "FAILED_READ_FILE.FILE_NOT_EXIST",
        "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION": "DELTA_INVALID_SOURCE_OFFSET_FORMAT",
        "DELTA_INVALID_SOURCE_VERSION": "DELTA_INVALID_SOURCE_OFFSET_FORMAT",
        "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS": "DELTA_SCHEMA_CHANGED",
        "DELTA_SCHEMA_CHANGED_WITH_VERSION": "DELTA_SCHEMA_CHANGED",
        "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG": (
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE"
        ),
        "DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART": "DELTA_SCHEMA_CHANGED",
        "INVALID_CONF_VALUE.REQUIREMENT": "PINNED_SETTING_REFUSED",
        "INVALID_CONF_VALUE.TYPE_MISMATCH": "PINNED_SETTING_REFUSED",
        "FAILED_READ_FILE.DBR_FILE_NOT_EXIST": "FAILED_READ_FILE.FILE_NOT_EXIST",
        "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE.INVALID_OFFSET": (
            "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE"
        ),
        "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE.INVALID_TIMESTAMP": (
            "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE"
        ),
        "UNKNOWN_FIELD_EXCEPTION": "AUTO_LOADER_NEW_FIELDS",
        "UNKNOWN_FIELD_EXCEPTION.NEW_FIELDS_IN_FILE": "AUTO_LOADER_NEW_FIELDS",
        "UNKNOWN_FIELD_EXCEPTION.NEW_FIELDS_IN_RECORD_WITH_FILE_PATH": "AUTO_LOADER_NEW_FIELDS",
    }
)

# Handled: with reasons and what to look at in the checkpoint. NOT_IN_FILES: known, and why the files cannot
# show it.
_OWN = {**LOGS, **STATE, **KAFKA_ERRORS, **SOURCES, **TABLES, **FILES, **CODE}
HANDLED: Mapping[str, Meaning] = MappingProxyType(
    {**_OWN, **{name: _OWN[same] for name, same in ALIKE.items()}}
)
NOT_IN_FILES: Mapping[str, Meaning] = MappingProxyType(_unseen())

_WEIGHTS = {known.name: known.weight for known in PLAIN}
_OTHER = meaning(OTHER, Kind(("restart", "change_query"), weight=GENERAL, look=("pending",)))


def meaning_of(name: str) -> Meaning:
    """What the error with this name means. A sub-condition without an entry takes its parent's, anything else
    a general one."""
    known = LEGACY_NAMES.get(name, name)
    for key in (known, known.split(".")[0]):
        found = HANDLED.get(key) or NOT_IN_FILES.get(key)
        if found is not None:
            return found
    return HANDLED["AUTO_LOADER"] if known.startswith(AUTO_LOADER_PREFIX) else _OTHER


def is_known(name: str) -> bool:
    """Whether the error has an entry of its own."""
    known = LEGACY_NAMES.get(name, name)
    return known in HANDLED or known in NOT_IN_FILES


def weight_of(name: str) -> int:
    """How telling the error is."""
    return _WEIGHTS.get(name, meaning_of(name).weight)


def action_of(meaning: Meaning) -> str:
    """What to do: the entry's own words, else those of the finding about the same fault."""
    return meaning.action or (action_of_finding(meaning.finding) if meaning.finding is not None else "")
