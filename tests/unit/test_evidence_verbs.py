"""Every verb on an evidence file: the JSON that it gave of the checkpoint at the time, or one sentence why not.
A verb that is new fails here until it is said what it does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core.cli import main
from core.incident import take
from core.settings import PREFIX
from core.storage import Door
from core.verbs import MODULES
from tests.support.build import copy_sample
from tests.unit.test_evidence import STATEFUL, without

OF_THE_READING = ("location", "name", "requests", "read", "seconds", "root", "link")
"""Where and how it was read: the file in place of the directory."""
SECONDS = ("spark_checkpoint_read_seconds", "spark_checkpoint_survey_duration_seconds")
"""Metrics that say how long reading took."""
OF_EVIDENCE = ("Read at ", "As of ", "- Read at: ", "- Evidence ", "Evidence file SHA-256 ")
"""Lines of a report that say from what it was made; the checksum is in none of the checkpoint itself."""


class Asked(NamedTuple):
    """``arguments`` beside the location. ``needs_contents``: rows of the state are asked for, so that evidence
    without them says of which file. ``refusal``: the sentence of a verb that has no answer about evidence."""

    arguments: tuple[str, ...] = ()
    needs_contents: bool = False
    refusal: str = ""


ASKED: dict[str, tuple[Asked, ...]] = {
    "inspect": (Asked(("--all",)),),
    "resume": (Asked(), Asked(("--batch", "3"))),
    "forecast": (Asked(), Asked(("--spark", "3.5"))),
    "check": (Asked(), Asked(("--level", "deep"), needs_contents=True)),
    "state": (Asked(), Asked(("--replay",), needs_contents=True)),
    "rows": (Asked(("--limit", "5", "--reveal"), needs_contents=True),),
    "recover": (Asked(), Asked(("--option", "reset"))),
    "explain": (Asked(("--error", "ERROR")),),
    "changes": (Asked(), Asked(("--set", "change.keys=user:string"))),
    "compare": (Asked(("OTHER",)),),
    "report": (Asked(), Asked(("--format", "chat"))),
    "survey": (Asked(),),
    "metrics": (Asked(),),
    "incidents": (Asked(),),
    "evidence": (Asked(("--to", "NEW.zip"), refusal="is an evidence file already"),),
    "rehearse": (Asked(("--query", "QUERY"), refusal="give --set with source.0.schema"),),
}


class Place(NamedTuple):
    """A checkpoint that is purged later, and its evidence with and without contents of state."""

    checkpoint: Path
    full: Path
    plain: Path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr("core.storage.door.time.time_ns", lambda: 1_795_176_000_000_000_000)
    monkeypatch.setattr("time.time", lambda: 1_795_176_000.0)
    (tmp_path / "store").mkdir()
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(tmp_path / "store"))
    (tmp_path / "error.txt").write_text("java.lang.IllegalStateException: Error reading delta file 4.delta")
    (tmp_path / "query.py").write_text("def transform(df):\n    return df\n")
    checkpoint = copy_sample(STATEFUL, tmp_path / "place")
    copy_sample(STATEFUL, tmp_path / "other")
    made = [
        take(Door.open(str(checkpoint)), tmp_path / f"{name}.zip", with_state_contents=name == "full").path
        for name in ("full", "plain")
    ]
    return Place(checkpoint, *made)


Answering = Callable[[str, Path, Asked], tuple[int, Any, str]]


@pytest.fixture
def answer(tmp_path: Path, capsys: pytest.CaptureFixture[str], place: Place) -> Answering:
    checkpoint = place.checkpoint
    values = {
        "ERROR": str(tmp_path / "error.txt"),
        "QUERY": str(tmp_path / "query.py"),
        "NEW.zip": str(tmp_path / "new.zip"),
        "OTHER": str(tmp_path / "other" / "checkpoint"),
    }

    def run(verb: str, location: Path, asked: Asked) -> tuple[int, Any, str]:
        arguments = [values.get(each, each) for each in asked.arguments]
        status = main([verb, str(location), *arguments, "--json"])
        output = capsys.readouterr()
        text = output.out.replace(str(location), "THE PLACE").replace(str(checkpoint), "THE PLACE")
        return status, comparable(json.loads(text)) if text else None, output.err

    return run


def comparable(found: dict[str, Any]) -> Any:
    """An answer without how it was read."""
    if "metrics" in found:
        found["metrics"] = [each for each in found["metrics"] if each["name"] not in SECONDS]
    if "is_evidence" in found:
        for name in ("is_evidence", "evidence_sha256", "facts"):
            del found[name]
        lines = found["text"].splitlines()
        found["text"] = [line for line in lines if not line.startswith(OF_EVIDENCE)]
        assert len(found["text"]) >= len(lines) - 4
    return without(found, OF_THE_READING)


def differences(a: Any, b: Any, at: str = "") -> Iterator[str]:
    """Where two answers differ."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from differences(a[key], b[key], f"{at}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from differences(one, other, f"{at}[{number}]")
    elif a != b:
        yield f"{at}: {a!r} != {b!r}"


def test_every_verb_is_asked() -> None:
    assert set(ASKED) == set(MODULES)


@pytest.mark.parametrize("verb", MODULES)
def test_a_verb_answers_from_evidence_as_at_the_time(verb: str, place: Place, answer: Answering) -> None:
    before = [answer(verb, place.checkpoint, each) for each in ASKED[verb] if not each.refusal]
    before += [(2, None, "")] * (len(ASKED[verb]) - len(before))
    shutil.rmtree(place.checkpoint)
    for asked, (status, wanted, _) in zip(ASKED[verb], before, strict=True):
        for file in (place.full, place.plain):
            found, given, said = answer(verb, file, asked)
            if asked.refusal:
                assert (found, given) == (2, None) and asked.refusal in said and said.count("\n") == 1
            elif asked.needs_contents and file is place.plain:
                reasons = {part["path"]: part["reason"] for part in given["not_read"]}
                assert reasons and all(path.startswith("state/") for path in reasons)
                assert all(
                    "take the evidence with --with-state-contents" in why for why in reasons.values()
                ), reasons
            else:
                assert list(differences(given, wanted)) == [], (asked, file.name)
                assert found == status
