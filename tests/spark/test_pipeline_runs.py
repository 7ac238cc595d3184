"""A declarative pipeline of Spark, run with `spark-pipelines` as the snippets say: a repaired checkpoint is
taken, the number that is out of use is named, and a full refresh begins the next one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.recovery import Answers, OptionId, generate, read_recovery_context
from core.recovery.snippet import snippet
from tests.support.recovery import start_script

pytestmark = [pytest.mark.spark, pytest.mark.clusters]  # spark-pipelines starts a Spark Connect server

FLOW = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

@dp.table(name="orders")
def orders():
    return SparkSession.active().readStream.schema("id INT").json({source!r})
"""
SPECIFICATION = "name: demo\nstorage: file://{storage}\nlibraries:\n  - glob:\n      include: flows/**\n"


class Pipeline:
    """A table of the numbers in some files."""

    def __init__(self, root: Path) -> None:
        self.root, self.source = root, root / "in"
        for name in ("in", "flows", "conf"):
            (root / name).mkdir()
        (root / "flows" / "orders.py").write_text(FLOW.format(source=str(self.source)), encoding="utf-8")
        specification = SPECIFICATION.format(storage=root / "storage")
        (root / "spark-pipeline.yml").write_text(specification, encoding="utf-8")
        settings = {
            "spark.sql.catalogImplementation": "hive",  # a table outlives its session
            "spark.sql.warehouse.dir": f"file://{root}/warehouse",
            "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={root}/db;create=true",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={root}/derby.log",
            "spark.ui.enabled": "false",
        }
        lines = [f"{name} {value}\n" for name, value in settings.items()]
        (root / "conf" / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")

    def add(self, number: int) -> None:
        (self.source / f"{number}.json").write_text(f'{{"id": {number}}}\n', encoding="utf-8")

    def run(self, *arguments: str) -> None:
        programs = Path(sys.executable).parent
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        done = subprocess.run(
            [str(programs / "spark-pipelines"), "run", *arguments],
            cwd=self.root,
            env={**os.environ, "PATH": path, "SPARK_CONF_DIR": str(self.root / "conf")},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    def run_as_told(self, text: str) -> None:
        """The one command that a snippet names."""
        (command,) = re.findall(r"^# +spark-pipelines run (.+)$", text, re.MULTILINE)
        self.run(*command.split())

    def numbers(self) -> list[int]:
        files = (self.root / "warehouse" / "orders").glob("*.parquet")
        return sorted(number for file in files for number in pq.read_table(file).column("id").to_pylist())

    def checkpoint(self, number: int) -> Path:
        return self.root / "storage/_checkpoints/spark_catalog/default/orders/orders" / str(number)


def snippet_of(place: Path, option: OptionId, **answers: str) -> tuple[str, str]:
    """The snippet, and the file to run; "" where there is none."""
    context = read_recovery_context(Checkpoint.open(str(place)), Answers({"platform": "pyspark", **answers}))
    files = generate(context, option)
    return snippet(context, option).text, files[0].text if files else ""


def test_a_repaired_checkpoint_and_a_full_refresh_are_taken_by_the_pipeline(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.add(1)
    pipeline.run()
    pipeline.add(2)
    pipeline.run_as_told(snippet_of(pipeline.checkpoint(0), "restart")[0])
    assert pipeline.numbers() == [1, 2]

    commit = pipeline.checkpoint(0) / "commits" / "1"
    commit.write_bytes(b"")
    commit.with_name(f".{commit.name}.crc").unlink()
    table = str(tmp_path / "warehouse" / "orders")
    told, code = snippet_of(pipeline.checkpoint(0), "repair_files", sink="file", sink_path=table)
    script = tmp_path / "repair_files.py"
    script.write_text(code, encoding="utf-8")
    repaired = start_script(script, "--execute", "--query-is-stopped")
    assert repaired.status in (0, 5), repaired
    pipeline.add(3)
    pipeline.run_as_told(told)
    assert pipeline.numbers() == [1, 2, 3]
    assert [risk.id for risk in forecast(Checkpoint.open(str(pipeline.checkpoint(0)))).risks] == [
        "NOT_IN_USE"
    ]
    used = Checkpoint.open(str(pipeline.checkpoint(1)))
    assert used.last_committed_batch == 2 and not forecast(used).risks

    (pipeline.source / "1.json").unlink()
    told, code = snippet_of(pipeline.checkpoint(1), "full_refresh")
    assert not code
    pipeline.run_as_told(told)
    assert pipeline.numbers() == [2, 3], "what the source no longer has is gone, as the snippet says"
    refreshed = Checkpoint.open(str(pipeline.checkpoint(2)))
    assert refreshed.last_committed_batch == 0 and refreshed.query_id != used.query_id
    assert [risk.id for risk in forecast(Checkpoint.open(str(pipeline.checkpoint(1)))).risks] == [
        "NOT_IN_USE"
    ]
