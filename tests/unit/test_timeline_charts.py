"""The figures of the timeline: every mark can be seen, and what was not read is said to be so."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from core.analysis.timeline import STATUSES, bins, build_timeline, status_words
from core.checkpoint import Checkpoint
from tests.support.build import copy_sample, kafka_checkpoint
from ui import timeline_charts


def opened(root: Path, newest: int = 100) -> Checkpoint:
    return Checkpoint.open(str(root), newest=newest)


def test_batches_without_a_commit_file_have_marks_that_can_be_seen(tmp_path: Path) -> None:
    """An open symbol is nothing but its outline: with a width of 0 nothing would be drawn."""
    root = copy_sample("files-stopped-cleanly", tmp_path)
    for path in (root / "commits").iterdir():
        path.unlink()
    ck = opened(root)
    ck.load(ck.offset_ids)
    timeline = build_timeline(ck)
    assert timeline.count("superseded") == 13
    figure = timeline_charts.window(timeline, slice(0, len(timeline)), "id", None)
    marks = [trace for trace in figure.data if trace.name == status_words("superseded")]
    assert sum(len(trace.x) for trace in marks) >= 13
    assert all(trace.marker.symbol == "circle-open" and trace.marker.line.width >= 1.5 for trace in marks)


def test_no_open_symbol_is_drawn_without_an_outline() -> None:
    for status in STATUSES:
        symbol = timeline_charts._MARKS[status][0]
        for is_known in (True, False):
            assert timeline_charts.outline(status, is_known) > 0 or not symbol.endswith("-open")


def test_the_strip_shades_what_was_not_read_of_a_copied_checkpoint(tmp_path: Path) -> None:
    """The file times of a copy say nothing about its batches, so only batches that were read have times."""
    root = kafka_checkpoint(tmp_path, range(3_000), commits=range(3_000))
    for path in root.rglob("*"):
        os.utime(path, (1_900_000_000, 1_900_000_000))
    ck = opened(root)
    ck.load(range(2_900, 3_000))
    timeline = build_timeline(ck)
    assert timeline.is_copy
    assert timeline_charts.unread_stretches(timeline, "gap_ms") == [(0, 2_899)]
    found = bins(timeline, "gap_ms")
    figure = timeline_charts.overview(timeline, found, "gap_ms", slice(2_900, 3_000))
    shades = [shape for shape in figure.layout.shapes if shape.type == "rect" and shape.x0 < 0]
    assert [(shape.x0, shape.x1) for shape in shades] == [(-0.5, 2_899.5)]
    assert any("not read" in note.text for note in figure.layout.annotations)


def test_the_strip_shades_nothing_when_every_batch_is_read(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(300), commits=range(300))
    ck = opened(root)
    ck.load(ck.offset_ids)
    timeline = build_timeline(ck)
    assert np.all(timeline.is_read) and timeline_charts.unread_stretches(timeline, "gap_ms") == []
