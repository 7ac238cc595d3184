"""The checkpoint of a flow of Spark's declarative pipelines: its place, the number that a recovered one
gets, and the commands. That a pipeline of Spark 4.3.0 takes such a copy was seen by hand
(docs/recovery.md)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.recovery import Answers, OptionId, generate, read_recovery_context
from core.recovery.pipeline_flow import PipelineFlow, pipeline_flow
from core.recovery.snippet import snippet
from tests.support.build import SAMPLES

FLOW = "_checkpoints/spark_catalog/default/orders/by_day"


@pytest.mark.parametrize("start", ["/data", "s3://bucket/p", "file:///data/storage"])
@pytest.mark.parametrize("end", ["", "/"])
def test_a_place_of_a_flow_is_recognised(start: str, end: str) -> None:
    found = pipeline_flow(f"{start}/{FLOW}/7{end}")
    assert found == PipelineFlow("spark_catalog.default.orders", "by_day", f"{start}/{FLOW}", 7)
    assert found.next_place == f"{start}/{FLOW}/8"


@pytest.mark.parametrize(
    "place", [None, "", "/data/checkpoints/orders/1", f"/data/{FLOW}", f"/data/{FLOW}/7.repaired",
    f"/data/{FLOW}/7/offsets",
     "/data/_checkpoints/orders/7", f"/data/{FLOW}/-1"],
)  # fmt: skip
def test_any_other_place_is_none(place: str | None) -> None:
    assert pipeline_flow(place) is None


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A checkpoint in such a place whose newest commit is empty."""
    place = tmp_path / FLOW / "2"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    newest = max((place / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.write_bytes(b"")
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    return place


def code(place: Path, option: OptionId, **answers: str) -> tuple[str, str]:
    """Snippet and first file."""
    context = read_recovery_context(Checkpoint.open(str(place)), Answers({"platform": "pyspark", **answers}))
    blocks = generate(context, option)
    return snippet(context, option).text, blocks[0].text if blocks else ""


def test_a_repaired_copy_gets_the_next_number_and_the_pipeline_is_run(broken: Path) -> None:
    pasted, script = code(broken, "repair_files", sink="file")
    assert f'NEW_CHECKPOINT = "{broken.parent}/3"' in script
    assert f"takes the highest number in the directory of its flow: {broken.parent}/3" in pasted
    assert "spark-pipelines run --refresh spark_catalog.default.orders" in pasted
    assert "WRITER" not in pasted, "no code of a pipeline names a location"


def test_a_place_that_was_answered_is_kept(broken: Path) -> None:
    _, script = code(broken, "repair_files", sink="file", checkpoint_new="/elsewhere/9")
    assert 'NEW_CHECKPOINT = "/elsewhere/9"' in script


def test_a_restart_is_a_run_of_the_pipeline(tmp_path: Path) -> None:
    place = tmp_path / FLOW / "0"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    pasted, _ = code(place, "restart")
    assert pasted.splitlines()[2:] == [
        "# This is a checkpoint of a declarative pipeline (flow by_day). Start it again:",
        "#     spark-pipelines run --refresh spark_catalog.default.orders",
    ]


def test_a_full_refresh_can_be_left_to_the_pipeline(broken: Path) -> None:
    pasted, _ = code(broken, "full_refresh", sink="file")
    assert "its table is EMPTIED" in pasted
    assert "spark-pipelines run --full-refresh spark_catalog.default.orders" in pasted


def test_a_backup_stays_beside_the_numbers(broken: Path) -> None:
    pasted, _ = code(broken, "backup")
    assert "spark-pipelines" not in pasted


def test_another_query_keeps_its_snippet(tmp_path: Path) -> None:
    place = tmp_path / "orders" / "2"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    pasted, _ = code(place, "restart")
    assert "spark-pipelines" not in pasted and "WRITER" in pasted
