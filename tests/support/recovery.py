"""Run generated recovery code as a user would: written to a file, started by the project's Python, its exit
status and sink looked at."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.recovery import Answers, OptionId, generate, read_recovery_context
from tests.support import local_files
from tests.support.spark import SMALL_JOBS, class_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 580  # one script: a JVM, a few batches; fifteen seconds on a quiet machine


PLANNED = "which was planned and not committed, had reached the sink before"
"""What a reset cannot prove where a batch is planned and the sink keeps no log."""


@dataclass(frozen=True)
class Outcome:
    """How a script ended."""

    status: int
    output: str


def fingerprint(*directories: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below, with its time, size and content."""
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size, path.read_bytes())
        for directory in directories
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def directory_times(*directories: Path) -> dict[str, int]:
    """When something was last made or removed in each directory: also a file that is gone again."""
    every = [path for directory in directories for path in (directory, *directory.rglob("*"))]
    return {str(path): path.stat().st_mtime_ns for path in every if path.is_dir()}


def script_for(
    checkpoint: Path | str,
    option: OptionId,
    answers: Mapping[str, str],
    place: Path,
    given: ConnectorSettings | None = None,
) -> Path:
    """The PySpark script of an option, written to a file below ``place``; with ``given`` the ends of the
    query are asked first."""
    ck = Checkpoint.open(str(checkpoint))
    connectors = ask_connectors(ck, given) if given is not None else None
    blocks = generate(
        read_recovery_context(ck, Answers({"platform": "pyspark", **answers}), connectors), option
    )
    assert [block.platform for block in blocks] == ["pyspark"]
    script = place / blocks[0].file_name
    script.write_text(blocks[0].text, encoding="utf-8")
    return script


def start_script(script: Path, *arguments: str) -> Outcome:
    """Starts the script, and with it Spark, whose settings lie beside it (as they do on a user's machine), and
    waits for it. ``script_processes.run_script`` is several times cheaper."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=script.parent,
        env=users_environment(script),
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


def users_environment(script: Path) -> dict[str, str]:
    """The environment of a script's process; the settings of Spark lie beside the script."""
    home = script.parent / "spark-conf"
    home.mkdir(exist_ok=True)
    (home / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in spark_settings(home, as_installed=True).items()),
        encoding="utf-8",
    )
    environment = {
        **os.environ,
        "SPARK_CONF_DIR": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # no user has set it
    environment.pop("SPARK_HOME", None)
    return environment


def spark_settings(
    home: Path, jars: Sequence[Path] | None = None, *, as_installed: bool = False
) -> dict[str, str]:
    """The settings of a small local Spark that keeps its files below ``home``. ``jars``: its class path, if not
    the Kafka connector. ``as_installed``: with Hadoop's own local file system, as in ``start_session``."""
    own = () if as_installed else local_files.jars()
    classes = class_path(own) if jars is None else os.pathsep.join(map(str, [*jars, *own]))
    return {
        **({} if as_installed else local_files.settings()),
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "local"),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={home} -Dderby.system.home={home} {SMALL_JOBS}",
        **({"spark.driver.extraClassPath": classes} if classes else {}),
    }


def run_in_session(
    script: Path, spark: SparkSession, *, execute: bool = True, is_stopped: bool = True, **constants: object
) -> Outcome:
    """The same text, executed in this process on the session that is there: no second JVM. Only starting and
    stopping Spark is left out, and the second look at a running query comes sooner.

    ``constants`` are values that a user fills in at the top of the script.
    """
    spec = importlib.util.spec_from_file_location("generated_recovery", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with bytecode(is_written=False):  # a script that is started leaves none either
        spec.loader.exec_module(module)
    for name, value in constants.items():
        assert hasattr(module, name), f"the script has no constant {name}"
        setattr(module, name, value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), bytecode(is_written=True):
        vars(module)["LOOK_AGAIN_SECONDS"] = 0.1
        run = module.run_of(vars(module))
        if run.missing:
            return Outcome(4, "\n".join(run.missing))
        try:
            run.load()
        except module.Refused as reason:
            return Outcome(4, f"Refused: {reason}")
        run.begin(spark)
        status = module.carry_out(run, execute, is_stopped)
    return Outcome(status, printed.getvalue())


def killed_at(script: Path, step: str) -> Path:
    """The same script, which is killed (-9) in place of the last line that is this step."""
    lines = script.read_text(encoding="utf-8").splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if line.strip() == step][-1]
    lines[at] = lines[at].replace(step, "import os; os.kill(os.getpid(), 9)")
    dying = script.with_name(f"dying_{script.name}")
    dying.write_text("".join(lines), encoding="utf-8")
    return dying


@contextlib.contextmanager
def bytecode(*, is_written: bool) -> Iterator[None]:
    """Whether what is imported leaves a ``__pycache__``, whatever PYTHONDONTWRITEBYTECODE says."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, not is_written
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def put_files(directory: Path, numbers: Iterable[int], rows: int = 10) -> None:
    """JSON files of ``rows`` rows with ids of their own and times a second apart; the modification times
    ascend with the number."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        path = directory / f"part {number:03d}.json"
        lines = [
            json.dumps(
                {
                    "id": number * rows + i,
                    "key": (number * rows + i) % 15,
                    "at": f"2026-01-01T00:{number:02d}:{i:02d}Z",
                }
            )
            for i in range(rows)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(path, (1_790_000_000 + number * 10, 1_790_000_000 + number * 10))


SCHEMA = "id int, key int, at timestamp"


def repeated(values: Iterable[object]) -> dict[object, int]:
    """The values that occur more than once."""
    return {value: count for value, count in Counter(values).items() if count > 1}
