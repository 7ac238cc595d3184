"""The catalogue of sentences: every key that the code asks for is there with exactly its fields, and nothing
in it is unused."""

from __future__ import annotations

import ast
import pickle
import pkgutil
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter

import orjson
import pytest

import core.messages
from core.messages import Sentence, controls, say, words

PROJECT = Path(__file__).resolve().parents[2]
OWN = {"catalogue", "controls", "words"}
ROOMS = sorted(name for _, name, _ in pkgutil.iter_modules(core.messages.__path__) if name not in OWN)


def tables(room: str) -> dict[str, dict[str, str]]:
    """The tables of one catalogue module: capital names that hold texts by key."""
    module = import_module(f"core.messages.{room}")
    found = {
        name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, dict)
    }
    return {
        name: dict(value) for name, value in found.items() if all(isinstance(v, str) for v in value.values())
    }


def fields(template: str) -> set[str]:
    """The names of the fields of a template."""
    return {
        name.split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(template) if name is not None
    }


@cache
def calls() -> list[tuple[str, ast.Call]]:
    """Every call of ``say`` and ``say_of`` in the product, with its place."""
    paths = [path for folder in ("core", "ui", "pages") for path in sorted((PROJECT / folder).rglob("*.py"))]
    return [
        (f"{path.relative_to(PROJECT)}:{node.lineno}", node)
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("say", "say_of")
    ]


def literal(node: ast.expr) -> str | None:
    """The text of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def keys_of(node: ast.expr) -> list[str]:
    """The keys that the first argument can be: a literal, or one of two literals."""
    if isinstance(node, ast.IfExp):
        return [*keys_of(node.body), *keys_of(node.orelse)]
    text = literal(node)
    return [] if text is None else [text]


def test_every_key_of_the_code_is_in_the_catalogue_with_exactly_its_fields() -> None:
    for place, call in calls():
        if isinstance(call.func, ast.Name) and call.func.id == "say_of":
            room, table = literal(call.args[0]), literal(call.args[1])
            assert room is not None and table is not None and table in tables(room), f"{place}: no such table"
            continue
        keys = keys_of(call.args[0])
        assert keys, f"{place}: the key is not a literal; ids choose texts through say_of"
        given = {keyword.arg for keyword in call.keywords}
        for key in keys:
            room, _, name = key.partition(".")
            assert room in ROOMS and name in tables(room)["SENTENCES"], (
                f"{place}: {key} is not in the catalogue"
            )
            if None not in given:
                wanted = fields(tables(room)["SENTENCES"][name])
                assert given == wanted, (
                    f"{place}: {key} has the fields {sorted(wanted)}, given are {sorted(map(str, given))}"
                )


def test_what_pages_say_in_place_of_options_stands_in_the_catalogue() -> None:
    sources = (PROJECT / "core" / "messages").glob("*.py")
    every = "".join(path.read_text() for path in sources if path.name != "controls.py")
    every = re.sub(r'"\n\s*f?"', "", every)
    assert not [words for words in controls.ON_PAGES if words not in every]
    told = str(say("findings.with_rewind", action="Stop.", batch=4))
    assert "--option rewind --set to_batch=4" in told
    assert controls.on_page(told).endswith('page Recovery, "Rewind to an earlier batch", batch 4.')


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Restore it, or use full_refresh.", 'Restore it, or use "Full table refresh".'),
        ("The option repair_files does it.", 'The option "Repair single files of the checkpoint" does it.'),
        ("Back up (backup_and_backfill).", 'Back up (option "Full refresh with backup and backfill").'),
        ("recover_full_refresh.py", "recover_full_refresh.py"),
        ("recover --option full_refresh", "recover --option full_refresh"),
        ("rewind or restart the query", "rewind or restart the query"),
    ],
)
def test_a_page_names_options_by_their_titles(said: str, shown: str) -> None:
    assert controls.on_page(said) == shown


@pytest.mark.parametrize("room", [room for room in ROOMS if room.startswith("recovery")])
def test_sentences_of_recovery_name_the_controls_of_the_page(room: str) -> None:
    """Not what stands in the code itself."""
    if room in ("recovery_code", "recovery_plan"):
        return
    for text in (text for table in tables(room).values() for text in table.values()):
        shown = controls.on_page(text)
        assert not re.search(r"\(--|\(answer |answer to_batch|--sink", shown), shown


@pytest.mark.parametrize("room", ROOMS)
def test_no_sentence_of_the_catalogue_is_unused(room: str) -> None:
    used = {key for _, call in calls() for key in keys_of(call.args[0])}
    unused = [name for name in tables(room).get("SENTENCES", {}) if f"{room}.{name}" not in used]
    assert not unused


@pytest.mark.parametrize("room", ROOMS)
def test_templates_can_be_parsed_and_their_formats_are_known(room: str) -> None:
    for table, texts in tables(room).items():
        for name, template in texts.items():
            for _, field, spec, _ in Formatter().parse(template):
                if field is None or not spec:
                    continue
                known = spec.partition(" ")[0] in words.WRITERS or spec[-1] in ",dfsgr%" or spec.isdigit()
                assert known, f"{room}.{table}.{name}: {{{field}:{spec}}} is no format"


def test_a_sentence_is_text_that_remembers_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    room = import_module("core.messages.catalogue")
    monkeypatch.setattr(
        room,
        "_table",
        lambda room, table: {"kept": "{n:counted batch} of {size:size}, {ids:batches}, {n:one is/are}"},
    )
    sentence = say("any.kept", n=2, size=4096, ids=[3, 4, 5])
    assert sentence == "2 batches of 4.0 KiB, batches 3 to 5, are"
    assert isinstance(sentence, str) and sentence.key == "any.kept" and sentence.values["n"] == 2
    assert orjson.loads(orjson.dumps({"sentence": sentence})) == {"sentence": str(sentence)}
    copy = pickle.loads(pickle.dumps(sentence))
    assert copy == sentence and copy.key == sentence.key


def test_a_text_from_a_checkpoint_is_a_value_and_never_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    room = import_module("core.messages.catalogue")
    monkeypatch.setattr(room, "_table", lambda room, table: {"file": "{path} is empty"})
    assert say("any.file", path="{path.__class__} {0}") == "{path.__class__} {0} is empty"


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], "no batch"),
        ([5], "batch 5"),
        ([5, 6], "batches 5 and 6"),
        ([5, 6, 7], "batches 5 to 7"),
        ([1, 3, 9], "batches 1, 3 and 9"),
    ],
)
def test_batch_ids_in_words(ids: list[int], text: str) -> None:
    assert words.batches(ids) == text


def test_sentences_are_plain_text_in_other_sentences() -> None:
    assert type(Sentence("a") + "b") is str
