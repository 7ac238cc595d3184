"""Forecast and integrity check never contradict each other: on every sample, on every corpus entry, and after
every damage of the oracle's cases, at each level. The two checkpoints whose state is decoded take turns with the
damages; each gets all with CHECKPOINT_EXPLORER_EVERY_CASE=1."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from core.analysis.findings import FindingsReport
from core.analysis.forecast import Forecast, Level, Query
from core.analysis.forecast.model import LEVELS
from core.checkpoint import Checkpoint
from core.errors import CheckpointExplorerError
from core.judgement import judge
from tests.spark.cases import CASES, EVERY_CASE
from tests.support.build import SAMPLES, corpus_names, sample_names, unpack_corpus
from tests.support.damage import Damage

NAMES = [*sample_names(), *corpus_names()]
DAMAGES = {case.name: case.damage for case in CASES}
# Together they have file and named sources, state of the HDFS store and of state format 2.
BASES: tuple[tuple[str, Level], ...] = (
    ("files-died-mid-batch", "quick"),
    ("named-sources", "normal"),
    ("state-format-2", "deep"),
    ("windowed-aggregation-hot-partition", "deep"),
)


def contradictions(said: Forecast, report: FindingsReport) -> list[str]:
    """Where the two differ; empty when they agree."""
    blocking = [item.id for item in report.findings if item.severity == "blocks_restart"]
    risky = {item.id for item in report.findings if item.severity == "data_risk"}
    risks = {risk.id for risk in said.risks if risk.weight == "data_risk"}
    found = []
    if (said.outcome == "fail") != bool(blocking):
        found.append(f"the forecast says {said.outcome}, the check {blocking}")
    if said.outcome == "fail" and said.reason not in blocking:
        found.append(f"the forecast fails for {said.reason}, the check says {blocking}")
    if risks != risky and said.outcome != "fail":
        found.append(f"the forecast says {sorted(risks)}, the check {sorted(risky)}")
    if risks - risky:
        found.append(f"the check lacks {sorted(risks - risky)}")
    return found


def judged(root: Path, level: Level, query: Query | None = None) -> list[str]:
    """The two asked apart, as the command line asks them: each reads for itself."""
    said = judge(Checkpoint.open(str(root), newest=2), level=level, query=query).forecast
    report = judge(Checkpoint.open(str(root), newest=20), level=level, query=query).findings
    return [f"{level}: {text}" for text in contradictions(said, report)]


def unpacked(name: str, target: Path) -> Path:
    if name in sample_names():
        return SAMPLES / name / "checkpoint"
    return unpack_corpus(name, target)


@pytest.mark.parametrize("name", NAMES)
def test_forecast_and_check_agree_on_every_real_checkpoint(name: str, tmp_path: Path) -> None:
    root = unpacked(name, tmp_path)
    for level in LEVELS:
        assert judged(root, level) == []


@pytest.mark.parametrize("name", NAMES)
def test_they_agree_about_a_query_that_is_described(name: str, tmp_path: Path) -> None:
    root = unpacked(name, tmp_path)
    for query in (Query(sources=3), Query(operators=()), Query(fail_on_data_loss=False)):
        assert judged(root, "normal", query) == []


def damaged(base: str, damages: Mapping[str, Damage], target: Path) -> Iterator[tuple[str, Path]]:
    """A copy for each damage that fits this checkpoint."""
    for name, damage in damages.items():
        copy = target / "checkpoint"
        shutil.copytree(SAMPLES / base / "checkpoint", copy)
        try:
            damage(copy)
        except (OSError, IndexError, ValueError, AssertionError):  # it does not have what would be damaged
            shutil.rmtree(copy)
            continue
        yield name, copy
        shutil.rmtree(copy)


@pytest.mark.slow
@pytest.mark.parametrize(("base", "level"), BASES)
def test_forecast_and_check_agree_after_every_damage(base: str, level: Level, tmp_path: Path) -> None:
    seen, found = 0, []
    names = sorted(DAMAGES)
    if level == "deep" and not os.environ.get(EVERY_CASE):
        names = names[base == "state-format-2" :: 2]
    for name, copy in damaged(base, {name: DAMAGES[name] for name in names}, tmp_path):
        try:
            found += [f"{name}, {text}" for text in judged(copy, level)]
        except CheckpointExplorerError:
            continue  # refused by both alike
        seen += 1
    assert seen > 50
    assert found == []
