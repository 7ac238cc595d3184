"""What the user says about the pipeline: the public answer ids of ``python -m core recover --set key=value``
and of the recovery page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from core.errors import AnswerError
from core.messages import say

RepairId = Literal[
    "repair_files", "rewind", "drop_state", "restore_backup", "backup", "skip_batch", "repartition"
]
"""Options that make a repaired copy of the checkpoint; ``core.recovery.repairs`` has one module for each."""
OptionId = Literal["restart", RepairId, "full_refresh", "backup_and_backfill", "reset"]
OPTION_IDS: tuple[OptionId, ...] = get_args(OptionId)
"""The recovery options, by their public ids."""

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "what_happened": (
            "crash",
            "query_changed",
            "damaged",
            "data_expired",
            "source_changed",
            "reprocess",
            "batch_fails",
        ),
        "source_complete": ("yes", "no", "unknown"),
        "sink": (
            "delta",
            "file",
            "kafka",
            "foreach_append",
            "foreach_merge",
            "foreach_txn",
            "lakeflow_table",
            "other",
        ),
        "stateful": ("unchanged", "changed", "removed", "added"),
        "platform": ("pyspark", "databricks", "lakeflow"),
        "output_mode": ("append", "update", "complete"),
    }
)
"""Answers with a fixed list of values."""

TEXTS = frozenset(
    {
        "query_file",
        "sink_path",
        "sink_format",
        "sink_servers",
        "sink_topic",
        "checkpoint_new",
        "backup_to",
        "trigger",
        "pipeline_id",
        "job_id",
        "flows",
        "host_env",
        "token_env",
        "backfill_keys",
        "backfill_sequence",
        "partition_by",
    }
)
"""Answers that are any text."""

NUMBERS = frozenset({"to_batch", "partitions"})
"""Answers that are a whole number."""
MOST_PARTITIONS = 2**31 - 1
"""Spark keeps the number of partitions in an int."""

_SOURCE = re.compile(
    r"source\.(?P<key>.+?)\.(?P<what>path|servers|topics|format|schema|option\.(?P<option>.+))", re.DOTALL
)
_SINK_OPTION = re.compile(r"sink\.option\.(?P<option>.+)", re.DOTALL)
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers given so far, by their public ids. An empty value counts as not answered.

    Raises :class:`AnswerError` for an unknown id and for a value that is not one of a fixed list.
    """

    values: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {}
        for key, value in self.values.items():
            if not isinstance(value, str):
                raise AnswerError(say("recovery.answer_not_text", key=key))
            if value == "":
                continue
            _check(key, value)
            kept[key] = value
        object.__setattr__(self, "values", MappingProxyType(kept))

    @classmethod
    def parse(cls, pairs: Iterable[str]) -> Answers:
        """From ``key=value`` texts; the value may hold further ``=``. Raises :class:`AnswerError`."""
        values: dict[str, str] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals:
                raise AnswerError(say("recovery.answer_without_value", pair=pair))
            values[key.strip()] = value
        return cls(values)

    def get(self, key: str) -> str | None:
        """The answer, None when it was not given."""
        return self.values.get(key)

    def source(self, key: str, what: str) -> str | None:
        """What was said about one source: ``path``, ``servers``, ``topics``, ``format`` or ``schema``."""
        return self.values.get(f"source.{key}.{what}")

    def source_options(self, key: str) -> dict[str, str]:
        """The reader options given for one source."""
        prefix = f"source.{key}.option."
        return {name[len(prefix) :]: value for name, value in self.values.items() if name.startswith(prefix)}

    def sink_options(self) -> dict[str, str]:
        """The writer options given for the sink."""
        prefix = "sink.option."
        return {name[len(prefix) :]: value for name, value in self.values.items() if name.startswith(prefix)}

    def having(self, **more: str) -> Answers:
        """These answers and some more."""
        return Answers({**self.values, **more})


def _check(key: str, value: str) -> None:
    if key in CHOICES:
        if value not in CHOICES[key]:
            choices = ", ".join(CHOICES[key])
            raise AnswerError(say("recovery.answer_not_a_choice", key=key, choices=choices, value=value))
        return
    if key in NUMBERS:
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            raise AnswerError(
                say(
                    "recovery.answer_partitions" if key == "partitions" else "recovery.answer_batch",
                    key=key,
                    value=value,
                )
            )
        if key == "partitions" and not 1 <= int(value) <= MOST_PARTITIONS:
            raise AnswerError(say("recovery.answer_partitions", key=key, value=value))
        return
    if key in ("host_env", "token_env") and not _ENVIRONMENT_NAME.fullmatch(value):
        raise AnswerError(say("recovery.answer_environment", key=key))
    if key == "trigger" and value != "available_now":
        raise AnswerError(say("recovery.answer_trigger"))
    if key not in TEXTS and not _SOURCE.fullmatch(key) and not _SINK_OPTION.fullmatch(key):
        known = ", ".join([*CHOICES, *sorted(TEXTS | NUMBERS)])
        raise AnswerError(say("recovery.answer_unknown", key=key, known=known))
    option = _SOURCE.fullmatch(key) or _SINK_OPTION.fullmatch(key)
    name = option.groupdict().get("option") if option else None
    if name is not None and is_secret(name) and not _ENVIRONMENT_NAME.fullmatch(value):
        raise AnswerError(say("recovery.answer_secret", option=name))


def is_secret(option: str) -> bool:
    """Whether a reader or writer option of this name holds a secret; its answer is then the name of an
    environment variable."""
    lowered = option.lower()
    return any(
        word in lowered
        for word in (
            "password",
            "secret",
            "token",
            "jaas",
            "credential",
            "accesskey",
            "access.key",
            "sas.key",
        )
    )
