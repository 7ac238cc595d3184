"""One real Spark session for the whole test run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.forecast.versions import V42, Version, parse_version
from tests.support import class_archives, local_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parents[2]
PARTS = local_files.PARTS
CRASH_REPORT = "hs_err_pid*.log"  # what a JVM leaves that dies in native code; beside the scratch directory
# For a JVM that lives for minutes of small jobs. The compiler for long runs and a parallel collector cost more
# than they give; Hadoop's own local files start `chmod` or `readlink` for nearly every file, and VFORK starts
# them without a helper process between.
# The first compiler alone reserves 48 MB for code, which one session for hundreds of tests fills (Java 21: then
# "NoSuchMethodException: linkToVirtual", and the context ends).
SMALL_JOBS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    " -Djdk.lang.Process.launchMechanism=VFORK"
)
OLDER_SPARK = "3.5.9"  # the older Spark of the default run, as in scripts/setup-lib.sh


def spark_version() -> Version:
    """The feature version of the PySpark that is installed here: its rules are the ones that forecasts are
    made with."""
    found = parse_version(version("pyspark"))
    assert found is not None
    return found


def older_environment(release: str = OLDER_SPARK) -> Path:
    """The environment of another PySpark, made by `scripts/setup tests` or `scripts/test --spark`."""
    return PROJECT / f".venv-spark-{release}"


def connector_jars() -> list[Path]:
    """The jars of Spark's Kafka connector, as far as they were fetched (`scripts/parts.py`) and this Spark
    can load them."""
    if spark_version() < V42:
        return []
    return sorted((PARTS / "kafka-connector").glob("*.jar"))


def class_path(own: Sequence[Path]) -> str:
    """Of the one session: Kafka's connector whenever it was fetched, and jars of ours."""
    return os.pathsep.join(map(str, [*connector_jars(), *own]))


def start_session(
    name: str = "checkpoint-explorer-tests",
    *,
    scratch: Path | None = None,
    extra: dict[str, str] | None = None,
    as_installed: bool = False,
) -> SparkSession:
    """Start Spark on two local cores, on loopback only, without its web page.

    The Kafka connector is on the class path whenever it was fetched, so that one session serves every test.
    Nothing is written to the working directory: warehouse and temporary files go to `scratch`. `extra` are
    further settings. `as_installed`: with Hadoop's own local file system, which starts a process for each file
    (24 restarts of a small query: 12 s, else 5 s).
    """
    # Workers default to the "python3" of PATH, which need not have pyarrow.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    place = scratch or Path(tempfile.mkdtemp(prefix="spark-"))
    classes = class_path(() if as_installed else local_files.jars())
    confs = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.local.dir": str(place / "local"),
        # RocksDB's native parts and Derby look at these, not at spark.local.dir.
        "spark.driver.extraJavaOptions": (
            f"-Djava.io.tmpdir={place} -Dderby.system.home={place} {SMALL_JOBS}{class_archives.options(classes)}"
            f" -XX:ErrorFile={place.parent / CRASH_REPORT.replace('*', '%p')}"
        ),
        "spark.sql.streaming.stopTimeout": "60s",
        **({} if as_installed else local_files.settings()),
        **(extra or {}),
    }
    if classes:
        confs["spark.driver.extraClassPath"] = classes
    builder = SparkSession.builder.master("local[2]").appName(name)
    for key, value in confs.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def stop_queries(session: SparkSession) -> None:
    """Stop every streaming query of this session."""
    for query in session.streams.active:
        query.stop()


def stop_session(session: SparkSession, scratch: Path | None = None) -> None:
    """End the session and its JVM."""
    stop_queries(session)
    gateway = session.sparkContext._gateway
    session.stop()
    process = getattr(gateway, "proc", None)
    if gateway is not None:
        gateway.shutdown()
    if process is not None:
        # The JVM ends when its standard input does.
        process.stdin.close()
        process.wait(timeout=60)
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
