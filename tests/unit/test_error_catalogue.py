"""Completeness: every condition of streaming, state and checkpoints in Spark's own catalogue has an answer,
and the documents say the same."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.errors import OPTION_TITLES, explain
from core.analysis.errors.catalogue import MEMBER, Condition, find_jar, parse_catalogue, spark_catalogue
from core.analysis.errors.known_texts import DATABRICKS, DELTA, KAFKA, PLAIN, Foreign
from core.analysis.errors.lookup import LOOKS
from core.analysis.errors.meanings import (
    ALIKE,
    HANDLED,
    LEGACY_NAMES,
    NOT_IN_FILES,
    action_of,
    is_known,
    meaning_of,
)
from core.analysis.errors.meanings_code import UNSEEN
from core.analysis.findings.catalogue import CATALOGUE as FINDINGS
from core.analysis.forecast.errors import ERRORS, spark_error
from core.messages import recovery
from core.recovery import OPTION_IDS
from scripts.error_page import errors_page
from tests.support.build import PROJECT

OWN_CONDITIONS = [condition.id for condition in spark_catalogue().of_streaming]
NAMES = sorted(HANDLED)
DETAILS = dict.fromkeys(
    [
        "batch",
        "id",
        "previous",
        "version",
        "highest",
        "latest",
        "interval",
        "in_log",
        "in_query",
        "before",
        "after",
        "committed",
    ],
    "7",
) | {
    "partition": "orders-0",
    "partitions": "orders-0",
    "file": "file:/ck/state/0/1/7.delta",
    "zip": "7.zip",
    "key": "spark.sql.streaming.multipleWatermarkPolicy",
    "value": "often",
    "field": "path",
    "text": "soon",
    "count": "2",
    "location": "file:/ck",
    "directory": "file:/ck/offsets",
}


def test_the_catalogue_is_read_from_the_installed_pyspark_without_a_jvm() -> None:
    catalogue = spark_catalogue()
    assert catalogue.spark is not None
    assert len(catalogue.conditions) > 1_000
    found = catalogue.get("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS")
    assert found is not None
    assert found.sqlstate == "58030"
    assert found.template.holes == ("fileToRead", "clazz", "fileToRead")


def test_the_catalogue_has_every_condition_of_the_file_and_every_part() -> None:
    jar = find_jar()
    assert jar is not None
    with zipfile.ZipFile(jar) as archive:
        document = json.loads(archive.read(MEMBER))
    expected = {
        *document,
        *(f"{name}.{part}" for name, entry in document.items() for part in entry.get("subClass") or {}),
    }
    assert set(spark_catalogue().conditions) == expected


@pytest.mark.parametrize("name", OWN_CONDITIONS)
def test_every_streaming_condition_of_spark_is_handled_or_listed_as_not_in_the_files(name: str) -> None:
    assert is_known(name), (
        f"{name} is new in Spark's catalogue: give it a meaning, or list it in UNSEEN with the reason"
    )


def test_a_condition_that_nobody_has_seen_would_be_noticed() -> None:
    document = {
        "STREAMING_SOMETHING_NEW": {"message": ["x"]},
        "PLAIN": {"message": ["The checkpoint <x> is odd."]},
        "SUM_TOO_LARGE": {"message": ["y"]},
    }
    new = [
        Condition(c.id, c.message, c.own_message, c.sqlstate)
        for c in parse_catalogue(document).values()
        if c.belongs
    ]
    assert [condition.id for condition in new] == ["STREAMING_SOMETHING_NEW", "PLAIN"]
    assert not any(is_known(condition.id) for condition in new)


def test_what_is_listed_as_not_in_the_files_exists_in_the_catalogue_and_has_a_reason() -> None:
    listed = [name for group in UNSEEN for name in group.ids]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(spark_catalogue().conditions)
    assert not set(listed) & set(HANDLED)
    assert all(group.text.unseen and group.text.action and group.text.means for group in UNSEEN)
    assert set(NOT_IN_FILES) == set(listed)


def test_names_that_stand_for_numbered_conditions_exist() -> None:
    assert set(LEGACY_NAMES) <= set(spark_catalogue().conditions)
    assert set(LEGACY_NAMES.values()) <= set(HANDLED)


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_says_what_is_so_what_to_do_and_where_to_look(name: str) -> None:
    meaning = HANDLED[name]
    assert meaning.means.endswith(".")
    assert action_of(meaning).endswith(".")
    assert meaning.options
    assert set(meaning.options) <= set(OPTION_TITLES)
    assert set(meaning.look) <= set(LOOKS)
    assert meaning.finding is None or meaning.finding in FINDINGS
    assert meaning.reasons or name.startswith(("STATE_REPARTITION", "STATE_REWRITER"))
    assert all(reason.endswith(".") for reason in meaning.reasons)


def test_every_entry_can_be_met() -> None:
    """By a condition of Spark or of a connector, or by a text or class of the table."""
    reachable = {
        *spark_catalogue().conditions,
        *KAFKA,
        *DELTA,
        *DATABRICKS,
        *LEGACY_NAMES.values(),
        *(known.name for known in PLAIN),
    }
    reachable |= {name.split(".")[0] for name in reachable}
    assert set(HANDLED) <= reachable
    assert set(ALIKE) <= set(HANDLED)


def test_every_error_of_the_table_and_of_the_connectors_has_a_meaning() -> None:
    assert [
        name for name in (*KAFKA, *DELTA, *DATABRICKS, *(known.name for known in PLAIN)) if not is_known(name)
    ] == []


@pytest.mark.parametrize(
    ("jars", "member", "known"),
    [
        ("kafka-connector", "error/kafka-error-conditions.json", KAFKA),
        ("delta", "error/delta-error-classes.json", DELTA),
    ],
)
def test_the_connectors_own_catalogue_agrees_when_the_connector_was_fetched(
    jars: str, member: str, known: Mapping[str, Foreign]
) -> None:
    documents = []
    for jar in (PROJECT / ".parts" / jars).glob("*.jar"):
        with zipfile.ZipFile(jar) as archive:
            documents += [json.loads(archive.read(member))] if member in archive.namelist() else []
    for document in documents:
        conditions = parse_catalogue(document)
        assert set(known) <= set(conditions)
        assert {name: conditions[name].sqlstate for name in known} == {
            name: entry.sqlstate for name, entry in known.items()
        }
        if known is KAFKA:
            assert set(conditions) == set(known)


def test_options_that_recovery_generates_have_its_titles() -> None:
    assert {option: OPTION_TITLES[option] for option in OPTION_IDS} == recovery.TITLES


@pytest.mark.parametrize("key", sorted(ERRORS))
def test_every_error_that_the_forecast_predicts_is_explained(key: str) -> None:
    """In the wording of each Spark version: with the condition in brackets where it has one, as the plain
    text otherwise."""
    for form in ERRORS[key]:
        error = spark_error(key, form.since, DETAILS)
        # The forecast leaves out the end of these messages.
        if key == "delta_missing":
            error = replace(
                error,
                message=f"{error.message}[id = (op=0,part=1),dir = x]: {DETAILS['file']} does not exist",
            )
        elif key == "source_log_gap_somewhere":
            error = replace(error, message=f"/ck/sources/0/3 {error.message}, compactInterval: 10)")
        elif key == "sst_size":
            error = replace(
                error,
                message=f"{error.message} file:/ck/1.sst to /tmp/1.sst, expected 9 bytes, found 7 bytes.",
            )
        elif key.startswith(("state_folder_missing", "state_files_missing")) and error.message.endswith(
            "/state/"
        ):
            rest = "0/0/1.delta of HDFSStateStoreProvider[id = (op=0,part=0),dir = x]: x does not exist"
            error = replace(
                error,
                message=error.message
                + (rest if "delta file" in error.message else "0/0/1.zip does not exist"),
            )
        if error.error_class in (None, "NullPointerException") and not error.message:
            continue  # nothing to recognise but the frames
        if error.condition is not None:
            answer = explain(
                f"org.apache.spark.{error.error_class}: [{error.condition}] {error.message} SQLSTATE:"
                f" {error.sqlstate}"
            )
            assert answer.condition == error.condition or error.condition == "INTERNAL_ERROR"
            assert answer.error_class == error.error_class
        elif len(error.message) > 10:
            answer = explain(
                f"[STREAM_FAILED] Query [id = x, runId = y] terminated with exception: {error.message}"
                " SQLSTATE: XXKST"
            )
        else:
            answer = explain(
                f"Caused by: x.{error.error_class}: {error.message}\n\tat"
                " org.apache.spark.sql.execution.streaming.state.X(A.scala:1)"
            )
        assert answer.name not in (None, "STREAM_FAILED"), error.message
        assert is_known(str(answer.name))


def test_a_condition_without_an_entry_takes_a_general_one() -> None:
    answer = explain("[AMBIGUOUS_REFERENCE] Reference x is ambiguous. SQLSTATE: 42704")
    assert (answer.name, answer.sqlstate) == ("AMBIGUOUS_REFERENCE", "42704")
    assert answer.unseen
    assert meaning_of("AMBIGUOUS_REFERENCE") is meaning_of("NO_SUCH_CONDITION")


def test_the_page_of_errors_is_made_from_the_tables() -> None:
    page = Path(PROJECT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert page == errors_page(), "run: python -m scripts.error_page > docs/errors.md"


@pytest.mark.parametrize("name", sorted({*HANDLED, *NOT_IN_FILES}))
def test_every_error_is_on_the_page(name: str) -> None:
    assert name in errors_page()
