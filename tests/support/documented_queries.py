"""The five queries of docs/spark.md as they are printed there, and real checkpoints that give each of them
something to answer."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from core.cli import main
from tests.support.build import PROJECT, SAMPLES, unpack_corpus

SECTION = (PROJECT / "docs" / "spark.md").read_text().partition("## Five queries")[2].partition("\n## ")[0]
GROWING = "purged-to-newest-10"


def blocks(language: str) -> list[str]:
    """What stands in the blocks of this language."""
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)


def make_fleet(place: Path) -> Path:
    """Real checkpoints of several Sparks, one that fails, and one that was surveyed twice while its state
    grew; the rows of both surveys lie in ``history`` beside them."""
    fleet = place / "fleet"
    for name in ("missing-delta-file", "kafka-topic-gained-partitions", "files-stopped-cleanly", GROWING):
        shutil.copytree(SAMPLES / name / "checkpoint", fleet / name)
    for name in ("spark-3.2.0-deduplication", "kafka-two-topics", "kafka-aggregation-watermark"):
        unpack_corpus(name, fleet)
    newest = sorted((fleet / GROWING / "state" / "0").rglob("2[3-9]*"))
    assert len(newest) > 1
    for file in newest:
        (place / "later").mkdir(exist_ok=True)
        shutil.move(file, place / "later" / str(file.relative_to(fleet)).replace("/", "+"))
    assert main(["survey", str(fleet), "--to", str(place / "history")]) == 1
    for file in newest:
        shutil.move(place / "later" / str(file.relative_to(fleet)).replace("/", "+"), file)
    assert main(["survey", str(fleet), "--to", str(place / "history")]) == 1
    return fleet
