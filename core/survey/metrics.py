"""The rows of a survey as metrics: gauges for a scraper of OpenMetrics or a textfile collector.

Labels: ``root`` (its name in the settings, else its URL), ``checkpoint`` (the path below it), and where they
apply ``status``, ``severity``, ``source``, ``position``, ``operator``, ``part``. What is not known has no
sample: a missing number is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest

from core.messages.metrics import HELP
from core.survey.row import COUNTED, STATUS_ORDER, SurveyRow
from core.survey.search import RootSearch

NAME_OF_ONE = "."
"""The label ``checkpoint`` of a root that is a checkpoint itself."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. ``labels`` in order; a sample is the values of the labels and the number."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: list[tuple[tuple[str, ...], float]] = field(default_factory=list)


OF_CHECKPOINT: Mapping[str, tuple[str, ...]] = {
    "next_start": ("status",),
    "findings": ("severity",),
    "info": ("query_id", "written_by"),
    "source_info": ("position", "source"),
    "is_temporary": (),
    "newest_entry_timestamp_seconds": (),
    "last_committed_batch": (),
    "pending_batch": (),
    "batches_per_hour": (),
    "batch_duration_seconds": (),
    "watermark_lag_seconds": (),
    "watermark_stalled_batches": (),
    "state_bytes": ("operator", "name"),
    "state_skew_ratio": ("operator", "name"),
    "bytes": ("part",),
    "files": (),
    "not_read": (),
    "read_seconds": (),
}
"""Metrics with the labels ``root`` and ``checkpoint`` -> their further labels."""

OF_ROOT = ("root_up", "root_checkpoints", "root_is_complete")
OF_SURVEY = ("survey_timestamp_seconds", "survey_duration_seconds")


def measure(
    searched: Sequence[RootSearch], rows: Sequence[SurveyRow], seconds: float, at_seconds: float
) -> list[Metric]:
    """The metrics of a survey that took ``seconds`` and ended at the Unix time ``at_seconds``; all of them,
    those without a sample too."""
    found = {name: _empty(name, ("root", "checkpoint", *labels)) for name, labels in OF_CHECKPOINT.items()}
    found |= {name: _empty(name, ("root",)) for name in OF_ROOT}
    found |= {name: _empty(name, ()) for name in OF_SURVEY}
    for row in rows:
        place = (row.root, row.path or NAME_OF_ONE)
        for name, labels, value in _of_row(row):
            if value is not None:
                found[name].samples.append(((*place, *labels), float(value)))
    for search in searched:
        found["root_up"].samples.append(((search.root,), float(search.error is None)))
        if search.error is None:
            found["root_checkpoints"].samples.append(((search.root,), float(len(search.places))))
            found["root_is_complete"].samples.append(((search.root,), float(search.is_complete)))
    found["survey_timestamp_seconds"].samples.append(((), at_seconds))
    found["survey_duration_seconds"].samples.append(((), round(seconds, 3)))
    return list(found.values())


def to_openmetrics(metrics: Sequence[Metric]) -> str:
    """OpenMetrics 1.0 text. The library of Prometheus writes it, so labels are escaped as they have to be; a
    textfile collector reads it too."""
    text: bytes = generate_latest(Newest(metrics).registry)  # type: ignore[no-untyped-call]
    return text.decode("utf-8")


class Newest:
    """The metrics of the last survey, as a registry of ``prometheus_client`` gives them to every scrape."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def collect(self) -> Iterator[Family]:
        """What a registry asks for."""
        for metric in self.metrics:
            family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
            for labels, value in metric.samples:
                family.add_metric(labels, value)
            yield family


def _empty(name: str, labels: tuple[str, ...]) -> Metric:
    full = f"spark_checkpoint_{name}"
    return Metric(full, HELP[full], labels)


def _of_row(row: SurveyRow) -> Iterator[tuple[str, tuple[str, ...], float | None]]:
    """(metric, further labels, number) of one checkpoint; None is not known."""
    for status in STATUS_ORDER:
        yield "next_start", (status,), status == row.status
    yield "is_temporary", (), row.is_temporary
    yield "read_seconds", (), row.seconds
    if row.error is not None:
        return
    yield "not_read", (), len(row.not_read)
    for severity in COUNTED:
        yield "findings", (severity,), row.findings.get(severity, 0)
    yield "info", (row.query_id or "", row.written_by or ""), 1
    for position, kind in enumerate(row.sources):
        yield "source_info", (str(position), kind), 1
    yield "newest_entry_timestamp_seconds", (), _seconds(row.newest_ms)
    yield "last_committed_batch", (), row.last_committed_batch
    yield "pending_batch", (), row.pending_batch
    yield "batches_per_hour", (), row.batches_per_hour
    yield "batch_duration_seconds", (), _seconds(row.median_duration_ms)
    yield "watermark_lag_seconds", (), _seconds(row.watermark_lag_ms)
    yield "watermark_stalled_batches", (), row.watermark_stalled_batches
    for state in row.operator_state:
        labels = (str(state.operator), state.name or "")
        yield "state_bytes", labels, state.size_bytes
        yield "state_skew_ratio", labels, state.skew
    for part, size_bytes in (
        ("logs", row.log_bytes),
        ("sources", row.source_bytes),
        ("state", row.state_bytes),
    ):
        yield "bytes", (part,), size_bytes
    yield "files", (), row.files


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
