"""The settings: read from the environment, documented, and silent about secrets."""

from __future__ import annotations

import ast
import json
import pickle
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from core.errors import InvalidSettingError
from core.settings import DEFAULTS, PREFIX, SAMPLES, Settings, load_settings

PROJECT = Path(__file__).resolve().parents[2]
DOCUMENT = PROJECT / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


def test_the_default_root_is_the_samples() -> None:
    settings = load_settings()
    assert {name: root.url for name, root in settings.roots.items()} == {"samples": str(SAMPLES)}
    assert not settings.has_own_roots
    assert SAMPLES.name == "sample_checkpoints"


def test_roots_come_as_json_with_and_without_storage_options(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {
        "local": "/data/ck",
        "prod": {"url": "s3://bucket/ck", "storage_options": {"key": "k", "secret": "s"}},
    }
    monkeypatch.setenv(PREFIX + "ROOTS", json.dumps(value))
    settings = load_settings()
    assert settings.has_own_roots
    assert settings.roots["local"].url == "/data/ck"
    assert settings.roots["local"].storage_options.get_secret_value() == {}
    assert settings.roots["prod"].storage_options.get_secret_value() == {"key": "k", "secret": "s"}


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + "CONCURRENT_REQUESTS", "8")
    monkeypatch.setenv(PREFIX + "ADDRESS", "0.0.0.0")
    settings = load_settings()
    assert (settings.concurrent_requests, settings.address) == (8, "0.0.0.0")


def test_storage_options_are_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"prod": {"url": "s3://bucket/ck", "storage_options": {"secret": "HIDDEN-VALUE"}}}
    monkeypatch.setenv(PREFIX + "ROOTS", json.dumps(value))
    settings = load_settings()
    shown = [
        repr(settings),
        str(settings),
        str(settings.model_dump()),
        settings.model_dump_json(),
        repr(settings.roots["prod"]),
    ]
    assert not any("HIDDEN-VALUE" in text for text in shown)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ROOTS", "not json HIDDEN-VALUE", "ROOTS is not valid JSON; write for example"),
        (
            "ROOTS",
            '{"a": {"url": "x", "secret": "HIDDEN-VALUE"}}',
            "ROOTS: a.secret: Extra inputs are not permitted",
        ),
        ("ROOTS", '{"a": {"storage_options": {"secret": "HIDDEN-VALUE"}}}', "ROOTS: a.url: Field required"),
        ("ROOTS", '{"a": {"url": "x", "storage_options": "HIDDEN-VALUE"}}', "ROOTS: a.storage_options"),
        ("KAFKA", "not json HIDDEN-VALUE", "KAFKA is not valid JSON; write for example"),
        ("KAFKA", '{"a/b": "HIDDEN-VALUE"}', 'the name of a broker must be plain text without "/" or ":"'),
        ("ROOTS", '["HIDDEN-VALUE"]', "ROOTS: Input should be a valid dictionary"),
        ("ROOTS", '{"a/b": "HIDDEN-VALUE"}', 'the name of a root must be plain text without "/" or ":"'),
        ("ROOTS", '{"..": "HIDDEN-VALUE"}', "the name of a root must be plain text"),
        ("CONCURRENT_REQUESTS", "many HIDDEN-VALUE", "CONCURRENT_REQUESTS: Input should be a valid integer"),
        ("CONCURRENT_REQUESTS", "0", "CONCURRENT_REQUESTS: Input should be greater than or equal to 1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_its_value_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(InvalidSettingError) as caught:
        load_settings()
    assert sentence in str(caught.value)
    assert PREFIX + name in str(caught.value)
    assert "HIDDEN-VALUE" not in str(caught.value)


def test_an_error_of_the_library_does_not_show_the_value_either() -> None:
    root = {"url": ["HIDDEN-VALUE"], "storage_options": {"secret": "HIDDEN-VALUE"}}
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"roots": {"a": root}})
    assert "HIDDEN-VALUE" not in str(caught.value)


def test_the_names_of_variables_are_the_same_in_small_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX.lower() + "first_view_batches", "7")
    assert load_settings().first_view_batches == 7


def test_every_setting_has_a_reason() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert len(field.description) > 60, name


def test_the_document_says_exactly_what_the_code_says() -> None:
    sections = re.findall(
        r"^## `(\w+)`\n\nDefault: ([^\n]+)\n\n(.+?)\n(?=\n##|\Z)",
        DOCUMENT.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    documented = {
        name: (default, " ".join(text.split("\n\n")[0].split())) for name, default, text in sections
    }
    expected = {}
    for name, field in Settings.model_fields.items():
        own = {"roots": "the samples of this project", "kafka": "none", "incident_store": "none"}
        default = own.get(name, f"`{field.default}`" if field.default != "" else "none")
        expected[PREFIX + name.upper()] = (default, field.description)
    assert documented == expected


# Settings are passed in


def test_the_defaults_do_not_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings() == DEFAULTS
    monkeypatch.setenv(PREFIX + "TABLE_VERSIONS", "7")
    assert (load_settings().table_versions, DEFAULTS.table_versions) == (7, 200)
    assert Settings.model_construct() == DEFAULTS


def test_settings_can_be_sent_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"prod": {"url": "s3://bucket/ck", "storage_options": {"key": "k", "secret": "s"}}}
    monkeypatch.setenv(PREFIX + "ROOTS", json.dumps(value))
    settings = load_settings()
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings
    assert copy.roots["prod"].storage_options.get_secret_value() == {"key": "k", "secret": "s"}


def _calls(*folders: str) -> list[tuple[str, ast.Call]]:
    paths = [path for folder in folders for path in sorted((PROJECT / folder).rglob("*.py"))]
    return [
        (f"{path.relative_to(PROJECT)}:{node.lineno}", node)
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]


def test_only_entry_points_read_the_environment() -> None:
    readers = {
        place.partition(":")[0]
        for place, call in _calls("core")
        if isinstance(call.func, ast.Name) and call.func.id in ("get_settings", "load_settings", "Settings")
    }
    # the command line, and register(spark) of a notebook
    assert readers == {"core/cli.py", "core/settings.py", "core/spark/datasource.py"}


def test_the_product_passes_its_settings_wherever_something_is_opened() -> None:
    """The defaults are for library users; with them a server would not be confined to its roots."""
    opened = [
        (place, call)
        for place, call in _calls("core", "ui", "pages")
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "open"
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in ("Door", "Checkpoint", "DeltaLog", "FileSinkLog")
    ]
    assert len(opened) >= 15
    without = [place for place, call in opened if len(call.args) < 2]
    assert without == []
