"""Whatever happens to the files: the checkpoint opens or says in one sentence why not, and answers every
question."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.documents.base import to_json
from core.documents.inspect import inspect_document
from core.errors import NotACheckpoint, StorageError
from core.sparklogs.evidence import Problem
from tests.support.build import SAMPLES, offset_text, sample_names, write

pytestmark = pytest.mark.slow

DAMAGES = st.one_of(
    st.just(("remove", b"")),
    st.just(("empty", b"")),
    st.tuples(st.just("truncate"), st.integers(1, 400).map(lambda n: n.to_bytes(2, "big"))),
    st.tuples(st.just("replace"), st.binary(max_size=60)),
    st.tuples(st.just("append"), st.binary(max_size=20)),
    st.tuples(
        st.just("replace"),
        st.sampled_from(
            [b"v1", b"v1\n{}", b"v9\n{}", b"v2\n{}\n0:1", b"v1\n[]\n-", b"\0", b"{}", b"v1\n{}\n{\n["]
        ),
    ),
    st.tuples(st.just("rename"), st.sampled_from([b"007", b"99999999999999", b"x.tmp", b"-1", b"directory"])),
    st.tuples(st.just("flip"), st.integers(0, 4000).map(lambda n: n.to_bytes(2, "big"))),
)


def apply(path: Path, how: str, data: bytes) -> None:
    """One kind of damage to one file."""
    if how == "remove":
        path.unlink()
    elif how == "rename":
        path.unlink() if data == b"directory" else path.rename(path.with_name(data.decode()))
        if data == b"directory":
            path.mkdir()
    elif how == "truncate":
        path.write_bytes(path.read_bytes()[: int.from_bytes(data, "big")])
    elif how == "append":
        path.write_bytes(path.read_bytes() + data)
    elif how == "flip":
        content = bytearray(path.read_bytes())
        if content:
            content[int.from_bytes(data, "big") % len(content)] ^= 0x15
        path.write_bytes(bytes(content))
    else:
        path.write_bytes(data)


def ask_everything(root: Path) -> Checkpoint | None:
    """Asks every question; only the errors of the contract may come."""
    try:
        ck = Checkpoint.open(str(root))
    except (NotACheckpoint, StorageError) as error:
        assert "\n" not in str(error)
        return None
    json.dumps(to_json(inspect_document(ck, all_batches=True)), allow_nan=False)
    for source in ck.sources:
        assert source.context.key == source.key
        for batch_id in (*ck.offset_ids, *ck.commit_ids, 10**12):
            ck.source_texts(batch_id, source.key)
            ck.advance(batch_id, source.key)
        ck.progress(source.key)
    for problem in ck.problems:
        assert problem.reason.endswith(".")
        assert "\n" not in problem.reason
        assert problem.condition
    assert ck.refresh().offset_ids == ck.offset_ids
    assert isinstance(ck.is_continuous, bool)
    return ck


def log_files(root: Path) -> list[str]:
    return sorted(
        str(p.relative_to(root))
        for p in root.rglob("*")
        if p.is_file() and "state/" not in str(p.relative_to(root))
    )


SAMPLE_FILES = {name: log_files(SAMPLES / name / "checkpoint") for name in sample_names()}


@settings(max_examples=120)
@given(st.data())
def test_no_damage_to_the_logs_of_a_sample_raises_anything_else(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAMPLE_FILES)))
    damages = data.draw(st.dictionaries(st.sampled_from(SAMPLE_FILES[name]), DAMAGES, min_size=1, max_size=8))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "ck"
        shutil.copytree(SAMPLES / name / "checkpoint", root, ignore=shutil.ignore_patterns("state"))
        for path, (how, content) in damages.items():
            if (root / path).is_file():
                apply(root / path, how, content)
        ask_everything(root)


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "metadata",
                "offsets/0",
                "offsets/1",
                "offsets/7",
                "commits/0",
                "commits/1",
                "commits/9",
                "sources/0/0",
                "sources/0/9.compact",
                "sources/1",
            ]
        ),
        st.one_of(st.binary(max_size=80), st.text(max_size=80).map(lambda t: ("v1\n{}\n" + t).encode())),
        max_size=8,
    )
)
def test_no_content_at_all_raises_anything_else(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "ck"
        root.mkdir()
        ask_everything(write(root, dict(files)))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.lists(JSON, min_size=1, max_size=4))
def test_every_json_offset_is_kept_as_written(offsets: list[object]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        texts = [json.dumps(offset) for offset in offsets]
        root = write(
            Path(scratch) / "ck", {f"offsets/{i}": offset_text([text]) for i, text in enumerate(texts)}
        )
        ck = ask_everything(root)
        assert ck is not None
        for i, text in enumerate(texts):
            entry = ck.offset(i)
            assert isinstance(entry, OffsetEntry)
            assert entry.sources[0].raw == text


@pytest.mark.parametrize("name", sample_names())
@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_cut_at_any_byte_of_the_newest_log_file_is_read_or_reported(
    name: str, log: str, tmp_path: Path
) -> None:
    root = Path(
        shutil.copytree(
            SAMPLES / name / "checkpoint", tmp_path / "ck", ignore=shutil.ignore_patterns("state")
        )
    )
    newest = max((root / log).glob("[0-9]*"), key=lambda path: int(path.name))
    content = newest.read_bytes()
    for size in range(0, len(content), max(1, len(content) // 25)):
        newest.write_bytes(content[:size])
        ck = Checkpoint.open(str(root))
        entry = ck.offset(int(newest.name)) if log == "offsets" else ck.commit(int(newest.name))
        damaged = [p for p in ck.problems if p.evidence.path == f"{log}/{newest.name}"]
        if log == "commits" and content[:size] in (b"v1", b"v1\n", b"v2", b"v2\n"):
            assert damaged == []  # Spark reads a commit without a second line as empty
        else:
            assert isinstance(entry, Problem) or damaged, size
