"""Nothing that this project does to a checkpoint writes: every sample is read under watchers that raise on
any attempt."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from fsspec.spec import AbstractFileSystem

from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.state_rows import row_choices
from core.cli import main
from core.documents.inspect import inspect_document
from core.settings import PREFIX, RootSettings, Settings
from core.storage import Door
from core.storage.roots import find_checkpoints
from core.verbs import verbs
from tests.support import spy as spy_module
from tests.support.spy import SpyFileSystem, WriteAttempted, no_writes, spy_file_system

ERROR = b"java.lang.IllegalStateException: batch 1 doesn't exist"
NEEDED = {"explain": ["--error", "-"]}
SAMPLES = Path(__file__).resolve().parents[2] / "sample_checkpoints"
# Every sample is read; on these every verb runs too. Between them: Kafka, Delta and files, with and without
# state, both state store providers, a pending batch.
FOR_VERBS = (
    "delta-stopped-in-first-snapshot",
    "dropduplicates-removed",
    "kafka-pipeline-died-mid-batch",
    "transform-with-state-timers",
)


def sample_directories() -> list[Path]:
    return sorted({path.parent for path in SAMPLES.rglob("offsets") if (path.parent / "metadata").exists()})


@pytest.fixture(autouse=True)
def error_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(ERROR)))


def visit(location: str) -> None:
    """Everything the reading side offers, on one checkpoint; every verb on the samples that stand for all."""
    ck = Checkpoint.open(location)
    ck.load(ck.offset_ids)
    inspect_document(ck, all_batches=True)
    if ck.has_state:
        state_inventory(ck)
    inspect_document(ck.refresh())
    if any(f"/{name}/" in location for name in FOR_VERBS):
        for verb in verbs():
            run_verb(verb, location)


def run_verb(verb: str, location: str) -> None:
    # A verb that is new and cannot be run with a location alone fails here until it is given what it needs.
    other = [location, "--level", "deep"] if verb == "compare" else []
    if verb == "evidence":
        with tempfile.TemporaryDirectory() as place:
            assert main([verb, location, "--to", f"{place}/taken.zip", "--json"]) == 0
        return
    if verb == "incidents":
        with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patched:
            patched.setenv(f"{PREFIX}INCIDENT_STORE", place)
            assert main([verb, location, "--json"]) == 0
        return
    if verb == "rehearse":  # what it does once all is answered is in tests/spark/test_rehearse.py
        with tempfile.TemporaryDirectory() as place:
            query = Path(place) / "query.py"
            query.write_text("def transform(df):\n    return df\n", encoding="utf-8")
            assert main([verb, location, "--query", str(query), "--json"]) == 2
        return
    if verb == "rows":
        ck = Checkpoint.open(location)
        operators = state_inventory(ck).operators if ck.has_state else ()
        if not operators:
            return
        other = next(iter(row_choices(ck, operators[0]).values())).option.split()
    assert main([verb, location, *other, "--json", *NEEDED.get(verb, [])]) in (0, 1)


def test_there_are_samples_to_look_at() -> None:
    assert sample_directories()
    assert {path.parent.name for path in sample_directories()} >= set(FOR_VERBS)


@pytest.mark.parametrize("sample", sample_directories(), ids=lambda path: str(path.relative_to(SAMPLES)))
def test_reading_a_sample_writes_nothing_to_the_local_disk(sample: Path) -> None:
    with no_writes(SAMPLES):
        visit(str(sample))


@pytest.mark.parametrize("sample", sample_directories(), ids=lambda path: str(path.relative_to(SAMPLES)))
def test_reading_a_sample_through_fsspec_uses_no_verb_that_writes(sample: Path) -> None:
    with spy_file_system() as spy:
        visit(spy.url(sample))
        verbs_used = {call.split(" ")[0] for call in spy.calls}
    assert verbs_used <= {"ls", "open", "info"}
    assert "ls" in verbs_used


def test_looking_for_checkpoints_writes_nothing() -> None:
    with no_writes(SAMPLES):
        assert find_checkpoints("samples", Settings()).links
    with spy_file_system() as spy:
        assert find_checkpoints("spied", Settings(roots={"spied": RootSettings(url=spy.url(SAMPLES))})).links


def test_the_door_and_its_stores_have_no_other_verb() -> None:
    def public(cls: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(cls) if not name.startswith("_")}

    # "changed" shows the place as it would be: what is written is in memory. "nothing" has no place at all.
    verbs = {"open", "list", "look", "read", "changed", "requests", "not_read", "note_not_read"}
    verbs |= {"list_after", "begins_behind_names"}
    verbs |= {"evidence", "evidence_sha256", "recorded_answer", "origin"}
    verbs |= {"nothing", "is_nothing", "is_changed"}
    assert public(Door) == verbs


# The watchers themselves: each must be able to fail.


CHANGES: dict[str, Callable[[Path], object]] = {
    "write": lambda d: (d / "a").write_bytes(b"x"),
    "append": lambda d: (d / "a").open("ab"),
    "update": lambda d: (d / "a").open("rb+"),
    "low-level create": lambda d: os.open(d / "new", os.O_CREAT | os.O_RDONLY),
    "low-level truncate": lambda d: os.open(d / "a", os.O_RDONLY | os.O_TRUNC),
    "remove": lambda d: (d / "a").unlink(),
    "rename away": lambda d: (d / "a").rename(d.parent / "b"),
    "rename in": lambda d: (d.parent / "outside").rename(d / "b"),
    "mkdir": lambda d: (d / "new").mkdir(),
    "rmdir": lambda d: (d / "sub").rmdir(),
    "symlink": lambda d: (d / "link").symlink_to(d / "a"),
    "hard link": lambda d: (d / "link").hardlink_to(d / "a"),
    "chmod": lambda d: (d / "a").chmod(0o600),
    "utime": lambda d: os.utime(d / "a", (0, 0)),
    "truncate": lambda d: os.truncate(d / "a", 0),
    "remove tree": lambda d: shutil.rmtree(d),
    "temporary file": lambda d: tempfile.mkstemp(dir=d),
    "through a link": lambda d: (d.parent / "alias" / "a").write_bytes(b"x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_watcher_of_the_disk_stops_every_kind_of_write(tmp_path: Path, change: str) -> None:
    watched = tmp_path / "watched"
    (watched / "sub").mkdir(parents=True)
    (watched / "a").write_bytes(b"a")
    (tmp_path / "outside").write_bytes(b"o")
    (tmp_path / "alias").symlink_to(watched)
    before = spy_module.fingerprint(watched)
    with pytest.raises(WriteAttempted), no_writes(watched):
        CHANGES[change](watched)
    assert spy_module.fingerprint(watched) == before


def test_the_watcher_of_the_disk_sees_what_another_process_did(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with pytest.raises(WriteAttempted, match=r"changed below .*: a"), no_writes(tmp_path):
        assert os.spawnvp(os.P_WAIT, "sh", ["sh", "-c", f"echo more >> '{tmp_path}/a'"]) == 0


def test_the_watcher_of_the_disk_lets_reading_and_other_places_alone(tmp_path: Path) -> None:
    (tmp_path / "watched").mkdir()
    (tmp_path / "watched/a").write_bytes(b"a")
    with no_writes(tmp_path / "watched"):
        assert (tmp_path / "watched/a").read_bytes() == b"a"
        (tmp_path / "other").write_bytes(b"fine")
    (tmp_path / "watched/a").write_bytes(b"again")


@pytest.mark.parametrize("verb", spy_module.REFUSED_VERBS)
def test_the_spy_refuses_every_verb_of_fsspec_that_is_not_for_reading(verb: str, tmp_path: Path) -> None:
    with pytest.raises(WriteAttempted):
        getattr(SpyFileSystem(), verb)(str(tmp_path / "x"))


@pytest.mark.parametrize("mode", ["wb", "ab", "xb", "rb+", "w", "a"])
def test_the_spy_refuses_to_open_for_writing(mode: str, tmp_path: Path) -> None:
    with pytest.raises(WriteAttempted):
        SpyFileSystem().open(str(tmp_path / "x"), mode)


def test_the_reading_verbs_of_the_spy_exist_in_fsspec_and_none_of_them_writes() -> None:
    assert {name for name in dir(AbstractFileSystem) if not name.startswith("_")} >= SpyFileSystem.READING
    assert {"rm", "mv", "pipe", "put", "mkdir", "makedirs", "touch", "copy", "write_text", "rmdir"} <= set(
        spy_module.REFUSED_VERBS
    )
