"""Whatever is deleted, cut or overwritten in a checkpoint: an answer with evidence, never a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.analysis.findings import CATALOGUE, findings
from core.analysis.forecast import SUPPORTED_SPARK, Query, forecast
from core.checkpoint import Checkpoint
from core.errors import NotACheckpoint, StorageError
from tests.support.build import copy_sample, kafka_checkpoint
from tests.support.forecasting import files_checkpoint, stateful_conf, with_state

pytestmark = pytest.mark.slow

JUNK = [
    b"",
    b"v1",
    b"v9\n{}",
    b"{}",
    b"\xff\xfe\x00",
    b"v1\n\n-",
    b'v1\n{"conf":{}}\n{"logOffset":-7}',
    b"[" * 2000,
    b"v2\n{}\na:{}\na:{}",
]
NAMES = [
    "offsets/007",
    "offsets/99999999999999999999",
    "commits/-1",
    "offsets/3/x",
    "sources/0/abc",
    "state/0/0/9.snapshot",
    "state/x/y",
    "metadata",
]
SAMPLES = [
    "hand-made-rewind",
    "join-watermark-held-back",
    "state-format-2",
    "named-sources",
    "transform-with-state-timers",
]


def base(kind: str, root: Path) -> Path:
    if kind == "files":
        files_checkpoint(root, conf=stateful_conf())
        return with_state(root, range(1, 6))
    if kind == "kafka":
        return kafka_checkpoint(root, range(4), commits=range(3))
    return copy_sample(kind, root)


@st.composite
def damage(draw: st.DrawFn) -> tuple[list[tuple[float, str, bytes]], list[tuple[str, bytes]]]:
    """Places in the list of files with what happens there, and files that are new."""
    hits = draw(
        st.lists(
            st.tuples(st.floats(0, 0.999), st.sampled_from(["delete", "cut", "junk"]), st.sampled_from(JUNK)),
            max_size=8,
        )
    )
    new = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(JUNK)), max_size=3))
    return hits, new


def apply(root: Path, hits: list[tuple[float, str, bytes]], new: list[tuple[str, bytes]]) -> None:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for at, what, junk in hits:
        path = files[int(at * len(files))]
        if not path.exists():
            continue
        if what == "delete":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if what == "cut" else junk)
    for name, junk in new:
        path = root / name
        if not path.exists() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(junk)


@pytest.mark.parametrize("kind", ["files", "kafka", *SAMPLES])
@settings(max_examples=25)
@given(
    change=damage(),
    spark=st.sampled_from([None, *SUPPORTED_SPARK]),
    new_data=st.sampled_from(["yes", "no", "unknown"]),
)
def test_any_damage_gives_an_answer_with_evidence(
    kind: str, change: tuple[list, list], spark: str | None, new_data: str
) -> None:  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as directory:
        root = base(kind, Path(directory) / "ck")
        apply(root, *change)
        try:
            checkpoint = Checkpoint.open(str(root))
        except (NotACheckpoint, StorageError):
            return
        answer = forecast(checkpoint, spark, Query(new_data=new_data))  # type: ignore[arg-type]
        assert answer.sentence.startswith("Spark will ") and answer.sentence.endswith(".")
        assert (answer.outcome == "fail") == (answer.error is not None) == (answer.fails_at is not None)
        assert answer.outcome != "fail" or (answer.evidence and answer.reason in CATALOGUE)
        assert answer.fails_at != "start" or (answer.batch_id is None and answer.data.is_exact)
        assert all(risk.id in CATALOGUE and risk.evidence for risk in answer.risks)
        assert answer.not_checked and answer.steps and answer.because
        report = findings(checkpoint, spark=spark)
        assert all(item.evidence and item.action and item.sentence for item in report.findings)
        assert (answer.outcome == "fail" and new_data != "no") <= report.has_problems
