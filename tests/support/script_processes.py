"""Recovery scripts as processes of their own, beside Java machines that wait for them.

``spark-submit`` starts a Java machine and then Python with the address of that machine; here the machine is
there already. One machine serves script after script, each with a Spark context of its own; a script that is
killed takes a new machine with it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tests.support import class_archives
from tests.support.recovery import SECONDS, Outcome, spark_settings

SCRIPTS_PER_MACHINE = 60
ENDED_IN_ORDER = (0, 3, 4, 5)


class Machine:
    """One Java machine with Spark's gateway, in a process group of its own."""

    def __init__(self, home: Path, python: str, settings: Mapping[str, str], classes: Path) -> None:
        home.mkdir(parents=True)
        self.scripts = 0
        self._info, self._set = home / "gateway", set[str]()
        confs = [f"--conf={name}={value}" for name, value in settings.items()]
        environment = {
            **os.environ,
            "SPARK_CONF_DIR": str(classes),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": python,
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._info),
        }
        (spark,) = Path(python).parent.parent.glob("lib/python3*/site-packages/pyspark")
        environment["SPARK_HOME"] = str(spark)
        with (home / "machine.log").open("w") as log:
            self._process = subprocess.Popen(
                [str(spark / "bin" / "spark-submit"), *confs, "pyspark-shell"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=home,
                env=environment,
                start_new_session=True,
            )

    def address(self) -> tuple[int, str]:
        """Port and secret of the gateway, as soon as it is there."""
        deadline = time.monotonic() + SECONDS
        while not self._info.exists():
            assert self._process.poll() is None and time.monotonic() < deadline, "the machine did not start"
            time.sleep(0.02)
        with self._info.open("rb") as file:
            port, length = struct.unpack(">ii", file.read(8))
            return port, file.read(length).decode()

    def prepare(self, confs: Mapping[str, str]) -> None:
        """The settings of Spark for the next script, in place of those of the last one."""
        from py4j.clientserver import (  # type: ignore[import-untyped]
            ClientServer,
            JavaParameters,
            PythonParameters,
        )

        port, secret = self.address()
        gateway = ClientServer(
            java_parameters=JavaParameters(port=port, auth_token=secret, auto_convert=True),
            python_parameters=PythonParameters(port=0, eager_load=False),
        )
        system = gateway.jvm.java.lang.System
        for name in self._set - set(confs):
            system.clearProperty(name)
        for name, value in confs.items():
            system.setProperty(name, value)
        self._set = set(confs)
        if self.scripts and "spark.sql.extensions" in confs:
            # Tables of earlier scripts at the same paths were others.
            gateway.jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        gateway.close()
        self.scripts += 1

    def kill(self) -> None:
        """With -9."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def stop(self) -> None:
        """As at the end of a script."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()


class Scripts:
    """Runs scripts with one Python, its Spark and its settings. ``for_many``: so many that it pays to have the
    next machine ready."""

    def __init__(
        self,
        place: Path,
        python: str,
        confs: Mapping[str, str],
        jars: Sequence[Path] | None = None,
        *,
        for_many: bool = True,
    ) -> None:
        self._place, self._python, self._confs, self._jars = place, python, dict(confs), jars
        self._made = 0
        self._serving: Machine | None = None
        self._spare: Machine | None = None
        self._for_many = for_many

    def run(self, script: Path, confs: Mapping[str, str], *arguments: str) -> Outcome:
        """The script from begin to end."""
        if self._serving is not None and self._serving.scripts >= SCRIPTS_PER_MACHINE:
            self._serving.stop()
            self._serving = None
        if self._serving is None:
            self._serving, self._spare = self._spare or self._machine(), None
        outcome = self._start(self._serving, script, confs, arguments, lambda: False)
        if outcome.status not in ENDED_IN_ORDER:
            self._serving.kill()
            self._serving = None
        if self._spare is None and self._for_many:
            self._spare = self._machine()
        return outcome

    def run_and_kill(
        self, script: Path, confs: Mapping[str, str], is_time: Callable[[], bool], *arguments: str
    ) -> Outcome:
        """The script and its machine with kill -9 as soon as it is time (status -9), or to its end."""
        machine = self._spare or self._machine()
        self._spare = machine
        outcome = self._start(machine, script, confs, arguments, is_time)
        if outcome.status not in ENDED_IN_ORDER:
            machine.kill()
            self._spare = self._machine()
        return outcome

    def stop(self) -> None:
        """Ends the machines."""
        for machine in (self._serving, self._spare):
            if machine is not None:
                machine.kill()
        self._serving = self._spare = None

    def _machine(self) -> Machine:
        self._made += 1
        home = self._place / f"machine-{self._made}"
        classes = (
            self._place / "conf"
        )  # is not there: Java uses no archive beside another directory of classes
        settings = spark_settings(home, self._jars)
        classes_before = settings.get("spark.driver.extraClassPath", "")
        settings["spark.driver.extraJavaOptions"] += class_archives.options(classes_before, self._python)
        return Machine(home, self._python, settings, classes)

    def _start(
        self,
        machine: Machine,
        script: Path,
        confs: Mapping[str, str],
        arguments: Sequence[str],
        is_time: Callable[[], bool],
    ) -> Outcome:
        machine.prepare({**self._confs, **confs})
        port, secret = machine.address()
        environment = {
            **os.environ,
            "PYSPARK_GATEWAY_PORT": str(port),
            "PYSPARK_GATEWAY_SECRET": secret,
            "PYSPARK_PYTHON": self._python,
            "PYSPARK_DRIVER_PYTHON": self._python,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # no user has set it
        environment.pop("SPARK_HOME", None)
        log = self._place / "script.log"
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [self._python, str(script), *arguments],
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=script.parent,
                env=environment,
                start_new_session=True,
            )
            deadline = time.monotonic() + SECONDS
            while process.poll() is None and time.monotonic() < deadline and not is_time():
                time.sleep(0.02)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                machine.kill()
            process.wait()
        return Outcome(process.returncode, log.read_text(encoding="utf-8"))


def run_script(script: Path, *arguments: str) -> Outcome:
    """The script in a process of its own, beside a Java machine that serves all scripts of this test run."""
    return _of_this_run().run(script, {}, *arguments)


@lru_cache(maxsize=1)
def _of_this_run() -> Scripts:
    place = Path(tempfile.mkdtemp(prefix="scripts-"))
    scripts = Scripts(place, sys.executable, {}, for_many=False)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    atexit.register(scripts.stop)
    return scripts
