"""The archive of Spark's classes: Java takes them from it, and starts the same without it, whatever lies there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.spark.java import archive_of, archive_options, java_options, stamp_of
from scripts import class_archive

STARTS = "org.apache.spark.deploy.SparkSubmit"


def start(options: str, place: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Spark's own start script, which prints its version, with these options of Java; and from where each class
    came."""
    found, log = class_archive.find_spec("pyspark"), place / "classes.log"
    assert found is not None and found.origin is not None
    submit = Path(found.origin).parent / "bin" / "spark-submit"
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))
    }
    done = subprocess.run(
        [submit, *more, "--driver-java-options", f"{options} -Xlog:class+load:file={log}", "--version"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=place,
        env=environment,
    )
    return done, log.read_text(encoding="utf-8", errors="replace")


def source_of(name: str, log: str) -> str:
    return next(line for line in log.splitlines() if f" {name} " in line).partition("source: ")[2]


@pytest.mark.spark
def test_java_takes_the_classes_of_spark_from_the_archive(tmp_path: Path) -> None:
    options = java_options(tmp_path)
    assert str(archive_of()) in options, "scripts/setup tests makes it"
    done, log = start(options, tmp_path)
    assert source_of(STARTS, log) == "shared objects file (top)"
    assert done.stdout == ""


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["other bytes", "garbage", "empty"])
def test_an_archive_that_does_not_fit_changes_nothing(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "classes.jsa"
    if kind == "other bytes":
        shutil.copyfile(archive_of(), archive)
        with archive.open("r+b") as file:
            file.seek(archive.stat().st_size // 3)
            file.write(b"other bytes here")
    else:
        archive.write_bytes(b"not an archive\n" * 10_000 if kind == "garbage" else b"")
    stamp_of(archive).write_text(json.dumps({"size_bytes": archive.stat().st_size}), encoding="utf-8")
    options = archive_options(archive)
    assert options
    done, log = start(options, tmp_path)
    assert source_of(STARTS, log).endswith(".jar")
    assert done.stdout == "" and "rchive" not in done.stderr


@pytest.mark.spark
def test_another_class_path_is_not_taken_from_it(tmp_path: Path) -> None:
    jar = tmp_path / "first.jar"
    subprocess.run([sys.executable, "-m", "zipfile", "-c", str(jar), __file__], check=True)
    done, log = start(archive_options(archive_of()), tmp_path, "--driver-class-path", str(jar))
    assert source_of(STARTS, log).endswith(".jar")
    assert done.stdout == ""


@pytest.mark.parametrize("stamp", [b'{"size_bytes": 6}', b"{", b"[]", b'{"size_bytes": "5"}', None])
def test_one_that_is_not_whole_is_left_out(tmp_path: Path, stamp: bytes | None) -> None:
    """Java 17 dies of one that was cut: SIGBUS."""
    archive = tmp_path / "classes.jsa"
    archive.write_bytes(b"there")
    if stamp is not None:
        stamp_of(archive).write_bytes(stamp)
    assert archive_options(archive) == ""
    stamp_of(archive).write_bytes(b'{"size_bytes": 5}')
    assert archive_options(archive)
    archive.unlink()
    archive.mkdir()
    assert archive_options(archive) == ""


@pytest.mark.parametrize("name", ["with blank", "with'quote", 'with"quote'])
def test_a_place_that_spark_would_split_is_left_out(tmp_path: Path, name: str) -> None:
    archive = tmp_path / name / "classes.jsa"
    archive.parent.mkdir()
    archive.write_bytes(b"there")
    stamp_of(archive).write_bytes(b'{"size_bytes": 5}')
    assert archive_options(archive) == ""
    assert "SharedArchiveFile" not in java_options(tmp_path, archive)


def test_without_java_nothing_is_made_and_nothing_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert class_archive.main([str(tmp_path / "made" / "classes.jsa")]) == 0
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("version", "is_tried"), [('openjdk version "17.0.15"', True), ('java version "1.8.0_402"', False)]
)
def test_a_java_that_makes_none_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: str,
    is_tried: bool,
) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n[ \"$1\" = -version ]\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert class_archive.main([str(tmp_path / "made" / "classes.jsa")]) == 0
    said = capsys.readouterr().err
    assert ("could not be kept" in said) == is_tried
    assert not list(tmp_path.rglob("*.jsa*")) and not list(tmp_path.rglob("*.json"))


@pytest.mark.spark
def test_a_second_call_keeps_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    before = archive_of().stat()
    assert class_archive.main([]) == 0
    assert archive_of().stat() == before
    assert capsys.readouterr().err == ""
