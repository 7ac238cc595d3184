"""The Checkpoint: opening, ids, loading on demand, starts and advances, refresh, threads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import numpy as np
import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.documents.base import to_json
from core.documents.inspect import inspect_document
from core.errors import AccessDenied, LocationNotFound, NotACheckpoint, NotADirectory
from core.sparklogs.evidence import Problem
from core.storage import Door, Listing, parse_location
from tests.support.build import (
    CONF_4_3,
    QUERY_ID,
    commit_text,
    kafka_checkpoint,
    kafka_offset,
    offset_text,
    remove,
    truncate,
    write,
)
from ui.timeline_texts import progress

# Opening


def test_opening_reads_metadata_and_the_newest_logs(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path / "orders", range(6), commits=range(5))))
    assert (ck.name, ck.query_id, ck.offset_ids, ck.commit_ids) == (
        "orders",
        QUERY_ID,
        (0, 1, 2, 3, 4, 5),
        (0, 1, 2, 3, 4),
    )
    assert (ck.last_committed_batch, ck.pending_batch, ck.is_async, ck.has_state) == (4, 5, False, False)
    assert ck.loaded_ids == ck.offset_ids
    assert ck.problems == ()
    assert ck.leftovers == ()
    assert dict(ck.conf) == CONF_4_3
    assert ck.offset_files[5].path == "offsets/5"


@pytest.mark.parametrize("how", ["text", "location", "door"])
def test_a_checkpoint_opens_from_a_text_a_location_or_a_door(tmp_path: Path, how: str) -> None:
    url = str(kafka_checkpoint(tmp_path, range(2)))
    place = {"text": url, "location": parse_location(url), "door": Door.open(url)}[how]
    assert Checkpoint.open(place).offset_ids == (0, 1)


def test_a_checkpoint_in_memory_is_read_like_one_on_disk(tmp_path: Path) -> None:
    disk = kafka_checkpoint(tmp_path / "ck", range(6), commits=range(5))
    memory = fsspec.filesystem("memory")
    memory.put(f"{disk}/", f"/{QUERY_ID}/ck/", recursive=True)
    try:
        ck = Checkpoint.open(f"memory://{QUERY_ID}/ck")
        assert (ck.offset_ids, ck.pending_batch, ck.sources[0].directory) == (tuple(range(6)), 5, "sources/0")
        assert ck.progress("0").total.tolist() == [10] * 6
        assert (ck.problems, ck.leftovers) == ((), ())
        with pytest.raises(NotACheckpoint) as caught:
            Checkpoint.open(f"memory://{QUERY_ID}/ck/offsets")
        assert caught.value.suggestion == f"memory://{QUERY_ID}/ck"
    finally:
        memory.rm(f"/{QUERY_ID}", recursive=True)


def test_opening_a_long_log_keeps_to_its_budget_of_requests(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(400, 650))), newest=100)
    assert (ck.door.requests.list, ck.door.requests.get, ck.door.requests.head) == (4, 201, 0)
    assert ck.loaded_ids == tuple(range(550, 650))
    assert len(ck.offset_files) == len(ck.commit_files) == 250


def test_the_first_view_of_100_batches_from_the_beginning_keeps_to_its_budget(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(100))), newest=100)
    assert (ck.sources[0].kind.name, ck.sources[0].partitions) == ("kafka", 2)
    assert ck.progress("0").total.tolist() == [-1] + [10] * 99
    assert ck.conf_changes() == []
    assert ck.written_by.at_least == "4.3"
    assert ck.tracking.missing_offsets == ()
    assert (ck.door.requests.list, ck.door.requests.get) == (4, 201)


def test_loading_reads_only_what_was_not_read_in_one_wave(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(30))), newest=10)
    before = ck.door.requests.get
    ck.load(range(15, 30))
    assert ck.door.requests.get - before == 2 * 5
    ck.load(range(15, 30))
    assert ck.door.requests.get - before == 2 * 5
    assert ck.loaded_ids == tuple(range(15, 30))


def test_an_entry_that_was_not_read_is_read_on_demand(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(30))), newest=10)
    assert 3 not in ck.loaded_ids
    offset, commit = ck.offset(3), ck.commit(3)
    assert isinstance(offset, OffsetEntry)
    assert isinstance(commit, CommitEntry)
    assert (offset.batch_id, commit.batch_id) == (3, 3)
    assert 3 in ck.loaded_ids
    assert ck.offset(99) is None


def test_a_directory_with_only_metadata_is_a_checkpoint_without_batches(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(write(tmp_path, {"metadata": f'{{"id":"{QUERY_ID}"}}'})))
    assert (ck.offset_ids, ck.commit_ids, ck.sources, dict(ck.conf), ck.pending_batch) == (
        (),
        (),
        (),
        {},
        None,
    )
    assert ck.written_by.at_least is None


def test_commits_alone_are_a_checkpoint(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(write(tmp_path, {"commits/3": commit_text(7), "commits/4": commit_text(9)})))
    assert (ck.offset_ids, ck.commit_ids, ck.last_committed_batch, ck.pending_batch, ck.query_id) == (
        (),
        (3, 4),
        4,
        None,
        None,
    )
    assert ck.commit(4).next_watermark_ms == 9  # type: ignore[union-attr]


# What is no checkpoint


def refused(place: Path | str) -> NotACheckpoint:
    with pytest.raises(NotACheckpoint) as caught:
        Checkpoint.open(str(place))
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_foreign_directory_says_what_was_found(tmp_path: Path) -> None:
    error = refused(write(tmp_path, {"a.txt": "", "b/c": ""}))
    assert "a.txt" in str(error)
    assert "checkpointLocation" in str(error)
    assert error.suggestion is None


def test_an_empty_directory_may_be_an_emptied_checkpoint(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(tmp_path))
    assert (ck.is_bare, ck.offset_ids, ck.sources, ck.query_id) == (True, (), (), None)


def test_a_delta_table_is_recognised(tmp_path: Path) -> None:
    assert "Delta table" in str(refused(write(tmp_path, {"_delta_log/00000000000000000000.json": "{}"})))


def test_an_iceberg_table_with_its_metadata_directory_is_no_checkpoint(tmp_path: Path) -> None:
    refused(write(tmp_path, {"metadata/v1.metadata.json": "{}", "data/x.parquet": ""}))


@pytest.mark.parametrize(
    "inside",
    [
        "offsets",
        "offsets/3",
        "commits",
        "commits/1",
        "state/0",
        "state/0/1",
        "sources/0",
        "metadata",
        "offsets/99",
    ],
)
def test_a_path_inside_a_checkpoint_suggests_the_checkpoint(tmp_path: Path, inside: str) -> None:
    root = kafka_checkpoint(tmp_path / "ck", range(4))
    write(root, {"state/0/1/1.delta": ""})
    error = refused(root / inside)
    assert error.suggestion == str(root)
    assert Checkpoint.open(error.suggestion).offset_ids == (0, 1, 2, 3)


def test_a_path_inside_a_checkpoint_below_a_directory_called_state_suggests_the_nearest(
    tmp_path: Path,
) -> None:
    root = kafka_checkpoint(tmp_path / "state" / "ck", range(2))
    assert refused(root / "offsets").suggestion == str(root)


def test_an_iceberg_source_directory_is_not_taken_for_a_checkpoint(tmp_path: Path) -> None:
    root = write(tmp_path / "ck", {"metadata": "{}", "offsets/0": "", "sources/0/offsets/0": "{}"})
    assert refused(root / "sources" / "0").suggestion == str(root)


def test_the_only_checkpoint_in_a_directory_is_suggested(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path / "checkpoint", range(2))
    (tmp_path / "sink").mkdir()
    assert refused(tmp_path).suggestion == str(root)


def test_several_checkpoints_in_a_directory_are_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        kafka_checkpoint(tmp_path / name, range(2))
    error = refused(tmp_path)
    assert error.suggestion is None
    assert "(a and b)" in str(error)


def test_a_place_that_does_not_exist_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(LocationNotFound):
        Checkpoint.open(str(tmp_path / "nothing"))


class Page(SimpleHTTPRequestHandler):
    """Files with the links of their directories; /login is any page, as everything of a console is."""

    def do_GET(self) -> None:
        if not self.path.startswith("/login"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b'<html><a href="/login/help">help</a></html>')

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[str]:
    kafka_checkpoint(tmp_path / "ck", range(3), commits=range(3))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Page, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_web_page_is_no_checkpoint_that_was_emptied_or_deleted(pages: str) -> None:
    """An address of a console that somebody pasted: its page says nothing of a query."""
    for path in ("login", "login/s3/buckets/orders"):
        with pytest.raises(NotACheckpoint, match="is a web page that lists no metadata"):
            Checkpoint.open(f"{pages}/{path}")
    with pytest.raises(LocationNotFound) as caught:
        Checkpoint.open(f"{pages}/nothing")
    assert "deleted" not in str(caught.value)
    assert Checkpoint.open(f"{pages}/ck").commit_ids == (0, 1, 2)


def test_a_file_is_a_storage_error(tmp_path: Path) -> None:
    write(tmp_path, {"x.txt": ""})
    with pytest.raises(NotADirectory):
        Checkpoint.open(str(tmp_path / "x.txt"))


# Which batch is pending


@pytest.mark.parametrize(
    ("offsets", "commits", "last", "pending", "uncommitted"),
    [
        (range(4), range(4), 3, None, None),
        (range(4), range(3), 2, 3, 3),
        (range(4), range(1), 0, 3, 3),  # several are not committed: only the newest is run
        (range(4), (), None, 3, 3),
        (range(4), range(8), 7, 3, None),  # commits ahead: batch 3 is re-run although it has its commit
        (range(4), (0, 1, 5), 5, 3, 3),
        ((), range(3), 2, None, None),
    ],
)
def test_the_newest_planned_batch_is_pending_unless_its_commit_is_the_newest(
    tmp_path: Path,
    offsets: range,
    commits: range,
    last: int | None,
    pending: int | None,
    uncommitted: int | None,
) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, offsets, commits=commits)))
    assert (ck.last_committed_batch, ck.pending_batch, ck.uncommitted_batch) == (last, pending, uncommitted)


# Damage in one file leaves the rest


DAMAGE = {
    "empty": b"",
    "truncated": b"v1\n{",
    "unknown_version": b"v9\n{}",
    "no_version": b"hello",
    "bad_json": b"v1\n{nope}\n0",
    "not_text": b"\xff\x00\xfe",
}


@pytest.mark.parametrize("condition", DAMAGE)
def test_a_damaged_offset_file_is_a_problem_and_the_others_are_read(tmp_path: Path, condition: str) -> None:
    root = write(kafka_checkpoint(tmp_path, range(4)), {"offsets/2": DAMAGE[condition]})
    ck = Checkpoint.open(str(root))
    damaged = ck.offset(2)
    assert isinstance(damaged, Problem)
    assert (damaged.condition, damaged.raw) == (condition, DAMAGE[condition])
    assert ck.problems == (damaged,)
    assert ck.offset_ids == (0, 1, 2, 3)
    assert [isinstance(ck.offset(i), OffsetEntry) for i in range(4)] == [True, True, False, True]
    assert ck.source_texts(3, "0") == (None, kafka_offset(20))
    assert ck.progress("0", range(4)).total.tolist() == [10, 10, -1]
    assert inspect_document(ck).offsets.unreadable == (2,)


@pytest.mark.parametrize("condition", DAMAGE)
def test_a_damaged_commit_file_counts_as_a_commit_and_is_a_problem(tmp_path: Path, condition: str) -> None:
    root = write(kafka_checkpoint(tmp_path, range(4)), {"commits/3": DAMAGE[condition]})
    ck = Checkpoint.open(str(root))
    assert isinstance(ck.commit(3), Problem)
    assert (ck.last_committed_batch, ck.pending_batch) == (3, None)
    assert inspect_document(ck).commits.unreadable == (3,)


def test_damaged_metadata_leaves_the_batches(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(write(kafka_checkpoint(tmp_path, range(2)), {"metadata": '{"id":"7'})))
    assert ck.query_id is None
    assert ck.metadata_problem is not None
    assert ck.problems == (ck.metadata_problem,)
    assert ck.offset_ids == (0, 1)


def test_a_newest_entry_that_cannot_be_read_does_not_hide_sources_and_conf(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(4))
    truncate(root / "offsets" / "3", 20)
    ck = Checkpoint.open(str(root))
    assert [source.kind.name for source in ck.sources] == ["kafka"]
    assert dict(ck.conf) == CONF_4_3


def test_a_log_file_far_too_large_is_not_read(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(2))
    with (root / "offsets" / "1").open("r+b") as file:
        file.truncate(40 * 1024 * 1024)
    ck = Checkpoint.open(str(root))
    problem = ck.offset(1)
    assert isinstance(problem, Problem)
    assert (problem.condition, "was not read" in problem.reason) == ("unreadable", True)
    assert ck.door.requests.bytes < 1024 * 1024


def test_a_name_with_leading_zeros_is_a_batch_that_spark_cannot_open(tmp_path: Path) -> None:
    root = write(kafka_checkpoint(tmp_path, range(4)), {"offsets/007": offset_text([kafka_offset(40)])})
    ck = Checkpoint.open(str(root))
    problem = ck.offset(7)
    assert isinstance(problem, Problem)
    assert (problem.condition, problem.evidence.path, ck.pending_batch) == ("not_an_id", "offsets/007", 7)


def test_a_directory_named_like_a_batch_is_a_leftover(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(2))
    (root / "offsets" / "99").mkdir()
    ck = Checkpoint.open(str(root))
    assert ck.offset_ids == (0, 1)
    assert [(item.path, item.kind) for item in ck.leftovers] == [("offsets/99", "foreign")]


def test_leftovers_of_crashes_and_of_databricks_are_named(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(2))
    write(
        root,
        {
            "commits/.1.0a1b.tmp": "",
            "offsets/.7.crc": "",
            "offsets/.1.crc": "",
            "__tmp_path_dir/x": "",
            "notes.md": "",
            ".metadata.crc": "",
        },
    )
    assert [(item.path, item.kind) for item in Checkpoint.open(str(root)).leftovers] == [
        ("__tmp_path_dir", "temporary"),
        ("commits/.1.0a1b.tmp", "temporary"),
        ("notes.md", "foreign"),
        ("offsets/.7.crc", "temporary"),
    ]


def test_a_file_that_vanished_after_the_listing_was_removed_not_damaged(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(12))
    ck = Checkpoint.open(str(root), newest=5)
    remove(root, "offsets/5", "commits/5", "offsets/6")
    assert ck.offset(5) is None
    assert ck.commit(5) is None
    assert ck.source_texts(7, "0") == (kafka_offset(25), kafka_offset(40))
    assert ck.previous_offset_id(7) == 4
    assert ck.problems == ()
    assert 5 not in ck.loaded_ids


# Starts, ends and advances


def test_what_a_batch_behind_a_gap_read_is_not_known(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(8))
    remove(root, "offsets/3")
    ck = Checkpoint.open(str(root))
    moved = ck.advance(4, "0")
    assert moved is not None and moved.amount is None and set(moved.by_partition.values()) == {None}
    assert "all batches after 2 read 20 offsets" in moved.note
    found = ck.progress("0", range(8))
    assert found.batch_ids.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert found.total.tolist()[3] == -1 and found.advance[3].tolist() == [-1] * len(found.partitions)
    assert found.total.tolist()[4] == 10
    assert ck.advance(5, "0").note == ""  # type: ignore[union-attr]
    text = progress(found, "Kafka")
    assert "60 offsets in 6 batches." in text and "1 batch more is not counted" in text


def test_a_batch_starts_where_the_previous_present_entry_ends(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, [0, 6, 11, 16], commits=[0, 6, 11])))
    assert ck.is_async
    assert ck.previous_offset_id(11) == 6
    assert ck.source_texts(11, "0") == (kafka_offset(35), kafka_offset(60))
    assert ck.advance(11, "0").amount == 50  # type: ignore[union-attr]
    assert ck.pending_batch == 16


def test_batch_0_starts_at_the_initial_offset_of_the_source(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(2))))
    assert ck.source_texts(0, "0") == (kafka_offset(0), kafka_offset(5))
    assert ck.advance(0, "0").amount == 10  # type: ignore[union-attr]


def test_the_oldest_batch_of_a_purged_log_has_no_known_start(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(5, 8))))
    assert ck.source_texts(5, "0") == (None, kafka_offset(30))
    assert ck.advance(5, "0").amount is None  # type: ignore[union-attr]
    assert ck.progress("0", [5, 6]).advance.tolist() == [[-1, -1], [5, 5]]


def test_a_source_without_an_offset_so_far_starts_at_its_initial_offset(tmp_path: Path) -> None:
    second = kafka_offset(9, topic="refunds")
    files: dict[str, str | bytes] = {
        f"offsets/{i}": offset_text([kafka_offset(5 * i), "-"]) for i in range(3)
    }
    files["offsets/3"] = offset_text([kafka_offset(15), second])
    files["sources/0/0"] = b"\0v1\n" + kafka_offset(0).encode()
    files["sources/1/0"] = b"\0v1\n" + kafka_offset(2, topic="refunds").encode()
    ck = Checkpoint.open(str(write(tmp_path, files)))
    assert ck.source_texts(1, "1") == (kafka_offset(2, topic="refunds"), None)
    assert ck.source_texts(3, "1") == (kafka_offset(2, topic="refunds"), second)
    assert ck.advance(2, "1") is None
    assert ck.progress("1", range(4)).total.tolist() == [-1, -1, -1, 14]


def test_a_source_that_lost_its_offset_for_one_batch_goes_on_from_the_batch_before(tmp_path: Path) -> None:
    lines = [kafka_offset(5), "-", kafka_offset(15)]
    ck = Checkpoint.open(
        str(write(tmp_path, {f"offsets/{i}": offset_text([line]) for i, line in enumerate(lines)}))
    )
    assert ck.source_texts(2, "0") == (kafka_offset(5), kafka_offset(15))


def test_a_batch_with_equal_offsets_has_no_data_whatever_the_order_of_the_keys(tmp_path: Path) -> None:
    one = '{"a":{"0":1},"b":{"0":2}}'
    other = '{"b":{"0":2},"a":{"0":1}}'
    ck = Checkpoint.open(
        str(
            write(
                tmp_path,
                {
                    "offsets/0": offset_text([one]),
                    "offsets/1": offset_text([other]),
                    "offsets/2": offset_text(['{"a":{"0":2},"b":{"0":2}}']),
                },
            )
        )
    )
    assert [ck.is_no_data(i) for i in range(3)] == [False, True, False]


def test_a_repartition_batch_copies_the_entry_and_changes_the_partitions(tmp_path: Path) -> None:
    new = {**CONF_4_3, "spark.sql.shuffle.partitions": "8"}
    files = {
        "offsets/0": offset_text([kafka_offset(5)], timestamp_ms=10),
        "offsets/1": offset_text([kafka_offset(5)], timestamp_ms=10, conf=new),
        "offsets/2": offset_text([kafka_offset(5)], timestamp_ms=20, conf=new),
    }
    ck = Checkpoint.open(str(write(tmp_path, files)))
    assert [ck.is_repartition(i) for i in range(3)] == [False, True, False]
    assert [(c.batch_id, c.key, c.before, c.after) for c in ck.conf_changes()] == [
        (1, "spark.sql.shuffle.partitions", "200", "8")
    ]
    assert ck.conf["spark.sql.shuffle.partitions"] == "8"


def test_continuous_processing_is_told_by_its_empty_metadata_lines(tmp_path: Path) -> None:
    files = {f"offsets/{i}": f'v1\n\n{{"0":{{"value":{i},"runTimeMs":1}}}}' for i in range(3)}
    ck = Checkpoint.open(str(write(tmp_path, files)))
    assert ck.is_continuous
    assert ck.problems == ()
    assert not Checkpoint.open(str(kafka_checkpoint(tmp_path / "k", range(2)))).is_continuous


def test_named_sources_are_found_by_name(tmp_path: Path) -> None:
    files = {
        f"offsets/{i}": offset_text({"refunds": kafka_offset(i, topic="r"), "orders": kafka_offset(2 * i)})
        for i in range(3)
    }
    ck = Checkpoint.open(
        str(write(tmp_path, {**files, "sources/orders/0": b"\0v1\n" + kafka_offset(0).encode()}))
    )
    assert [(s.key, s.directory) for s in ck.sources] == [("refunds", None), ("orders", "sources/orders")]
    assert ck.progress("orders", [0, 1, 2]).total.tolist() == [0, 4, 4]


# Progress as matrices


def test_progress_is_an_int64_matrix_of_batches_and_partitions(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(4))))
    progress = ck.progress("0")
    assert (progress.key, progress.unit, progress.partitions) == ("0", "offsets", ("orders-0", "orders-1"))
    assert progress.batch_ids.tolist() == [0, 1, 2, 3]
    assert progress.positions.tolist() == [[5, 5], [10, 10], [15, 15], [20, 20]]
    assert progress.advance.tolist() == [[5, 5]] * 4
    assert progress.total.tolist() == [10] * 4
    for array in (progress.batch_ids, progress.positions, progress.advance, progress.total):
        assert array.dtype == np.int64
        assert not array.flags.writeable


def test_progress_follows_partitions_that_come_and_go_and_shrink(tmp_path: Path) -> None:
    ends = ['{"a":{"0":5}}', '{"a":{"0":7,"1":3}}', '{"a":{"0":2,"1":4}}', '{"b":{"10":1,"9":1},"a":{"1":4}}']
    ck = Checkpoint.open(
        str(write(tmp_path, {f"offsets/{i}": offset_text([end]) for i, end in enumerate(ends)}))
    )
    progress = ck.progress("0", range(4))
    assert progress.partitions == ("a-1", "b-9", "b-10", "a-0")
    assert progress.positions.tolist() == [[-1, -1, -1, 5], [3, -1, -1, 7], [4, -1, -1, 2], [4, 1, 1, -1]]
    for row, batch_id in enumerate(range(4)):
        advance = ck.advance(batch_id, "0")
        assert advance is not None
        assert progress.total[row] == (-1 if advance.amount is None else advance.amount)
        for name, amount in advance.by_partition.items():
            assert progress.advance[row, progress.partitions.index(name)] == (
                -1 if amount is None else amount
            )


def test_the_fast_way_and_the_kinds_own_way_agree(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    steps = rng.integers(0, 9, size=(40, 12)).cumsum(axis=0)
    files = {
        f"offsets/{i}": offset_text(
            [
                json.dumps(
                    {
                        "t": {str(p): int(row[p]) for p in rng.permutation(8)},
                        "u": {str(p): int(row[8 + p]) for p in range(4)},
                    }
                )
            ]
        )
        for i, row in enumerate(steps)
    }
    ck = Checkpoint.open(str(write(tmp_path, {**files, "sources/0/0": b'\0v1\n{"t":{"0":0}}'})))
    assert ck.sources[0].kind.name == "kafka"
    progress = ck.progress("0", range(40))
    assert progress.partitions == tuple([f"t-{p}" for p in range(8)] + [f"u-{p}" for p in range(4)])
    assert (progress.positions == steps).all()
    assert progress.total.tolist()[1:] == [ck.advance(i, "0").amount for i in range(1, 40)]  # type: ignore[union-attr]


def test_progress_of_numbers_beyond_64_bits_does_not_fail(tmp_path: Path) -> None:
    ck = Checkpoint.open(
        str(
            write(
                tmp_path, {f"offsets/{i}": offset_text([f'{{"t":{{"0":{10**30 + i}}}}}']) for i in range(3)}
            )
        )
    )
    assert ck.progress("0", range(3)).positions.tolist() in ([[-1]] * 3, [[]] * 3)


def test_progress_of_a_key_nobody_knows_is_empty(tmp_path: Path) -> None:
    progress = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(3)))).progress("nobody")
    assert (progress.partitions, progress.positions.shape, progress.total.tolist()) == (
        (),
        (3, 0),
        [-1, -1, -1],
    )


# Refresh


def test_a_refresh_without_news_lists_three_directories_and_reads_nothing(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(8))))
    before = ck.door.requests
    again = ck.refresh()
    assert (again.door.requests.list - before.list, again.door.requests.get - before.get) == (3, 0)
    assert (again.query_id, again.offset_ids, again.sources[0].directory) == (
        ck.query_id,
        ck.offset_ids,
        "sources/0",
    )
    assert again.offset(7) is ck.offset(7)


def test_a_refresh_reads_only_the_new_batches(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(8), commits=range(7))
    ck = Checkpoint.open(str(root))
    write(root, {"commits/7": commit_text(), "offsets/8": offset_text([kafka_offset(45)])})
    before = ck.door.requests.get
    again = ck.refresh()
    assert again.door.requests.get - before == 2
    assert (ck.pending_batch, again.pending_batch, again.last_committed_batch) == (7, 8, 7)


def test_a_refresh_reads_a_file_again_that_was_written_anew(tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(3))
    ck = Checkpoint.open(str(root))
    rewritten = {
        "offsets/2": offset_text([kafka_offset(1000)]),
        "metadata": '{"id":"00000000-0000-0000-0000-000000000000"}',
    }
    write(root, rewritten)
    for name in rewritten:  # as large as before: only its time tells, and a clock's tick may be 4 ms long
        later = (root / name).stat().st_mtime + 1
        os.utime(root / name, (later, later))
    again = ck.refresh()
    assert again.source_texts(2, "0")[1] == kafka_offset(1000)
    assert again.query_id == "00000000-0000-0000-0000-000000000000"


# State


def test_a_state_directory_that_cannot_be_listed_takes_nothing_from_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ck = Checkpoint.open(str(write(kafka_checkpoint(tmp_path, range(3)), {"state/0/0/1.delta": ""})))
    assert ck.has_state

    listed = ck.door.list

    def refuse(
        prefixes: Iterable[str], recursive: bool = False, *, known_there: bool = False
    ) -> dict[str, Listing]:
        if "state" in prefixes:
            raise AccessDenied("The store refused to list state.")
        return listed(prefixes, recursive, known_there=known_there)

    monkeypatch.setattr(ck.door, "list", refuse)
    answer = to_json(inspect_document(ck))
    assert answer["operators"] == []
    assert answer["problems"] == [
        {
            "path": "state",
            "line": None,
            "condition": "unreadable",
            "reason": "The store refused to list state.",
        }
    ]
    assert answer["offsets"]["ids"] == [0, 1, 2]


# Threads


def test_threads_that_share_a_checkpoint_read_each_file_once(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path, range(40))), newest=1)
    before = ck.door.requests.get

    def look(i: int) -> tuple[object, ...]:
        batch_id = i % 40
        advance = ck.advance(batch_id, "0")
        return (
            *ck.source_texts(batch_id, "0"),
            advance and advance.amount,
            ck.loaded_ids[-1],
            len(ck.problems),
        )

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(look, range(400)))
    assert found == [
        (kafka_offset(5 * (i % 40)), kafka_offset(5 * (i % 40) + 5), 10, 39, 0) for i in range(400)
    ]
    assert ck.door.requests.get - before == 39 + 1  # 39 offset files and the initial offset


def test_amounts_are_the_totals_of_progress(tmp_path: Path) -> None:
    """The plain difference of two offsets is taken only where the source itself gives the same number."""
    offsets = [
        '{"a":{"0":1,"1":2}}',
        '{"a":{"0":5,"1":9}}',
        '{"a":{"1":10,"0":6}}',  # in another order
        '{"a":{"0":7,"1":11,"2":100}}',  # a new partition
        '{"a":{"0":8,"1":3,"2":101}}',  # one went down
        '{"a":{"0":9,"1":4}}',  # one is gone
        '{"a":{"0":9,"2":4}}',  # another one in its place
        '{"a":{"0":9,"1":5},"b":{"0":1}}',
        '{"a":{"0":-1,"1":5},"b":{"0":1}}',
        '{"a":{"0":3,"1":6},"b":{"0":1}}',
        '{"a":{"0":4,"01":7},"b":{"0":1}}',  # no partition of Kafka
        '{"a":{"0":5,"01":8},"b":{"0":1}}',
        '{"a":{"0":9223372036854775807,"1":8},"b":{"0":1}}',
        '{"a":{"0":9223372036854775807,"1":9},"b":{"0":1}}',
        '{"a":{"0":18446744073709551615,"1":9},"b":{"0":1}}',
        '{"a":{"0":4,"1":7},"b":{"0":1}}',
        '{"a":{"0":5,"1":9},"b":{"0":1}}',
    ]
    files: dict[str, str | bytes] = {f"offsets/{at}": offset_text([text]) for at, text in enumerate(offsets)}
    root = kafka_checkpoint(tmp_path, range(1))
    write(root, files)
    ck = Checkpoint.open(str(root))
    progress, counter = ck.progress("0", ck.offset_ids), ck.amount_counter("0")
    totals = dict(zip(progress.batch_ids.tolist(), progress.total.tolist(), strict=True))
    amounts = {}
    for i in ck.offset_ids:
        start, end = ck.source_texts(i, "0")
        assert end is not None
        amounts[i] = counter.between(start, end)
    assert {i: -1 if amount is None else amount for i, amount in amounts.items()} == totals
    assert counter.unit == progress.unit == "offsets"
    assert sum(amount is not None for amount in amounts.values()) > 10
