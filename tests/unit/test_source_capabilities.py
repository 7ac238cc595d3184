"""Kinds of sources say what they can; no other room compares them by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.checkpoint.sources.base import SourceKind
from core.checkpoint.sources.registry import KIND_NAMES, KINDS, kind_named

ROOT = Path(__file__).parents[2]
OWN_ROOMS = ("core/checkpoint/sources/", "core/connectors/")
"""The kinds themselves, and the connectors, which are adapters to one of them each."""


def _modules() -> Iterator[Path]:
    for room in ("core", "ui", "pages"):
        yield from sorted((ROOT / room).rglob("*.py"))
    yield ROOT / "app.py"


def _compares_by_name(tree: ast.AST) -> Iterator[int]:
    """The lines that compare a kind with the name of one, or look something up by such a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_kind(side) for side in sides) and any(_names(side) for side in sides):
                yield node.lineno
        elif (isinstance(node, ast.Subscript) and _is_name_of_kind(node.slice)) or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".get")
            and any(map(_is_name_of_kind, node.args[:1]))
        ):
            yield node.lineno


def _is_kind(side: ast.expr) -> bool:
    text = ast.unparse(side)
    return text.rpartition(".")[2] in ("kind", "kinds") or text.endswith("kind.name") or ".kinds." in text


def _is_name_of_kind(node: ast.expr) -> bool:
    return ast.unparse(node).endswith(("kind.name", "source.kind"))


def _names(side: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and node.value in KIND_NAMES for node in ast.walk(side))


def test_no_room_compares_kinds_by_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in _modules()
        if not str(path.relative_to(ROOT)).startswith(OWN_ROOMS)
        for line in _compares_by_name(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'source.kind.name == "kafka"',
        'source.kind in ("file", "delta")',
        's.kinds.get(key) != "file"',
        'kinds <= {"file", "kafka"}',
        "WORDS[source.kind.name]",
        "WORDS.get(source.kind, 1)",
    ],
)
def test_the_search_finds_such_a_comparison(line: str) -> None:
    assert list(_compares_by_name(ast.parse(line))) == [1]


def _named(capability: str) -> set[str]:
    return {kind.name for kind in KINDS if getattr(kind, capability) not in (None, False)}


def test_each_capability_belongs_to_the_kinds_it_was_shown_for() -> None:
    assert {kind.name: kind.asks for kind in KINDS if kind.asks} == {
        "kafka": "broker",
        "delta": "table",
        "file": "directory",
    }
    assert _named("has_place") == {"delta", "file"}
    assert _named("has_own_log") == {"file"}
    assert _named("takes_topics") == _named("is_parsed_when_planned") == {"kafka"}
    assert _named("reader_format") == _named("fails_on_data_loss") == {"kafka", "delta"}
    assert {kind.name: kind.seed for kind in KINDS if kind.seed} == {
        "kafka": "offset_text",
        "delta": "offset_text",
        "file": "file_source_log",
    }
    assert _named("needs_seed") == {"file", "delta"}
    assert _named("is_seeded_twice") == {"delta"}
    assert _named("can_warm_up") == {"file", "kafka"}
    assert _named("can_skip") == {"file", "kafka", "delta", "rate", "rate_micro_batch"}
    assert _named("positions_only_grow") == {"kafka", "event_hubs"}


def test_what_was_read_can_be_read_again_always_or_never_or_while_it_is_retained() -> None:
    assert {kind.name for kind in KINDS if kind.replay == "never"} == {"socket", "memory"}
    assert {kind.name for kind in KINDS if kind.replay == "always"} == {
        "rate",
        "rate_micro_batch",
        "rate_continuous",
    }


def test_a_start_at_the_earliest_position_needs_an_option_with_kafka_alone() -> None:
    assert {kind.name: dict(kind.earliest_options) for kind in KINDS if kind.earliest_options} == {
        "kafka": {"startingOffsets": "earliest"}
    }


@pytest.mark.parametrize("name", ["delta_sharing", "event_hubs", "auto_loader", "python", "unknown"])
def test_a_kind_of_the_same_form_has_not_the_capabilities_of_the_one_it_looks_like(name: str) -> None:
    kind: SourceKind | None = kind_named(name)
    assert kind is not None
    assert (kind.asks, kind.seed, kind.needs_seed, kind.reader_format) == (None, None, False, None)
