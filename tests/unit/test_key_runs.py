"""Counting by keys alone, many at once, against the records of the same files read one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.state_content import counts, key_runs
from core.checkpoint.state_content.framing import Unpacked
from core.checkpoint.state_content.key_runs import ENOUGH_ALIKE, FIRST_LOOK
from core.checkpoint.state_content.records import (
    Record,
    parse_changelog,
    parse_delta,
    parse_snapshot,
    start_of_pairs,
)
from core.checkpoint.state_content.replay import Replay
from tests.support.build import SAMPLES
from tests.support.state_files import encode, unpacked
from tests.unit.test_state_content_rows import STATEFUL, counted


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A file of some stretches of records, alike or not; the keys of a stretch may repeat those of another."""
    records: list[Record] = []
    for _ in range(draw(st.integers(0, 4))):
        length, first = draw(st.sampled_from([0, 1, 4, 8, 12])), draw(st.integers(0, 40))
        is_put, value = draw(st.booleans()), draw(st.sampled_from([b"", b"\xff" * 8, b"12345678wxyz"]))
        many = st.integers(FIRST_LOOK - 2, 2 * FIRST_LOOK) | st.integers(0, 2 * ENOUGH_ALIKE)
        step = draw(st.sampled_from([0, 1, 3]))
        for i in range(draw(many)):
            key = ((first + i * step) % 200).to_bytes(4, "big") * 3
            records.append(("put", key[:length], value) if is_put else ("delete", key[:length], None))
    return encode(records)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Such a file that was cut, or in which bytes were changed: those of lengths mostly, with 0xff among them."""
    content = bytearray(draw(contents()))
    for _ in range(draw(st.integers(0, 3))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.sampled_from([0, 1, 4, 8, 12, 127, 255]))
    return bytes(content[: draw(st.integers(0, len(content)) | st.just(len(content)))])


def by_records(content: bytes) -> list[tuple[bool, bytes]] | None:
    records = parse_delta(Unpacked(content))
    return None if records.trouble else [(kind == "put", key) for kind, key, _ in records.records]


def by_runs(content: bytes, at: int = 0) -> list[tuple[bool, bytes]] | None:
    runs = key_runs.key_runs(content, at)
    return None if runs is None else [(run.is_put, key) for run in runs for key in run.keys]


@given(contents() | damaged())
def test_the_keys_are_those_of_the_records_and_trouble_is_trouble(content: bytes) -> None:
    assert by_runs(content) == by_records(content)
    assert by_runs(b"xyz" + content, 3) == by_records(content)


@given(st.lists(contents(), max_size=4), st.sampled_from([0, 7, 300, None]), st.booleans())
def test_a_chain_of_files_counts_as_its_records_do(
    chain: list[bytes], base: int | None, has_row_checksums: bool
) -> None:
    plain, quick = Replay(has_row_checksums), Replay(has_row_checksums)
    for walk in (plain, quick):
        walk.start_from(base)
    for content in chain:
        plain.apply(parse_delta(Unpacked(content)).records)
        runs = key_runs.key_runs(content, 0)
        assert runs is not None
        quick.apply_keys(runs)
        assert quick.count() == plain.count() and set(quick.rows) == set(plain.rows)


@pytest.mark.parametrize("start", range(0, 3))
def test_neighbours_that_are_alike_are_found_to_the_last_of_them(start: int) -> None:
    """At the borders of what is looked at: one fewer, as many, one more; behind them another length."""
    for looks in (FIRST_LOOK, 9 * FIRST_LOOK):
        for many in range(looks + ENOUGH_ALIKE - 1, looks + ENOUGH_ALIKE + 3):
            content = b"\0" * start + encode([("put", b"%08d" % i, b"12") for i in range(many)])
            assert by_runs(content, start) == [(True, b"%08d" % i) for i in range(many)]
            longer = encode(
                [*(("put", b"%08d" % i, b"12") for i in range(many)), ("put", b"123456789", b"1")]
            )
            assert by_runs(longer) == by_records(longer)


def test_usual_files_are_counted_by_their_keys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {name: counted(SAMPLES / name / "checkpoint") for name in STATEFUL}
    monkeypatch.delattr(counts, "_records")
    for name in STATEFUL:
        assert counted(SAMPLES / name / "checkpoint") == expected[name]


def test_keys_of_one_length_are_cut_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    alike = key_runs._alike

    def noted(content: bytes, at: int, key_size: int, distance: int) -> int:
        found.append(alike(content, at, key_size, distance))
        return found[-1]

    monkeypatch.setattr(key_runs, "_alike", noted)
    keys = [b"%016d" % i for i in range(5000)]
    assert by_runs(encode([("put", key, b"12345678") for key in keys])) == [(True, key) for key in keys]
    assert found == [5000 - ENOUGH_ALIKE]


@pytest.mark.parametrize("kind", ["delta", "snapshot", "changelog"])
def test_the_keys_of_every_file_of_the_samples(kind: str) -> None:
    files = sorted(SAMPLES.glob(f"*/checkpoint/state/**/[0-9]*.{kind}"))
    parse = {"delta": parse_delta, "snapshot": parse_snapshot, "changelog": parse_changelog}[kind]
    looked_at = 0
    for path in files:
        content = unpacked(path)
        at = start_of_pairs(content, kind == "changelog")
        records = parse(content)
        assert (at is None) == records.has_column_families, path
        if at is not None:
            looked_at += 1
            assert by_runs(content.content, at) == [(name == "put", key) for name, key, _ in records.records]
    assert looked_at


def test_a_snapshot_with_a_deletion_is_left_to_the_records() -> None:
    content = Unpacked(encode([("put", b"a", b"1"), ("delete", b"a", None)]))
    assert key_runs.key_runs(content.content, 0) is not None
    for kind, is_taken in (("snapshot", False), ("delta", True)):
        assert (counts._keys(kind, content) is not None) is is_taken
