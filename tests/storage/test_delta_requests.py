"""What a look at a Delta log costs on S3, counted by the server: 1 LIST per 1,000 names, 1 GET for id,
properties and all transactions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors.delta.judgement import find_hole
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.source import delta_source_state
from core.connectors.sink import sink_state
from core.settings import DEFAULTS
from core.storage import Location
from scripts.bench.slow_s3 import SlowS3, serving
from tests.storage.conftest import BUCKET
from tests.support.build import QUERY_ID, commit_text, offset_text
from tests.support.delta_tables import (
    TABLE_ID,
    add,
    appends,
    batch,
    checksum,
    commit,
    log_path,
    metadata,
    parquet,
    txn,
)
from tests.support.s3 import S3Server

pytestmark = pytest.mark.slow


def table(place: Path, versions: int, with_checksum: bool = True) -> Path:
    """A sink: every version is a batch of the query. A log checkpoint every hundred versions; a checksum
    beside every version."""
    appends(place, 1)
    for version in range(1, versions):
        commit(place, version, batch(QUERY_ID, version - 1, version))
    for version in range(100, versions, 100):
        parquet(
            log_path(place, version, "checkpoint.parquet"),
            [metadata(), txn(QUERY_ID, version - 1), add("part-0.parquet")],
        )
    if with_checksum:
        for version in range(versions):
            checksum(place, version, [txn(QUERY_ID, version - 1)])
    return place


def checkpoint(place: Path, version: int) -> Path:
    """A checkpoint that has read up to ``version``; its newest batch is pending."""
    newest = version - 1
    place.mkdir()
    (place / "metadata").write_text(f'{{"id":"{QUERY_ID}"}}', encoding="utf-8")
    for name in ("offsets", "commits"):
        (place / name).mkdir()
    for batch_id in (newest - 1, newest):
        line = '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'
        (place / "offsets" / str(batch_id)).write_text(
            offset_text([line % (TABLE_ID, batch_id + 1)]), encoding="utf-8"
        )
    (place / "commits" / str(newest - 1)).write_text(commit_text(), encoding="utf-8")
    return place


def uploaded(server: S3Server, prefix: str, place: Path) -> Location:
    files = {
        f"{prefix}/{path.relative_to(place)}": path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }
    server.put_many(BUCKET, files)
    server.stats()
    return server.location(f"s3://{BUCKET}/{prefix}")


def test_a_log_of_1000_versions_costs_one_list_per_1000_names_and_one_get(
    s3_server: S3Server, tmp_path: Path
) -> None:
    location = uploaded(s3_server, "delta-long", table(tmp_path / "t", 1000))
    log = DeltaLog.open(location)
    assert (log.newest, log.oldest, log.transactions[QUERY_ID].version, log.table_id) == (
        999,
        0,
        998,
        TABLE_ID,
    )
    seen = s3_server.stats()
    names = 2 * 1000 + 9
    looked_for_the_hint = 1
    assert seen["list"] <= -(-names // 1000) + looked_for_the_hint
    assert (seen["head"], seen["get"], seen["write"]) == (0, 1, 0)


HINTS = {
    "fresh": b'{"version":500,"size":3}',
    "old": b'{"version":300,"size":3}',
    "at_the_start": b'{"version":100,"size":3}',
    "of_another_copy": b'{"version":90000,"size":3}',
    "no_json": b"{",
    "no_version": b'{"version":"500"}',
}
"""What ``_last_checkpoint`` says of a log of 600 versions, whose newest log checkpoint is 500."""

HINT = "_delta_log/_last_checkpoint"


@pytest.fixture(scope="module")
def long_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return table(tmp_path_factory.mktemp("long") / "t", 600)


@pytest.fixture(scope="module")
def long_log(s3_server: S3Server, long_table: Path) -> Location:
    return uploaded(s3_server, "delta-hints", long_table)


@pytest.mark.parametrize("hint", HINTS)
def test_the_end_of_a_long_log_is_found_by_its_hint_and_says_the_same_as_the_whole(
    s3_server: S3Server, long_table: Path, long_log: Location, tmp_path: Path, hint: str
) -> None:
    ck = Checkpoint.open(str(checkpoint(tmp_path / "ck", 599)))
    whole = DeltaLog.open(str(long_table))
    s3_server.put(BUCKET, f"delta-hints/{HINT}", HINTS[hint])
    s3_server.stats()
    log = DeltaLog.open(long_log)
    assert (log.newest, log.transactions, log.table_id) == (599, whole.transactions, TABLE_ID)
    seen = s3_server.stats()
    assert seen["head"] == 0
    if hint == "fresh":
        assert (seen["list"], seen["get"]) == (3, 2)
        again = DeltaLog.open(long_log)
        assert again.transactions == whole.transactions
        assert s3_server.stats()["list"] == 3
    ours, theirs = sink_state(ck, log), sink_state(ck, whole)
    assert replace(ours, url="") == replace(theirs, url="")
    if hint == "fresh":
        assert s3_server.stats()["list"] == 0
    assert find_hole(log, 598, 599) is None and log.can_rebuild(550) and log.can_rebuild(3)
    assert (log.oldest, log.gaps) == (whole.oldest, whole.gaps)
    assert list(log.names.commits) == list(whole.names.commits)
    assert log.commits(range(5, 9)).commits == whole.commits(range(5, 9)).commits


def test_a_hole_in_the_middle_of_a_long_log_is_seen_by_who_asks_how_far_it_reaches_back(
    s3_server: S3Server, long_log: Location
) -> None:
    s3_server.put(BUCKET, f"delta-hints/{HINT}", HINTS["fresh"])
    s3_server.delete(BUCKET, f"delta-hints/_delta_log/{70:020d}.json")
    log = DeltaLog.open(long_log)
    assert (log.newest, log.oldest, log.gaps) == (599, 71, ((70, 70),))


def test_without_checksums_it_costs_the_newest_log_checkpoint_and_the_commits_after_it(
    s3_server: S3Server, tmp_path: Path
) -> None:
    location = uploaded(s3_server, "delta-plain", table(tmp_path / "t", 305, with_checksum=False))
    assert DeltaLog.open(location).transactions[QUERY_ID].version == 303
    seen = s3_server.stats()
    assert (seen["list"], seen["head"], seen["get"]) == (1, 0, 1 + 4)


def test_what_the_sink_holds_costs_one_get_per_version_that_is_shown(
    s3_server: S3Server, tmp_path: Path
) -> None:
    location = uploaded(s3_server, "delta-sink", table(tmp_path / "t", 450))
    ck = Checkpoint.open(str(checkpoint(tmp_path / "ck", 449)))
    log = DeltaLog.open(location)
    end = sink_state(ck, log)
    assert end.pending == "skipped" and "of 450 versions were read" in end.limit_words
    seen = s3_server.stats()
    assert (seen["head"], seen["get"]) == (0, 1 + DEFAULTS.table_versions)
    sink_state(ck, log)
    delta_source_state(ck, "0", log)
    assert s3_server.stats()["get"] == 0


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowS3]:
    place = tmp_path_factory.mktemp("slow-delta")
    table(place / "long" / "t", 1000)
    with serving({"long": place / "long"}) as server:
        yield server


def test_1000_versions_on_the_slow_server_are_within_the_budget(slow: SlowS3) -> None:
    """That server leaves out every name that ends in .crc, so the newest log checkpoint and the commits after
    it are read. Without ``_last_checkpoint`` the first page of the log has been listed in vain."""
    slow.stats()
    place = slow.location("long")
    log = DeltaLog.open(
        Location(f"{place.url}/t", place.protocol, f"{place.path}/t", "t", place.storage_options)
    )
    assert (log.newest, log.transactions[QUERY_ID].version) == (999, 998)
    seen = slow.stats()
    assert seen["list"] <= 3 and seen["head"] == 0 and seen["get"] == 1 + 99
