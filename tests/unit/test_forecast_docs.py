"""``docs/forecast.md`` shows what the program prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from core.analysis.forecast.model import StepStatus
from core.analysis.forecast.start import steps_of
from core.analysis.forecast.versions import V43
from core.cli import main

PROJECT = Path(__file__).resolve().parents[2]
DOCUMENT = (PROJECT / "docs/forecast.md").read_text(encoding="utf-8")
COMMAND = "$ python -m core "


def examples() -> list[tuple[str, list[str]]]:
    """Each command of the page with the lines that are shown below it."""
    blocks = re.findall(r"^```\n(.*?)^```$", DOCUMENT, flags=re.DOTALL | re.MULTILINE)
    shown = [block.splitlines() for block in blocks if block.startswith(COMMAND)]
    return [(lines[0].removeprefix(COMMAND), lines[1:]) for lines in shown]


@pytest.mark.parametrize(("command", "lines"), examples())
def test_the_lines_of_an_example_are_those_that_the_program_prints(
    command: str, lines: list[str], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(PROJECT)
    main(shlex.split(command))
    printed = capfdbinary.readouterr().out.decode().splitlines()
    assert lines and printed[0] == lines[0]
    at = 0
    for line in lines:
        if line == "...":
            continue
        assert line in printed[at:], f"not printed, or not in this order: {line}"
        at = printed.index(line, at) + 1


def test_the_page_has_an_example_and_every_status_of_a_step() -> None:
    assert examples()
    for status in StepStatus.__args__:  # type: ignore[attr-defined]
        assert f"`{status}`" in DOCUMENT


def test_the_page_has_a_row_for_every_step() -> None:
    table = DOCUMENT.split("| step | needs |")[1].split("\n\n")[0]
    assert len(table.strip().splitlines()) - 2 == len(steps_of(V43))
