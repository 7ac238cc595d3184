"""Every answer against its published JSON Schema: all verbs, all samples, all of the corpus, and the parts
that only a broker can fill."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections import Counter
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from jsonschema import Draft202012Validator

import core.documents
from core import __version__
from core.analysis.findings.liveness import Liveness
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.documents.base import Document, Part, to_json, to_text
from core.documents.check import check_document
from core.documents.forecast import forecast_document
from core.documents.inspect import inspect_document
from core.judgement import judge
from core.sparklogs.evidence import Evidence
from core.verbs import MODULES
from scripts.compare_answers import prepare, run
from scripts.make_schemas import DOCUMENTS, TARGET, text_of
from tests.support.brokers import answered, at, checkpoint_at, connectors_of
from tests.support.build import kafka_checkpoint

VERBS = tuple(DOCUMENTS)


def published(verb: str) -> dict[str, Any]:
    """The schema as a user finds it."""
    return dict(json.loads((TARGET / f"{verb}.json").read_text()))


def closed(schema: Any) -> Any:
    """The same schema without room for other fields: what today's program prints is all described."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and isinstance(schema["properties"], dict):
        found["additionalProperties"] = False
    return found


def errors(verb: str, answer: Any) -> list[str]:
    """What is wrong with an answer, by its published schema."""
    validator = Draft202012Validator(closed(published(verb)))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(answer)]


def test_every_verb_has_a_schema_and_every_schema_a_verb() -> None:
    assert set(VERBS) == set(MODULES)
    assert {path.stem for path in TARGET.glob("*.json")} == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_published_schema_is_that_of_the_code(verb: str) -> None:
    assert (TARGET / f"{verb}.json").read_text() == text_of(verb), "run python -m scripts.make_schemas"
    Draft202012Validator.check_schema(published(verb))


@pytest.mark.parametrize("verb", VERBS)
def test_the_schema_names_versions_and_location_and_requires_every_field(verb: str) -> None:
    schema = published(verb)
    assert schema["properties"]["schema_version"]["const"] == 1
    assert {"schema_version", "version", "location"} <= set(schema["required"])
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            assert set(part["required"]) == set(part["properties"])
    assert __version__ not in json.dumps(schema)


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, Any]]]:
    """What every verb answers on every sample and every corpus entry."""
    scratch, target = tmp_path_factory.mktemp("scratch"), tmp_path_factory.mktemp("answers")
    prepare(scratch)
    run(target, scratch, [])
    found: dict[str, list[tuple[str, Any]]] = {verb: [] for verb in VERBS}
    for path in sorted(target.glob("*.json")):
        answer = json.loads(path.read_text())["answer"]
        if answer is not None:
            found[path.stem.split()[-1].partition("-")[0].partition("+")[0]].append((path.stem, answer))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [verb for verb in VERBS if verb not in ("rehearse", "incidents")]
)  # tests/spark/test_rehearse.py, tests/storage/test_kept_evidence.py
def test_every_answer_on_samples_and_corpus_is_as_its_schema_says(
    verb: str, answers: dict[str, list[tuple[str, Any]]]
) -> None:
    # 16 samples and 21 corpus entries; rows can be asked of those that keep state, and where one kind is kept
    assert len(answers[verb]) >= (9 if verb == "rows" else 37)
    wrong = {name: found for name, answer in answers[verb] if (found := errors(verb, answer))}
    assert wrong == {}
    assert all(answer["version"] == __version__ and answer["location"] for _, answer in answers[verb])


