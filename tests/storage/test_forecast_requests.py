"""What a forecast and a check cost on an object store: counted by the server."""

from __future__ import annotations

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.recovery import impact_of_deleting
from tests.storage.conftest import BUCKET
from tests.support.build import commit_text, kafka_offset, offset_text
from tests.support.forecasting import METADATA, files_entry, stateful_conf
from tests.support.s3 import S3Server

pytestmark = pytest.mark.slow

PARTITIONS = 4
OPENING_LISTS = 4  # the root, offsets/, commits/, sources/


def checkpoint(server: S3Server, prefix: str, batches: int, pending: bool = True) -> str:
    """A stateful query over a Kafka source and a file source with ``batches`` kept batches, the newest
    without a commit."""
    files: dict[str, bytes] = {
        "metadata": METADATA.encode(),
        "sources/0/0": b"\0v1\n" + kafka_offset(0).encode(),
    }
    for batch in range(batches):
        texts = [kafka_offset((batch + 1) * 5), f'{{"logOffset":{batch}}}']
        files[f"offsets/{batch}"] = offset_text(
            texts, conf=stateful_conf(PARTITIONS), timestamp_ms=1_795_176_000_000 + batch
        ).encode()
        files[f"sources/1/{batch}"] = files_entry(batch).encode()
        if batch < batches - 1 or not pending:
            files[f"commits/{batch}"] = commit_text().encode()
    for partition in range(PARTITIONS):
        files |= {f"state/0/{partition}/{version}.delta": b"x" for version in range(1, batches + 1)}
    server.put_many(BUCKET, {f"{prefix}/{path}": content for path, content in files.items()})
    return f"s3://{BUCKET}/{prefix}"


def test_a_forecast_costs_a_few_listings_and_at_most_four_reads_for_each_source(s3_server: S3Server) -> None:
    place = s3_server.location(checkpoint(s3_server, "forecast", 9))
    s3_server.stats()
    ck = Checkpoint.open(place, newest=2)
    answer = forecast(ck)
    impacts = impact_of_deleting(ck)
    seen = s3_server.stats()
    assert len(impacts) == 3
    assert (
        answer.outcome == "rerun"
        and "1 file" in answer.sentence
        and "10 offsets on 2 partitions" in answer.sentence
    )
    state_lists = 2 + PARTITIONS  # state/, state/0, one for each partition
    sources = 2
    assert seen["list"] <= OPENING_LISTS + sources + state_lists
    # metadata, the newest two of each log, and what a start of Spark reads: every entry of the file source log
    # since its last compact file, which are nine here
    assert seen["get"] <= 1 + 4 * sources + 9
    assert seen["head"] == 0


def test_a_forecast_costs_the_same_however_many_batches_are_kept(s3_server: S3Server) -> None:
    costs = []
    for batches in (9, 99):
        place = s3_server.location(checkpoint(s3_server, f"forecast-{batches}", batches))
        s3_server.stats()
        forecast(Checkpoint.open(place, newest=2), level="quick")
        seen = s3_server.stats()
        costs.append((seen["list"], seen["get"]))
    assert costs[0] == costs[1]


def test_a_clean_check_reads_each_log_file_once(s3_server: S3Server) -> None:
    place = s3_server.location(checkpoint(s3_server, "check", 50, pending=False))
    s3_server.stats()
    report = findings(Checkpoint.open(place, newest=20))
    seen = s3_server.stats()
    assert [item.id for item in report.findings if item.severity in ("blocks_restart", "data_risk")] == []
    # this source log has no compact file, so a start of Spark reads all of its entries
    assert seen["get"] <= 1 + 2 * 50 + 4 + 50
    quick = findings(Checkpoint.open(place, newest=20), "quick")
    assert not quick.has_problems
    assert s3_server.stats()["get"] == 0  # all of it was read before
