"""The script of a question, started by itself on Spark 4.2, which reads no state before it was asked for
queries. (The environment of the Delta tests has that Spark.)"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.spark import StateQuestion, question_code
from tests.support.delta import PYTHON

pytestmark = pytest.mark.delta


def test_the_script_reads_state_in_a_fresh_session_of_spark_4_2(samples: Path, tmp_path: Path) -> None:
    ck = Checkpoint.open(str(samples / "windowed-aggregation-hot-partition" / "checkpoint"))
    question = StateQuestion(ck.commit_ids[-1], 0, limit=1000)
    script = tmp_path / "question.py"
    script.write_text(question_code(ck, question), encoding="utf-8")
    asked = subprocess.run([str(PYTHON), str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr[-2000:]
    assert asked.stdout.count("{") >= 49
