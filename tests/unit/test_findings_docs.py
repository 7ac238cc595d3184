"""Docs, catalogue and code have the same findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.analysis.findings import CATALOGUE
from core.analysis.findings.catalogue import action_of
from core.messages import say_of

PROJECT = Path(__file__).resolve().parents[2]
WORDS = {
    "blocks_restart": "blocks restart",
    "data_risk": "data risk",
    "attention": "attention",
    "note": "note",
}


def sections() -> dict[str, str]:
    """The sections of docs/findings.md by id."""
    parts = re.split(
        r"^## (\S+)$", (PROJECT / "docs/findings.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def code_ids() -> set[str]:
    """Every finding id that the analysis can give: capital words in quotes in its sources, outside the
    catalogue."""
    places = [
        *(PROJECT / "core/analysis/forecast").glob("*.py"),
        *(PROJECT / "core/analysis/findings").glob("*.py"),
    ]
    without = ("catalogue.py", "errors.py", "state_errors.py", "error_form.py", "delta_errors.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in places if path.name not in without)
    text = re.sub(r"^__all__ = \[.*?^\]", "", text, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r'"([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)"', text)) | {
        name for name in CATALOGUE if f'"{name}"' in text
    }


def test_every_finding_has_one_section_and_every_section_a_finding() -> None:
    assert list(sections()) == list(CATALOGUE)


@pytest.mark.parametrize("finding_id", list(CATALOGUE))
def test_a_section_says_severity_what_why_and_what_to_do(finding_id: str) -> None:
    section, entry = sections()[finding_id], CATALOGUE[finding_id]
    assert f"**{WORDS[entry.severity]}**" in section
    assert f"· {say_of('findings', 'TITLES', finding_id)} ·" in section
    assert f"*What to do.* {action_of(finding_id)}" in section.replace("\n", " ")
    assert "in all versions" in section if entry.since == "all" else entry.since in section
    for part in ("*What is so.*", "*Why it matters.*", "*What to do.*"):
        assert part in section


def test_the_code_gives_exactly_the_findings_of_the_catalogue() -> None:
    assert code_ids() == set(CATALOGUE)
