"""What each kind of sink does with a batch that it receives a second time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from core.analysis.forecast.model import SinkKind

Behaviour = Literal["append", "overwrite", "batch_number_aware"]
BEHAVIOUR_IDS: tuple[Behaviour, ...] = ("append", "overwrite", "batch_number_aware")

SINK_BEHAVIOUR: Mapping[str, Behaviour] = MappingProxyType(
    {
        "delta": "batch_number_aware",
        "file": "batch_number_aware",
        "foreach_txn": "batch_number_aware",
        "kafka": "append",
        "foreach_append": "append",
        "foreach_merge": "overwrite",
        "lakeflow_table": "append",
        "other": "append",
    }
)
"""By the public answer ``sink``."""

KIND_OF: Mapping[Behaviour, SinkKind] = MappingProxyType(
    {"append": "append", "overwrite": "overwrite", "batch_number_aware": "skip"}
)
"""The kind of sink whose rows a forecast speaks about."""

EXAMPLES: Mapping[Behaviour, str] = MappingProxyType(
    {"append": "foreach_append", "overwrite": "foreach_merge", "batch_number_aware": "file"}
)
"""The sink that stands for a behaviour as long as the question is not answered."""

NUMBERED_SINKS = frozenset({"file", "foreach_txn"})
"""They skip a batch ID they have committed: the file sink for any query, the other for the same txnAppId.
The built-in Delta sink does so for the same query id."""

FOREACH = ("foreach_append", "foreach_merge", "foreach_txn", "other")
"""Sinks that the user's own ``write_batch`` writes."""
