"""The answer of ``python -m core metrics --json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.documents.base import Document, Part
from core.survey import Metric


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplePart(Part):
    """One number."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricPart(Part):
    """A metric; all are gauges."""

    name: str
    help: str
    samples: tuple[SamplePart, ...]
    """Empty when nothing is known; a missing number is not 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricsDocument(Document):
    """The survey as metrics; without `--json` as OpenMetrics text."""

    location: str
    """The first root that was asked for."""
    metrics: tuple[MetricPart, ...]


def metrics_document(location: str, metrics: Sequence[Metric]) -> MetricsDocument:
    """The metrics in their order."""
    return MetricsDocument(
        location=location,
        metrics=tuple(
            MetricPart(
                name=metric.name,
                help=metric.help,
                samples=tuple(
                    SamplePart(labels=dict(zip(metric.labels, labels, strict=True)), value=value)
                    for labels, value in metric.samples
                ),
            )
            for metric in metrics
        ),
    )
