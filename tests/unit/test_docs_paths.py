"""The pages for developers name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.build import PROJECT

PAGES = (
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "docs/development.md",
    "scripts/bench/README.md",
    "tests/corpus/README.md",
)
FOLDERS = ("core/", "docs/", "pages/", "sample_checkpoints/", "scripts/", "tests/", "ui/", ".ci/")


def text_of(page: str) -> str:
    return (PROJECT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    quoted = re.findall(r"`([^`\n]+)`", text_of(page)) + re.findall(
        r"^ *(scripts/\S+)", text_of(page), re.MULTILINE
    )
    named = {
        word
        for text in quoted
        for word in text.split()
        if word.startswith(FOLDERS) and not re.search(r"[<*{]", word)
    }
    assert [name for name in sorted(named) if not (PROJECT / name.split("::")[0]).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of(page))
    place = (PROJECT / page).parent
    assert [link for link in links if "://" not in link and not Path(place / link).exists()] == []


def test_every_script_is_on_the_page_of_the_commands() -> None:
    page = text_of("docs/development.md")
    commands = {path.name for path in (PROJECT / "scripts").iterdir() if path.is_file() and not path.suffix}
    assert [name for name in sorted(commands) if f"scripts/{name}" not in page] == []


def test_every_folder_of_tests_is_on_the_page() -> None:
    page = text_of("docs/development.md")
    folders = {
        path.name for path in (PROJECT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert [name for name in sorted(folders) if f"| `tests/{name}` |" not in page] == []
