"""One version, typed in one place: the package, ``--version``, every JSON answer and every generated script
carry it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import core
from core.cli import main
from core.recovery import OPTION_IDS, Answers, generate, read_recovery_context
from core.recovery.repairs import repair_of
from core.settings import PREFIX
from core.verbs import verbs
from tests.support.build import PROJECT, SAMPLES
from tests.unit.test_recovery_judgement import file_checkpoint, kafka_checkpoint

BUILT_FROM = ("core", "ui", "pages", "pyproject.toml", "requirements.txt", "README.md", "LICENSE")
MADE_BY = f"Made by checkpoint-explorer {core.__version__}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed, built from a copy so that nothing is left in the project."""
    place = tmp_path_factory.mktemp("package")
    for name in BUILT_FROM:
        if (PROJECT / name).is_dir():
            shutil.copytree(
                PROJECT / name, place / "source" / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(PROJECT / name, place / "source" / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    build = [
        *pip,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(place),
        str(place / "source"),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = place.glob("*.whl")
    assert wheel.name == f"checkpoint_explorer-{core.__version__}-py3-none-any.whl"
    install = [*pip, "install", "--no-deps", "--no-index", "--target", str(place / "site"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    return place / "site"


def test_the_version_is_a_release() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", core.__version__)


def test_the_changelog_has_a_section_of_this_version() -> None:
    releases = re.findall(
        r"^## (\d+\.\d+\.\d+)", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert releases[0] == core.__version__


def test_the_program_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"checkpoint-explorer {core.__version__}\n"


@pytest.mark.parametrize("verb", sorted(verbs().keys() - {"rehearse"}))  # it needs Spark: tests/spark
def test_every_json_answer_names_the_version(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(tmp_path))
    error = tmp_path / "error.txt"
    error.write_text("org.apache.spark.SparkException: nobody knows this one", encoding="utf-8")
    name = "state-format-2" if verb == "rows" else "kafka-pipeline-died-mid-batch"
    place = str(SAMPLES / name / "checkpoint")
    more = {
        "explain": ["--error", str(error)],
        "compare": [place],
        "evidence": ["--to", str(tmp_path / "taken.zip")],
        "report": ["--link", "https://host/overview?ck=a"],
    }.get(verb, [])
    status = main([verb, place, *more, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert status in (0, 1)
    assert list(answer)[:2] == ["schema_version", "version"]
    assert answer["version"] == core.__version__


@pytest.mark.parametrize("platform", ["pyspark", "databricks", "lakeflow"])
@pytest.mark.parametrize(
    "option", [each for each in OPTION_IDS if each != "restart" and repair_of(each) is None]
)
def test_every_generated_script_names_the_version(option: str, platform: str, tmp_path: Path) -> None:
    answers = Answers({"sink": "file", "platform": platform, "source_complete": "yes", "flows": "a.b.c"})
    for path in (file_checkpoint(tmp_path / "files"), kafka_checkpoint(tmp_path / "kafka")):
        blocks = generate(read_recovery_context(path, answers), option)  # type: ignore[arg-type]
        assert blocks
        for block in blocks:
            header = [line for line in block.text.splitlines()[:2] if line.startswith(("#", "--"))]
            assert any(line.endswith(MADE_BY) for line in header), block.title


@pytest.mark.slow
def test_the_installed_package_has_every_template_and_answers_from_another_folder(
    installed: Path, tmp_path: Path
) -> None:
    templates = {path.name for path in (PROJECT / "core/recovery/templates").glob("*.j2")}
    assert templates
    assert {path.name for path in (installed / "core/recovery/templates").glob("*.j2")} == templates
    assert (installed / "core/incident/report.html.j2").is_file()
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}

    def answer(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    for command in ([sys.executable, "-m", "core"], [str(installed / "bin" / "checkpoint-explorer")]):
        assert answer(*command, "--version") == f"checkpoint-explorer {core.__version__}\n"
    checkpoint = SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"
    code = answer(
        sys.executable, "-m", "core", "recover", str(checkpoint), "--option", "reset", "--set", "sink=file"
    )
    assert MADE_BY in code
    where = answer(
        sys.executable, "-c", "import core.recovery.code, ui, pages; print(core.recovery.code.__file__)"
    )
    assert Path(where.strip()).is_relative_to(installed)


def test_the_package_requires_exactly_what_the_app_is_tested_with(installed: Path) -> None:
    metadata = (next(installed.glob("checkpoint_explorer-*.dist-info")) / "METADATA").read_text(
        encoding="utf-8"
    )
    wanted = re.findall(
        r"^([\w-]+==\S+)", (PROJECT / "requirements.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert re.findall(r"^Requires-Dist: (\S+)$", metadata, flags=re.MULTILINE) == wanted
