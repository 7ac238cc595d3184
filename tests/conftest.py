"""Fixtures of every kind of test.

A test that asks for a real engine gets its mark by that: `spark` / `spark_session` -> spark, `kafka` -> kafka
and spark, `delta` -> delta, `older` -> spark_3_5. `scripts/test --without kafka,delta` sets
CHECKPOINT_EXPLORER_WITHOUT; only that skips a marked test. A part that is missing for any other reason fails
the test that needs it.
"""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.scratch import scratch_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.delta import DeltaEngine
    from tests.support.kafka import Broker

SCRATCH = scratch_root()
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SCRATCH))
if "TMPDIR" not in os.environ:  # what the app and the programs that tests start write
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="checkpoint-explorer-", dir=SCRATCH)
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)

PROJECT = Path(__file__).resolve().parents[1]
ENGINES = {
    "spark": ("spark", "spark_session"),
    "kafka": ("kafka",),
    "delta": ("delta",),
    "spark-3.5": ("older",),
    "browser": ("browser",),
    "prometheus": ("prometheus",),
}


def load_hypothesis_profile() -> None:
    """The one profile of every property test. No deadline and no complaint about slow generation: a loaded
    machine is not a defect. Where CI is set the examples are the same in every run; elsewhere they are new
    ones, and a failure prints the line that repeats it.
    """
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "project",
        max_examples=100,
        deadline=None,
        derandomize="CI" in os.environ,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("project")


if importlib.util.find_spec(
    "hypothesis"
):  # the environments of other Sparks run the oracle alone, without it
    load_hypothesis_profile()


def left_out() -> set[str]:
    """The kinds of tests that `scripts/test --without` names."""
    return {
        name.strip() for name in os.environ.get("CHECKPOINT_EXPLORER_WITHOUT", "").split(",") if name.strip()
    }


def mark_of(engine: str) -> str:
    """The mark of tests that need this engine: `spark-3.5` -> `spark_3_5`."""
    return engine.replace("-", "_").replace(".", "_")


def pytest_configure(config: pytest.Config) -> None:
    unknown = left_out() - set(ENGINES)
    if unknown:
        raise pytest.UsageError(
            f"CHECKPOINT_EXPLORER_WITHOUT names {', '.join(sorted(unknown))}; known: {', '.join(ENGINES)}"
        )


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    without = left_out()
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for engine, names in ENGINES.items():
            if fixtures.intersection(names) and item.get_closest_marker(mark_of(engine)) is None:
                item.add_marker(mark_of(engine))
        if item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["TimeoutError"]))
        for engine in sorted(without):
            if item.get_closest_marker(mark_of(engine)) is not None:
                item.add_marker(pytest.mark.skip(reason=f"left out by --without {engine}"))


@pytest.fixture(scope="module", autouse=True)
def _collects_as_before() -> Iterator[None]:
    """A page sets aside what survives a long collection (``ui.collector``), and so does a benchmark, in the
    whole process. The tests after it find the process as it was: Hypothesis takes an object that was set aside
    for one that nothing refers to, and warns, which fails the test."""
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    yield
    for each in [one for one in gc.callbacks if getattr(one, "__module__", "") == "ui.collector"]:
        gc.callbacks.remove(each)
    if gc.get_threshold() != thresholds:
        gc.set_threshold(*thresholds)
    if gc.get_freeze_count() > frozen:
        gc.unfreeze()


@pytest.fixture(scope="session")
def samples() -> Path:
    """The directory of the committed samples."""
    return PROJECT / "sample_checkpoints"


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of this run, for fixtures that live longer than a test."""
    from tests.support.spark import start_session, stop_session

    scratch = tmp_path_factory.mktemp("spark")
    session = start_session(scratch=scratch)
    yield session
    stop_session(session, scratch)


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """The same JVM with settings of its own; queries that the test leaves running are stopped."""
    from tests.support.spark import stop_queries

    session = spark_session.newSession()
    yield session
    stop_queries(session)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real Kafka broker on loopback, empty at the start of the run."""
    from tests.support.kafka import Broker

    broker = Broker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaEngine]:
    """Real Delta Lake on Spark 4.2, in the second environment."""
    from tests.support.delta import DeltaEngine

    engine = DeltaEngine(tmp_path_factory.mktemp("delta"))
    yield engine
    engine.stop()
