"""Real Delta Lake: scripts run in the second environment (`.venv-delta`, PySpark 4.2.0), because no released
Delta runs on Spark 4.3.

A script sees `spark` (a session with Delta) and `args` (what the caller passed) and leaves its answer,
anything JSON can hold, in `result`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support import class_archives, local_files
from tests.support.spark import PARTS, PROJECT, SMALL_JOBS

PYTHON = PROJECT / ".venv-delta" / "bin" / "python"
WORKER = Path(__file__).with_name("delta_worker.py")

# Runs in the second environment: the text of the generated script on the session that is there.
RUN_SCRIPT = """
import contextlib, importlib.util, io, sys
sys.dont_write_bytecode = True  # a script that is started leaves no __pycache__ either
spec = importlib.util.spec_from_file_location("generated_recovery", args["path"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    module.LOOK_AGAIN_SECONDS = 0.1
    run = module.run_of(vars(module))
    if run.missing:
        result = [4, "\\n".join(run.missing)]
    else:
        run.load()
        run.begin(spark)
        status = module.carry_out(run, args["execute"], True)
        result = [status, printed.getvalue()]
"""

TABLE_TO_TABLE = """
source, out, checkpoint = args["source"], args["out"], args["checkpoint"]

def put(first, last):
    rows = spark.range(first, last).selectExpr("id", "id % 2 AS p").coalesce(1)
    rows.write.format("delta").mode("append").save(source)

def run():
    stream = spark.readStream.format("delta").load(source)
    writer = stream.writeStream.format("delta").partitionBy("p").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start(out).awaitTermination()

put(0, 10)
run()
put(10, 20)
run()
put(20, 30)
"""
"""A query from table to table over two batches; rows of a third wait."""


class DeltaError(Exception):
    """The script failed; the text is what it said."""


def is_there() -> bool:
    """Whether the environment and the jars are."""
    return PYTHON.exists() and any((PARTS / "delta").glob("*.jar"))


def class_path() -> str:
    """Delta's jars and the one that spares processes, before those of PySpark."""
    return os.pathsep.join(map(str, [*delta_jars(), *local_files.jars()]))


def delta_jars() -> list[Path]:
    """Delta's two jars. Raises DeltaError when they or the environment are missing."""
    jars = sorted((PARTS / "delta").glob("*.jar"))
    if not is_there():
        raise DeltaError(
            "Delta's environment is missing (.venv-delta, .parts/delta): run scripts/setup tests"
        )
    return jars


def start_worker(scratch: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the worker process. Its standard error goes to `scratch/delta.log`."""
    scratch.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": str(PYTHON),
        "PYSPARK_DRIVER_PYTHON": str(PYTHON),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "DELTA_SCRATCH": str(scratch),
        "DELTA_CONFS": json.dumps(
            {
                **local_files.settings(),
                "spark.driver.extraClassPath": class_path(),
                "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} -Dderby.system.home={scratch}"
                f" {SMALL_JOBS}{class_archives.options(class_path(), str(PYTHON))}",
            }
        ),
    }
    environment.pop("SPARK_HOME", None)
    with (scratch / "delta.log").open("a") as log:
        return subprocess.Popen(
            [str(PYTHON), str(WORKER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            cwd=scratch,
            start_new_session=True,
        )


class DeltaEngine:
    """One worker process, started on first use, that runs many scripts in one JVM."""

    def __init__(self, scratch: Path | None = None) -> None:
        self.scratch = scratch or Path(tempfile.mkdtemp(prefix="delta-"))
        self._process: subprocess.Popen[str] | None = None

    def run(self, script: str, **args: Any) -> Any:
        """Run Python text in the second environment and return its `result`. Raises DeltaError with the
        traceback."""
        if self._process is None:
            self._process = start_worker(self.scratch)
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"script": script, "args": args}) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process = None
            process.wait()
            tail = (
                (self.scratch / "delta.log").read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            )
            raise DeltaError("the Delta worker ended; its log ends with:\n" + "\n".join(tail))
        said = json.loads(answer)
        if said["error"] is not None:
            raise DeltaError(said["error"])
        return said["result"]

    def stop(self) -> None:
        """End the worker and its JVM."""
        if self._process is None:
            return
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._process.stdout.close()
        self._process = None
