"""Checkpoints of Kafka queries and answers of a broker, made by hand: what a judgement of both ends is tried
on without a broker."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic
from core.connectors.model import ConnectorAnswers
from tests.support.build import commit_text, offset_text, write
from tests.support.forecasting import METADATA

NOW = 1_795_260_600_000  # Saturday 21 November 2026, 11:30 UTC
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000

Positions = Mapping[str, Mapping[int, int]]


def line(positions: Positions) -> str:
    """The offset text of positions."""
    return json.dumps(
        {topic: {str(p): at for p, at in ps.items()} for topic, ps in positions.items()},
        separators=(",", ":"),
    )


def checkpoint_at(
    root: Path,
    *batches: Positions,
    pending: bool = False,
    initial: Positions | None = None,
    batch_ms: int = NOW - HOUR,
) -> Path:
    """One offset file per batch, all committed but the last when ``pending``; ``initial`` is ``sources/0/0``
    (default: 0 everywhere)."""
    tree: dict[str, str | bytes] = {"metadata": METADATA}
    for number, positions in enumerate(batches):
        tree[f"offsets/{number}"] = offset_text([line(positions)], timestamp_ms=batch_ms)
        if not (pending and number == len(batches) - 1):
            tree[f"commits/{number}"] = commit_text()
    first = (
        initial if initial is not None else {topic: dict.fromkeys(ps, 0) for topic, ps in batches[0].items()}
    )
    tree["sources/0/0"] = b"\0v1\n" + line(first).encode()
    write(root, tree)
    for path in (root / "offsets").iterdir():  # planned before the broker was asked
        os.utime(path, (batch_ms / 1000, batch_ms / 1000))
    return root


def topic(
    name: str = "orders",
    partitions: int = 1,
    retention_ms: int | None = 7 * DAY,
    retention_bytes: int | None = -1,
    cleanup_policy: str | None = "delete",
) -> BrokerTopic:
    """A topic as a broker tells it: kept for seven days unless said otherwise."""
    return BrokerTopic(
        name,
        f"id-{name}",
        tuple(range(partitions)),
        retention_ms,
        retention_bytes,
        7 * DAY,
        cleanup_policy,
        "CreateTime",
    )


def answered(
    partitions: Mapping[tuple[str, int], BrokerPartition],
    *topics: BrokerTopic,
    absent: tuple[str, ...] = (),
    all_topics: tuple[str, ...] = (),
    trouble: str | None = None,
) -> BrokerAnswer:
    """What a broker said at ``NOW``; without ``topics`` each topic of ``partitions`` has exactly these
    partitions."""
    names = dict.fromkeys(name for name, _ in partitions)
    said = {t.name: t for t in topics} or {
        n: topic(n, 1 + max(p for t, p in partitions if t == n)) for n in names
    }
    return BrokerAnswer(
        "broker:9092",
        NOW,
        0.1,
        9,
        "read_uncommitted",
        said,
        dict(partitions),
        absent=absent,
        all_topics=all_topics,
        trouble=trouble,
    )


def at(
    start: int,
    end: int,
    position: int | None = None,
    record_ms: int | None = None,
    first_ms: int | None = None,
) -> BrokerPartition:
    """One partition; ``position`` is what the time was asked for."""
    return BrokerPartition(start, end, record_ms=record_ms, asked_position=position, first_record_ms=first_ms)


def connectors_of(answer: BrokerAnswer) -> ConnectorAnswers:
    """The ends with this answer for source 0."""
    return ConnectorAnswers(brokers={"0": answer})
