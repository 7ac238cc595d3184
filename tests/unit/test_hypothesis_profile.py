"""Every property test runs under the one profile of ``tests/conftest.py``."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys

from hypothesis import settings

from tests.support.build import PROJECT

ASK = "import tests.conftest, hypothesis; d = hypothesis.settings.default; print(d.deadline, d.derandomize)"


def test_the_profile_is_loaded_before_the_tests_and_has_no_deadline() -> None:
    assert settings.get_current_profile_name() == "project"
    assert settings().deadline is None
    assert settings(max_examples=5).deadline is None


def test_no_test_names_a_deadline_of_its_own() -> None:
    pattern = re.compile(r"settings\([^)]*deadline")
    places = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "tests").rglob("*.py")}
    assert [place for place in sorted(places) if pattern.search((PROJECT / place).read_text("utf-8"))] == []


def test_ci_takes_the_same_examples_in_every_run() -> None:
    def asked(**more: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "CI"}
        command = [sys.executable, "-c", ASK]
        done = subprocess.run(
            command, cwd=PROJECT, env={**environment, **more}, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert asked() == "None False"
    assert asked(CI="true") == "None True"
    assert "export CI\n" in (PROJECT / ".ci/run").read_text(encoding="utf-8")


def test_nothing_is_set_aside_for_the_collector_by_tests_that_ran_before() -> None:
    assert "ui.collector" not in {getattr(each, "__module__", "") for each in gc.callbacks}
    assert gc.get_freeze_count() < 10_000  # CPython has some hundred of its own
