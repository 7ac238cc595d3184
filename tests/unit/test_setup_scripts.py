"""The list of jars, and what the scripts say when something is missing."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts import parts
from tests.support.spark import OLDER_SPARK

PROJECT = Path(__file__).resolve().parents[2]


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def script(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300, check=False)


def test_every_jar_has_a_version_and_a_sha_256() -> None:
    listed = parts.read_list()
    assert set(listed) == {"kafka-connector", "kafka-broker", "delta"}
    for jars in listed.values():
        assert jars
        for jar in jars:
            assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256), jar.coordinates
            assert jar.version[0].isdigit()
        assert len({jar.path for jar in jars}) == len(jars)


def test_delta_is_built_for_the_spark_of_the_second_environment() -> None:
    spark = re.search(
        r"pyspark==(\d+\.\d+)", (PROJECT / "scripts" / "requirements-delta.txt").read_text(encoding="utf-8")
    )
    assert spark is not None
    assert any(jar.artifact == f"delta-spark_{spark[1]}_2.13" for jar in parts.read_list()["delta"])


def test_check_names_the_missing_part_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parts, "PARTS", tmp_path)
    assert parts.main(["--check", "delta"]) == 1
    said = capsys.readouterr().err
    assert "delta is missing, 2 of 2 jars: io.delta:delta-spark_4.2_2.13:" in said
    assert not list(tmp_path.iterdir())


def list_of_one(monkeypatch: pytest.MonkeyPatch, place: Path, content: bytes) -> parts.Jar:
    """Another list, with one jar of this content."""
    listed = place / "parts.txt"
    listed.write_text(
        f"[delta]\nio.delta:delta-storage:4.4.0  {hashlib.sha256(content).hexdigest()}\n", encoding="utf-8"
    )
    everything = parts.read_list
    monkeypatch.setattr(parts, "read_list", lambda: everything(listed))
    monkeypatch.setattr(parts, "PARTS", place)
    return parts.read_list()["delta"][0]


def test_a_part_that_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = list_of_one(monkeypatch, tmp_path, b"a whole jar")
    monkeypatch.setattr(parts, "fetch", lambda _: pytest.fail("fetched"))
    jar.path.parent.mkdir()
    jar.path.write_bytes(b"a whole jar")
    assert parts.main(["delta"]) == 0


@pytest.mark.parametrize("half", [b"a whole", b""])
def test_half_a_jar_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bytes) -> None:
    jar = list_of_one(monkeypatch, tmp_path, b"a whole jar")
    jar.path.parent.mkdir()
    jar.path.write_bytes(half)
    (tmp_path / "fetch-interrupted").mkdir()

    def retrieve(part: str, jars: list[parts.Jar], scratch: Path) -> str:
        (scratch / part).mkdir()
        (scratch / part / jar.path.name).write_bytes(b"a whole jar")
        return ""

    monkeypatch.setattr(parts, "retrieve", retrieve)
    assert parts.main(["delta"]) == 0
    assert jar.path.read_bytes() == b"a whole jar"
    assert not list(tmp_path.glob("fetch-*"))


def test_a_jar_with_another_content_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = list(parts.read_list()["delta"])

    def retrieve(part: str, jars: list[parts.Jar], scratch: Path) -> str:
        (scratch / part).mkdir()
        for jar in jars:
            (scratch / part / jar.path.name).write_bytes(b"something else")
        return ""

    monkeypatch.setattr(parts, "PARTS", tmp_path)
    monkeypatch.setattr(parts, "retrieve", retrieve)
    with pytest.raises(parts.PartsError, match=r"wrong SHA-256, not used: io\.delta:delta-spark"):
        parts.fetch(wanted)
    assert not any(jar.path.exists() for jar in wanted)


def test_ivy_is_not_asked_for_a_wrong_jar_from_its_cache_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = list_of_one(monkeypatch, tmp_path, b"a whole jar")
    cached = tmp_path / "ivy" / "io.delta" / "delta-storage" / "jars" / "delta-storage-4.4.0.jar"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"half")

    def retrieve(part: str, jars: list[parts.Jar], scratch: Path) -> str:
        (scratch / part).mkdir()
        (scratch / part / jar.path.name).write_bytes(
            cached.read_bytes() if cached.exists() else b"a whole jar"
        )
        return ""

    monkeypatch.setattr(parts, "retrieve", retrieve)
    assert parts.main(["delta"]) == 1
    assert parts.main(["delta"]) == 0


@pytest.mark.parametrize("name", ["setup", "run", "test"])
def test_help_says_how_the_script_is_called(name: str) -> None:
    done = script("sh", f"scripts/{name}", "--help")
    assert done.returncode == 0
    assert f"scripts/{name}" in done.stdout


def test_leaving_out_something_unknown_is_refused() -> None:
    done = script("sh", "scripts/setup", "tests", "--without", "kafka,nonsense")
    assert done.returncode == 1
    assert (
        done.stderr.strip()
        == "--without nonsense: choose from spark, spark-3.5, kafka, delta, browser, prometheus."
    )


def test_another_spark_gets_the_versions_that_are_installed_here() -> None:
    listed = text(PROJECT / "scripts" / "requirements-spark.txt").splitlines()
    pins = dict(line.split("==") for line in listed if not line.startswith("#"))
    assert pins.pop("pyspark") == "${SPARK_RELEASE}"
    assert pins == {name: version(name) for name in pins}


def test_the_older_spark_of_the_tests_is_the_one_that_is_set_up() -> None:
    assert f"\nOLDER_SPARK={OLDER_SPARK} " in text(PROJECT / "scripts" / "setup-lib.sh")


@pytest.mark.parametrize("release", ["3.2.4", "5.0.0", "3.5", "nonsense"])
def test_a_spark_that_the_oracle_does_not_know_is_refused(release: str) -> None:
    done = script("sh", "scripts/test", "--spark", release)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"{release} is not a Spark release that the oracle knows: name one from 3.3 to 4.3 in full"
    )


def test_what_is_left_out_is_skipped_with_that_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/spark/test_engines.py"]
    environment = {"PATH": "", "CHECKPOINT_EXPLORER_WITHOUT": "spark,kafka,delta"}
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout
    assert "left out by --without kafka" in done.stdout
    assert "left out by --without delta" in done.stdout
    assert "passed" not in done.stdout


def test_an_app_that_others_can_reach_does_not_start_without_the_names_it_is_reached_by() -> None:
    command = ["env", "CHECKPOINT_EXPLORER_ADDRESS=0.0.0.0", "scripts/run", "--port", "1"]
    started = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False)
    assert started.returncode == 1
    assert "name the hosts by which browsers reach it in CHECKPOINT_EXPLORER_HOSTS" in started.stderr
