"""Words that several modules of the recovery share: sinks and how they treat a repeated batch, numbers,
lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from core.checkpoint.sources.base import Advance

Behaviour = Literal["append", "overwrite", "batch_number_aware"]
OptionId = Literal["full_refresh", "backup_and_backfill", "reset"]

OPTION_IDS: tuple[OptionId, ...] = ("full_refresh", "backup_and_backfill", "reset")
TITLES: Mapping[OptionId, str] = MappingProxyType(
    {
        "full_refresh": "Full table refresh",
        "backup_and_backfill": "Full refresh with backup and backfill",
        "reset": "Reset the checkpoint and continue incrementally",
    }
)

SINK_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "delta": "Delta table, written by the built-in sink",
        "file": "File sink (parquet, json, csv ... with _spark_metadata)",
        "kafka": "Kafka topic",
        "foreach_append": "foreachBatch that appends",
        "foreach_merge": "foreachBatch that merges or overwrites by key",
        "foreach_txn": "foreachBatch into Delta with txnAppId and txnVersion",
        "lakeflow_table": "Lakeflow pipeline table",
        "other": "Something else",
    }
)
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
BEHAVIOUR_LABELS: Mapping[Behaviour, str] = MappingProxyType(
    {
        "append": "A sink that appends all it gets",
        "overwrite": "A sink that overwrites (by key, or by batch id)",
        "batch_number_aware": "A sink that skips batch ids it has seen (file sink, Delta)",
    }
)


def listed(items: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    parts = list(items)
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else ""


def counted(number: int, noun: str) -> str:
    """``1 file``, ``12,000 files``. ``noun`` is the plural with an ending ``s``."""
    return f"{number:,} {noun[:-1] if number == 1 and noun.endswith('s') else noun}"


def amount(advance: Advance | None) -> str | None:
    """``at most 10 offsets``, ``3 files``; None when the number is not known."""
    if advance is None or advance.amount is None:
        return None
    least = {"exact": "", "at_most": "at most ", "estimate": "about "}[advance.bound]
    return least + counted(advance.amount, advance.unit)


def amounts(advances: Iterable[tuple[str, Advance | None]], several: bool) -> str | None:
    """The amounts of all sources in one phrase, None when none is known; ``several`` adds which source each
    belongs to."""
    parts = [(key, text) for key, advance in advances if (text := amount(advance)) is not None]
    if not parts:
        return None
    return listed(f"{text} of source {key}" for key, text in parts) if several else parts[0][1]


def size(number: int) -> str:
    """Bytes in binary units."""
    value, unit = float(number), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{number:,} bytes" if unit == "bytes" else f"{value:,.1f} {unit}"
