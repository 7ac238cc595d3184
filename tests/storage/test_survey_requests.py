"""What one row of a survey costs on an object store: counted by the server and by the door."""

from __future__ import annotations

import pytest

from core.checkpoint import Checkpoint
from core.judgement import judge
from core.storage import Door, Requests
from core.survey import survey_row
from tests.storage.conftest import BUCKET
from tests.support.build import commit_text, kafka_offset, offset_text
from tests.support.forecasting import METADATA, stateful_conf
from tests.support.s3 import S3Server

pytestmark = pytest.mark.slow

BATCHES = 101  # what Spark keeps


def put(server: S3Server, prefix: str, partitions: int, batches: int = BATCHES) -> str:
    """A Kafka query at its 101st batch; stateful when it has partitions."""
    files = {"metadata": METADATA.encode(), "sources/0/0": b"\0v1\n" + kafka_offset(0).encode()}
    for batch in range(batches):
        files[f"offsets/{batch}"] = offset_text(
            [kafka_offset((batch + 1) * 5)],
            conf=stateful_conf(max(1, partitions)),
            timestamp_ms=1_795_176_000_000 + batch * 60_000,
        ).encode()
        files[f"commits/{batch}"] = commit_text().encode()
    for partition in range(partitions):
        files |= {f"state/0/{partition}/{batch + 1}.delta": b"x" * 60 for batch in range(batches)}
    server.put_many(BUCKET, {f"{prefix}/{path}": content for path, content in files.items()})
    return f"s3://{BUCKET}/{prefix}"


@pytest.mark.parametrize(
    ("partitions", "listings", "level"), [(0, 3, "normal"), (4, 4, "normal"), (4, 2, "quick")]
)
def test_a_row_costs_at_most_three_listings_one_for_each_operator_and_twenty_small_files(
    s3_server: S3Server, partitions: int, listings: int, level: str
) -> None:
    place = s3_server.location(put(s3_server, f"row-{partitions}-{level}", partitions))
    s3_server.stats()
    row = survey_row(place, level="quick" if level == "quick" else "normal")
    seen = s3_server.stats()
    assert (row.status, row.last_committed_batch, row.error) == ("resumes", BATCHES - 1, None)
    assert row.batches_per_hour == 60.0
    assert row.state_bytes == (None if level == "quick" else partitions * BATCHES * 60)
    assert seen["list"] <= listings and seen["get"] <= 20 and seen["head"] == 0
    assert row.requests == Requests(seen["list"], seen["get"], 0, row.requests.bytes)


def test_a_thrifty_door_sees_what_the_other_sees(s3_server: S3Server) -> None:
    url = put(s3_server, "same-survey", 4, 30)
    s3_server.put(BUCKET, "same-survey/zzz-behind-state", b"x")
    s3_server.put(BUCKET, "same-survey/empty/")
    place = s3_server.location(url)
    asked = ["", "offsets", "commits", "sources", "sources/0", "sources/9", "metadata", "empty", "state"]
    usual, thrifty = Door.open(place), Door.open(place, is_thrifty=True)
    assert [(one.files, one.directories, one.exists) for one in usual.list(asked).values()] == [
        (one.files, one.directories, one.exists) for one in thrifty.list(asked).values()
    ]
    whole = [door.list(["state"], recursive=True)["state"] for door in (usual, thrifty)]
    assert whole[0].files == whole[1].files and whole[0].directories == whole[1].directories
    assert thrifty.requests.list < usual.requests.list


def test_a_thrifty_door_takes_a_new_look_when_it_is_asked_again(s3_server: S3Server) -> None:
    place = s3_server.location(put(s3_server, "again", 0, 3))
    door = Door.open(place, is_thrifty=True)
    assert "offsets/3" not in door.list(["", "offsets"])["offsets"].files
    s3_server.put(BUCKET, "again/offsets/3", b"v1")
    assert "offsets/3" in door.list(["offsets"])["offsets"].files
    s3_server.delete(BUCKET, "again/offsets/3")
    assert "offsets/3" not in door.list(["", "offsets"])["offsets"].files


def test_logs_that_are_longer_than_a_page_are_listed_one_by_one(s3_small_pages: S3Server) -> None:
    place = s3_small_pages.location(put(s3_small_pages, "long", 2, 12))
    row = survey_row(place)
    assert (row.status, row.last_committed_batch, row.state_bytes) == ("resumes", 11, 2 * 12 * 60)


def test_a_listing_that_is_refused_is_a_row(s3_server: S3Server) -> None:
    place = s3_server.location(put(s3_server, "refused", 0, 3))
    s3_server.fail({"match": "list-type=2", "status": 403, "code": "AccessDenied", "times": 50})
    try:
        row = survey_row(place)
    finally:
        s3_server.fail()
    assert row.status == "unreadable" and row.error and "permission" in row.error
    assert not row.findings and not row.has_problems


def test_the_row_and_the_judgement_say_the_same(s3_server: S3Server) -> None:
    place = s3_server.location(put(s3_server, "judged", 2, 5))
    s3_server.delete(BUCKET, "judged/state/0/1/3.delta")
    row, judgement = survey_row(place), judge(Checkpoint.open(place))
    assert (row.status, row.sentence) == ("fails", judgement.forecast.sentence)
    assert row.worst_finding == judgement.findings.findings[0].id
