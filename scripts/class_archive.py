"""Keep the classes that Spark loads in an archive, from which the next Spark starts sooner.

    .venv/bin/python scripts/class_archive.py [ARCHIVE [CLASS_PATH]]

ARCHIVE is the one that the app looks for when it starts Spark (`core/spark/java.py`) where none is given;
CLASS_PATH: jars before Spark's own, as in `spark.driver.extraClassPath`. Runs a few small jobs with the
Spark of this Python: a query over rows, a streaming query with state, and the reader of that state. Beside
the archive lies what it was made of (Java, PySpark, the jars); a second call does nothing while that is the
same. Imports nothing but PySpark, so that it runs in each environment of the tests.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SECONDS = 300


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    archive = Path(given[0]) if given else _of_the_app()
    classes = given[1] if len(given) > 1 else ""
    java = java_version()
    if not java:
        return 0  # nothing that could start
    made_of = [java, version("pyspark"), classes, _jars(classes)]
    stamp = archive.with_suffix(".json")
    if archive.exists() and stamp.exists():
        there = {"size_bytes": archive.stat().st_size, "made_of": made_of}
        if stamp.read_text(encoding="utf-8") == json.dumps(there):
            return 0
    print(
        f"setup: keeping the classes of Spark {version('pyspark')}, so that it starts sooner", file=sys.stderr
    )
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="class-archive-") as place:
        unfinished = archive.with_name(f"{archive.name}.{os.getpid()}")
        reason = _train(Path(place), unfinished, classes)
        if not unfinished.exists():
            print(f"setup: Spark's classes could not be kept ({reason}); it starts without.", file=sys.stderr)
            return 0
        stamp.unlink(missing_ok=True)
        unfinished.replace(archive)
        made = {"size_bytes": archive.stat().st_size, "made_of": made_of}
        stamp.write_text(json.dumps(made), encoding="utf-8")
    return 0


def java_version() -> str:
    """What the Java says of itself that Spark would start; empty where there is none or an older one than
    17."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        return ""
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    number = said.partition('version "')[2].partition('"')[0].split(".")[0]
    return said if number.isdecimal() and int(number) >= 17 else ""


def _of_the_app() -> Path:
    sys.path.insert(0, str(PROJECT))
    from core.spark.java import archive_of

    return archive_of()


def _jars(classes: str) -> str:
    """A sum over the names, sizes and times of the jars: Java compares them with those in the archive."""
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    own = sorted((Path(found.origin).parent / "jars").glob("*.jar"))
    every = [*map(Path, filter(None, classes.split(os.pathsep))), *own]
    lines = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in every]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _train(place: Path, archive: Path, classes: str) -> str:
    """Runs the jobs in a process of its own; why there may be no archive afterwards."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    for name in ("SPARK_HOME", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "SPARK_MASTER", "SPARK_CONF_DIR"):
        environment.pop(name, None)
    log = place / "log.txt"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", JOBS, str(place), str(archive), classes],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=place,
            env=environment,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, 9)
            process.wait()
    if status is None:
        return f"it took more than {SECONDS} s"
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else f"exit status {status}"


JOBS = """
import json, os, sys
place, archive, classes = sys.argv[1:]
from pyspark.sql import SparkSession

confs = {
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir=%s -Dderby.system.home=%s"
        " -XX:ArchiveClassesAtExit=%s" % (place, place, archive)
    ),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.warehouse.dir": place + "/warehouse",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.local.dir": place + "/local",
    "spark.log.level": "ERROR",
}
if classes:
    confs["spark.driver.extraClassPath"] = classes
builder = SparkSession.builder.master("local[2]").appName("class-archive")
for name, value in confs.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.range(10).selectExpr("id * 2 as a").groupBy("a").count().collect()
os.mkdir(place + "/in")
for provider in ("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider"):
    name = "org.apache.spark.sql.execution.streaming.state." + provider
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", name)
    with open(place + "/in/" + provider, "w") as file:
        file.write(json.dumps({"key": 1}) + "\\n")
    rows = spark.readStream.schema("key long").json(place + "/in").groupBy("key").count()
    writer = rows.writeStream.outputMode("complete").option("checkpointLocation", place + "/" + provider)
    writer.format("noop").trigger(availableNow=True).start().awaitTermination()
spark.read.format("statestore").load(place + "/" + provider).collect()
gateway = spark.sparkContext._gateway
spark.stop()
process = gateway.proc
gateway.shutdown()
process.stdin.close()  # Java ends with its input, and writes the archive
process.wait()
"""


if __name__ == "__main__":
    sys.exit(main())
