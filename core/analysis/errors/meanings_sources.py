"""What the errors of other connectors mean: Event Hubs, Kinesis, Auto Loader. What to look at and which
options fit; the texts are in ``core/messages/errors_sources.py``."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import GENERAL, Kind, Meaning, meanings
from core.messages.errors_sources import TEXTS

SOURCES: Mapping[str, Meaning] = meanings(
    TEXTS,
    {
        "EVENT_HUBS_POSITION": Kind(
            options=("reset", "backup_and_backfill", "restart"), look=("kafka", "pending")
        ),
        "KINESIS_SHARD_LOG_MISSING": Kind(options=("restore", "reset"), look=("sources", "pending")),
        "AUTO_LOADER_NEW_FIELDS": Kind(options=("restart",), look=("pending",)),
        "AUTO_LOADER_OPTION": Kind(options=("change_query",)),
        "AUTO_LOADER": Kind(
            options=("restart", "restore", "reset"), weight=GENERAL, look=("sources", "pending")
        ),
    },
)
