"""The words of the field: what docs/glossary.md rules out stands in no sentence, page, document or generated script, and sentences stand in
the catalogue."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

# Words that users of Spark do not use, and what they say.
BANNED: dict[str, str] = {
    r"\banew\b": "again, recreate",
    r"\bgo(es|ing|ne)? on\b|\bwent on\b": "resume, continue",
    r"\b(both|two|the|these|its) ends\b(?! (at|in|with|below|before))": "source and sink",
    r"\b(the query|it|spark|query) (dies|died)\b": "fails",
    r"\btold\b": "known, reported",
    r"\bin doubt\b": "not committed",
    r"(?<!\.)\botherwise\b": "differently, or else",
    r"\bsays? this position\b": "starts at this position",
    r"\bby (their|its) number\b": "by batch ID",
    r"\bwithout a word\b": "silently",
    r"\bset back\b": "rolled back",
    r"\bprice of (deleting|it)\b": "impact of deleting",
    r"\bshort cut\b": "common mistake",
    r"\bmend(s|ed|ing)?\b": "repair",
    r"(?<!there )\b(is|are) no checkpoints?\b": "is not a checkpoint",
    r"\bbegin a new checkpoint\b": "start the query with a new checkpoint location",
    r"\btime line of\b": "rollback",
    r"\bways? out\b(?! of)": "recovery option",
    r"\bhealthy\b": "No problems found in ...; not checked: ...",
    r"\bTODO\b|\bFIXME\b": "an issue",
}
WORDS = re.compile("|".join(f"({pattern})" for pattern in BANNED), re.IGNORECASE)
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{path.name}" for path in sorted((PROJECT / "docs").glob("*.md"))),
]
QUOTES_THEM = {"docs/glossary.md"}

# Rooms whose texts are Spark's own words, code, or data to compare with.
ELSEWHERE = (
    "core/analysis/forecast/error_form.py",
    "core/analysis/forecast/errors.py",
    "core/analysis/forecast/state_errors.py",
    "core/analysis/forecast/delta_errors.py",
    "core/analysis/errors/known_texts.py",
    "core/analysis/findings/catalogue.py",  # Spark versions
    "core/settings.py",  # the reason of a setting stands beside it; docs/settings.md repeats it
)
KIT = "core/recovery/kit/"  # scripts carry it to where there is no catalogue
OF_OTHERS = ("Failed to create admin client", "Invalid value for configuration property")  # librdkafka
SENTENCE = re.compile(r"[A-Za-z][a-z]+(?:[ ,;:]+[a-zA-Z{}'-]+){4,}")


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module but its docstrings, f-strings joined with their holes."""
    tree = ast.parse(path.read_text())
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [piece.value if isinstance(piece, ast.Constant) else "{}" for piece in node.values]
            parts.update(id(piece) for piece in ast.walk(node))
            yield node.lineno, "".join(map(str, pieces))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documentation.add(id(node.value))  # a text that stands alone documents the name above it
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation | parts
        ):
            yield node.lineno, node.value


def is_sentence(text: str) -> bool:
    """Whether a text has five words in a row, and is neither code nor what another library says."""
    found = SENTENCE.search(text)
    if found is None or text.startswith(OF_OTHERS) or "import " in text:
        return False
    return len(re.findall(r"[A-Za-z]{2,}", found[0])) >= 4


def product() -> list[Path]:
    """The modules whose texts people read."""
    return [path for room in ("core", "ui", "pages") for path in sorted((PROJECT / room).rglob("*.py"))]


def complaints(place: str, text: str) -> list[str]:
    """The banned words of a text, with what to say."""
    found = []
    for match in WORDS.finditer(text):
        instead = list(BANNED.values())[
            next(i for i, group in enumerate(_groups(match)) if group is not None)
        ]
        found.append(
            f"{place}: {match[0]!r} (say: {instead}) in {text[max(0, match.start() - 40) : match.end() + 30]!r}"
        )
    return found


def _groups(match: re.Match[str]) -> list[str | None]:
    """The group of each banned pattern; groups inside the patterns are passed over."""
    at, found = 1, []
    for pattern in BANNED:
        found.append(match[at])
        at += 1 + re.compile(pattern).groups
    return found


@pytest.mark.parametrize("path", product(), ids=lambda path: str(path.relative_to(PROJECT)))
def test_no_banned_word_in_what_a_module_says(path: Path) -> None:
    found = [
        each
        for line, text in strings(path)
        for each in complaints(f"{path.relative_to(PROJECT)}:{line}", text)
    ]
    assert not found


@pytest.mark.parametrize(
    "path",
    [*sorted((PROJECT / "core/recovery/templates").iterdir()), *sorted((PROJECT / KIT).glob("*.py"))],
    ids=lambda path: path.name,
)
def test_no_banned_word_in_generated_code(path: Path) -> None:
    assert not complaints(path.name, path.read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_banned_word_in_the_documents(document: str) -> None:
    if document in QUOTES_THEM:
        return
    lines = (PROJECT / document).read_text().splitlines()
    assert not [
        each
        for number, line in enumerate(lines, start=1)
        for each in complaints(f"{document}:{number}", line)
    ]


@pytest.mark.parametrize("path", product(), ids=lambda path: str(path.relative_to(PROJECT)))
def test_sentences_stand_in_the_catalogue(path: Path) -> None:
    relative = path.relative_to(PROJECT).as_posix()
    if relative.startswith(("core/messages/", KIT)) or relative in ELSEWHERE:
        return
    found = [f"{relative}:{line}: {text[:100]!r}" for line, text in strings(path) if is_sentence(text)]
    assert not found


def test_the_glossary_names_each_banned_word() -> None:
    page = (PROJECT / "docs/glossary.md").read_text().lower()
    for word in (
        "anew",
        "go on",
        "both ends",
        "die",
        "in doubt",
        "set back",
        "price of deleting",
        "holds",
        "healthy",
    ):
        assert word in page, word
