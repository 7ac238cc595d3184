"""Two query files compared through Spark's analysed plans: each is loaded in a process of its own, and
neither is
started."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.analysis.changes import PlansCompared, compare_plans
from core.analysis.changes.written_query import read_written_query
from core.analysis.forecast.versions import choose_spark
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.errors import StagingError
from core.messages import say
from core.recovery import Answers, read_recovery_context
from core.rehearsal.process import PLANNER, run_worker
from core.rehearsal.query_file import check_query_file, has_transform
from core.rehearsal.sources import as_request, readers_of
from core.spark.java import java_options
from core.spark.process import is_here
from core.spark.scratch import make_scratch

PREFIX = "checkpoint-explorer-plans-"
OLD, NEW = "old", "new"


@dataclass(frozen=True)
class PlansQuestion:
    """Two query files. ``answers``: what the checkpoint does not tell about its sources, for files with
    ``transform``; ``conf``: settings of the Spark that is started; ``python``: another one with PySpark."""

    old: Path
    new: Path
    answers: Answers = field(default_factory=Answers)
    conf: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None


def plans_of(ck: Checkpoint, question: PlansQuestion, spark: str | None = None) -> PlansCompared:
    """What differs between the two queries. ``spark`` is the version that will run the new one (default:
    as the
    forecast chooses).

    Nothing is started and nothing is written but a scratch directory. Raises UsageError (an answer is
    missing, a
    file cannot be used), SparkError, StagingError, StorageError, UnsupportedSparkError.
    """
    chosen = choose_spark(ck, spark).version
    files = {OLD: question.old, NEW: question.new}
    for path in files.values():
        check_query_file(path, may_write=True)
    leaves = {name: has_transform(path) for name, path in files.items()}
    sources: list[dict[str, object]] = []
    if any(leaves.values()):
        context = read_recovery_context(ck, question.answers, ConnectorAnswers())
        sources = [as_request(reader) for reader in readers_of(context)]
    runs: list[dict[str, object]] = [
        {
            "name": name,
            "query_file": str(path.resolve()),
            "sources": sources,
            "module": None if leaves[name] else "__main__",
            "write_batch": False,
            "location": ck.location.path,
            "checks_mode": not leaves[name],
            "conf": dict(question.conf),
        }
        for name, path in files.items()
    ]
    settings = ck.settings.model_copy(update={"spark_remote": ""})  # a plan is the driver's
    base = Path(settings.spark_directory or tempfile.gettempdir())
    try:
        root, lock = make_scratch(base, PREFIX)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StagingError(say("rehearse.no_room", directory=str(base), reason=reason)) from error
    try:
        directory = root / "temporary"
        request = {
            "master": settings.spark_master,
            "remote": "",
            "memory": settings.spark_memory,
            "is_here": is_here(settings),
            "directory": str(directory),
            "java_options": java_options(directory, question.python),
            "all_directories": [str(root)],
            "conf": dict(question.conf),
            "runs": runs,
        }
        names = {name: str(path) for name, path in files.items()}
        _, told = run_worker(request, settings, directory, names, question.python, worker=PLANNER)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StagingError(say("rehearse.no_room", directory=str(root), reason=reason)) from error
    finally:
        shutil.rmtree(root, ignore_errors=True)
        lock.close()
    return compare_plans(told[OLD], told[NEW], chosen, read_written_query(ck))