@pytest.mark.slow
def test_the_answers_fill_sink_source_plan_and_problems(answers: dict[str, list[tuple[str, Any]]]) -> None:
    seen: Counter[str] = Counter()
    for _, answer in answers["forecast"]:
        seen["sink"] += answer["sink"] is not None
        seen["delta source"] += any(source["kind"] == "delta" for source in answer["sources"])
        seen["error"] += answer["error"] is not None
        seen["risk"] += bool(answer["risks"])
    for _, answer in answers["recover"]:
        seen["plan"] += answer["plan"] is not None
        seen["code"] += bool(answer["code"])
    for _, answer in answers["inspect"]:
        seen["problem"] += bool(answer["problems"])
        seen["operator"] += bool(answer["operators"])
    seen["not recognised"] += sum(answer["name"] is None for _, answer in answers["explain"])
    assert len(seen) == 9 and all(seen.values()), seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "path", "value"),
    [
        ("forecast", ("outcome",), "maybe"),
        ("forecast", ("batch_id",), "5"),
        ("forecast", ("data", "append"), "perhaps"),
        ("forecast", ("spark",), None),
        ("check", ("level",), "deepest"),
        ("check", ("read", "get"), "many"),
        ("recover", ("options", 0, "complexity"), "none"),
        ("state", ("operators",), None),
        ("inspect", ("offsets", "ids"), [0, "1"]),
        ("explain", ("shown",), "perhaps"),
        ("resume", ("committed",), None),
    ],
)
def test_a_wrong_value_or_an_absent_field_is_against_the_schema(
    answers: dict[str, list[tuple[str, Any]]], verb: str, path: tuple[str | int, ...], value: object
) -> None:
    answer = json.loads(json.dumps(answers[verb][0][1]))
    place = answer
    for step in path[:-1]:
        place = place[step]
    assert not errors(verb, answer)
    place[path[-1]] = value
    assert errors(verb, answer)
    del place[path[-1]]
    assert errors(verb, answer)


def test_what_a_broker_said_is_as_the_schema_says(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(checkpoint_at(tmp_path, {"orders": {0: 10}}, {"orders": {0: 20}}, pending=True)))
    connectors = connectors_of(answered({("orders", 0): at(12, 30, 10)}))
    answer = json.loads(to_text(forecast_document(judge(ck, connectors))))
    assert [source["kind"] for source in answer["sources"]] == ["kafka"]
    assert answer["sources"][0]["topics"] and answer["sources"][0]["partitions"]
    assert errors("forecast", answer) == []


def test_a_source_that_could_not_be_asked_says_why(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3))))
    connectors = ConnectorAnswers(troubles={"source 0": "The table is not there."})
    answer = json.loads(to_text(forecast_document(judge(ck, connectors))))
    assert answer["sources"] == [
        {"key": "0", "kind": "kafka", "partitions": [], "trouble": "The table is not there."}
    ]
    assert errors("forecast", answer) == []


def test_a_check_that_watched_says_whether_a_query_writes(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3))))
    seen = Liveness("active", "certain", "A query is writing.", (Evidence("offsets/2"),), 5.0)
    answer = to_json(check_document(judge(ck), seen))
    assert answer["liveness"] == {
        "writer": "active",
        "certainty": "certain",
        "sentence": "A query is writing.",
        "evidence": ["offsets/2"],
        "seconds": 5.0,
    }
    assert errors("check", answer) == []


def parts() -> list[type[Part]]:
    """Every class of ``core/documents``."""
    for _, name, _ in pkgutil.iter_modules(core.documents.__path__):
        importlib.import_module(f"core.documents.{name}")
    found, waiting = [], [Part]
    while waiting:
        below = waiting.pop().__subclasses__()
        found += below
        waiting += below
    return sorted(set(found), key=lambda part: (part.__module__, part.__name__))


def test_every_object_of_an_answer_is_frozen_and_described() -> None:
    for part in parts():
        assert dataclasses.is_dataclass(part) and part.__dataclass_params__.frozen, part  # type: ignore[attr-defined]
        assert part.__doc__ and not part.__doc__.startswith(f"{part.__name__}("), part
        assert get_type_hints(part)


def test_a_keyword_of_python_is_a_plain_name_in_json(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3))))
    text = to_text(inspect_document(ck))
    assert not [name for name in json.loads(text) if name.endswith("_")]
    assert isinstance(inspect_document(ck), Document) and "\n" not in text
