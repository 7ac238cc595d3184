"""What only S3 has: markers of directories, pages, refusals of single requests, several names of the
protocol."""

from __future__ import annotations

import pytest

from core.errors import AccessDenied, LocationNotFound, StorageError
from core.settings import Settings
from core.storage import Door, ReadFailure, parse_location
from core.storage.s3_pages import parse_page
from tests.storage.conftest import BUCKET
from tests.support.s3 import S3Server

pytestmark = pytest.mark.usefixtures("s3_client")

# A checkpoint as Spark 4.3 leaves it on s3a:// (RocksDB): 0-byte markers beside their children, some
# directories without one.
MARKERS = [
    "ck/",
    "ck/commits/",
    "ck/offsets/",
    "ck/sources/0/",
    "ck/state/0/_metadata/",
    "ck/state/0/0/_metadata/",
    "ck/state/0/1/",
]
FILES = {
    "ck/metadata": b"{}",
    "ck/offsets/0": b"v1",
    "ck/commits/0": b"v1",
    "ck/state/0/_metadata/metadata": b"v1",
    "ck/state/0/0/_metadata/schema": b"v2",
    "ck/state/0/0/1.zip": b"zip",
    "ck/state/0/0/SSTs/000013-u.sst": b"sst",
    "ck/state/0/1/1.zip": b"zip",
}


@pytest.fixture
def bucket(s3_server: S3Server, request: pytest.FixtureRequest) -> str:
    """A bucket of this test alone, and no faults left by another."""
    words, _, case = request.node.name.partition("[")  # cases of one test differ at the end of a long name
    number = sum(case.encode()) if case else 0
    name = f"{words.replace('_', '-')[:54].strip('-')}-{number}"
    s3_server.bucket(name)
    s3_server.fail()
    s3_server.stats()
    return name


@pytest.fixture
def marked(s3_server: S3Server, bucket: str) -> Door:
    s3_server.put_many(bucket, {**FILES, **dict.fromkeys(MARKERS, b"")})
    s3_server.stats()
    return Door.open(s3_server.location(f"s3://{bucket}/ck"))


def relative(path: str) -> str:
    return path.removeprefix("ck/")


def test_markers_of_directories_never_appear_as_files(marked: Door) -> None:
    listings = marked.list(
        ["", "offsets", "commits", "sources", "sources/0", "state/0", "state/0/0", "state/0/1"]
    )
    assert {info.path for listing in listings.values() for info in listing.files.values()} == {
        "metadata",
        "offsets/0",
        "commits/0",
        "state/0/0/1.zip",
        "state/0/1/1.zip",
    }
    assert listings[""].directories == ("commits", "offsets", "sources", "state")


def test_markers_never_appear_in_a_recursive_listing(marked: Door) -> None:
    tree = marked.list([""], recursive=True)[""]
    assert set(tree.files) == {relative(path) for path in FILES}
    assert tree.directories == (
        "commits",
        "offsets",
        "sources",
        "sources/0",
        "state",
        "state/0",
        "state/0/0",
        "state/0/0/SSTs",
        "state/0/0/_metadata",
        "state/0/1",
        "state/0/_metadata",
    )


def test_a_directory_that_is_only_a_marker_exists(marked: Door) -> None:
    source = marked.list(["sources/0"])["sources/0"]
    assert source.exists
    assert not source.files
    deep = marked.list(["sources/0"], recursive=True)["sources/0"]
    assert deep.exists
    assert not deep.files


def test_a_checkpoint_without_any_marker_reads_the_same(s3_server: S3Server, bucket: str) -> None:
    s3_server.put_many(bucket, FILES)
    tree = Door.open(s3_server.location(f"s3://{bucket}/ck")).list([""], recursive=True)[""]
    assert set(tree.files) == {relative(path) for path in FILES}
    assert "commits" in tree.directories


def test_old_markers_with_an_ending_are_directories(s3_server: S3Server, bucket: str) -> None:
    s3_server.put_many(
        bucket,
        {"ck/metadata": b"{}", "ck/offsets/0": b"v1", "ck/offsets_$folder$": b"", "ck/commits_$folder$": b""},
    )
    root = Door.open(s3_server.location(f"s3://{bucket}/ck")).list([""])[""]
    assert set(root.files) == {"metadata"}
    assert root.directories == ("commits", "offsets")


def test_a_neighbour_with_the_same_beginning_is_not_mixed_in(s3_server: S3Server, bucket: str) -> None:
    s3_server.put_many(
        bucket,
        {
            "ck/metadata": b"{}",
            "ck2/metadata": b"{}",
            "ck/offsets/1": b"",
            "ck/offsets-old/2": b"",
            "ck-x/y": b"",
        },
    )
    door = Door.open(s3_server.location(f"s3://{bucket}/ck"))
    assert set(door.list(["offsets"])["offsets"].files) == {"offsets/1"}
    assert set(door.list([""], recursive=True)[""].files) == {"metadata", "offsets/1", "offsets-old/2"}


def test_keys_with_an_empty_part_are_no_files(s3_server: S3Server, bucket: str) -> None:
    s3_server.put_many(
        bucket, {"ck/metadata": b"{}", "ck/offsets//1": b"", "ck//offsets/2": b"", "ck/offsets/3": b""}
    )
    door = Door.open(s3_server.location(f"s3://{bucket}/ck"))
    for tree in (door.list([""], recursive=True)[""], door.list(["offsets"], recursive=True)["offsets"]):
        assert {path for path in tree.files if path != "metadata"} == {"offsets/3"}
        assert set(tree.directories) <= {"offsets"}


def test_a_whole_bucket_can_be_a_location(s3_server: S3Server, bucket: str) -> None:
    s3_server.put_many(bucket, {"metadata": b"{}", "offsets/0": b"v1"})
    door = Door.open(s3_server.location(f"s3://{bucket}"))
    assert set(door.list([""], recursive=True)[""].files) == {"metadata", "offsets/0"}


@pytest.mark.parametrize("protocol", ["s3a", "s3n", "S3"])
def test_hadoops_names_of_the_protocol_open_the_same_place(
    marked: Door, s3_server: S3Server, protocol: str
) -> None:
    same = s3_server.location(marked.location.url.replace("s3", protocol, 1))
    assert same == marked.location
    assert Door.open(same).list(["offsets"])["offsets"].files


def test_a_door_changes_nothing_in_the_store(marked: Door, s3_server: S3Server, bucket: str) -> None:
    before = s3_server.keys(bucket)
    s3_server.stats()
    marked.read(marked.list([""], recursive=True)[""].files.values())
    assert s3_server.stats()["write"] == 0
    assert s3_server.keys(bucket) == before


def test_a_bucket_that_does_not_exist_is_named_in_the_sentence(s3_server: S3Server) -> None:
    with pytest.raises(StorageError, match=r"no bucket no-such-bucket \(s3://no-such-bucket/ck\)") as found:
        Door.open(s3_server.location("s3://no-such-bucket/ck")).list([""])
    assert not isinstance(found.value, LocationNotFound), "no query starts from scratch there"


def test_a_refused_listing_names_the_directory(marked: Door, s3_server: S3Server) -> None:
    s3_server.fail({"match": "offsets", "status": 403, "code": "AccessDenied", "times": -1})
    with pytest.raises(AccessDenied, match=r"No permission to list s3://.*/ck/offsets"):
        marked.list(["", "offsets", "commits"])


def test_a_refused_file_leaves_the_others_readable(marked: Door, s3_server: S3Server) -> None:
    files = marked.list([""], recursive=True)[""].files
    s3_server.fail({"match": "commits/0", "status": 403, "code": "AccessDenied", "times": -1})
    contents = marked.read(files.values())
    assert contents["commits/0"] == ReadFailure("No permission to read this file (AccessDenied).")
    assert contents["offsets/0"] == b"v1"
    s3_server.fail()
    assert marked.read(files.values())["commits/0"] == b"v1"


@pytest.mark.parametrize(("status", "code"), [(503, "SlowDown"), (500, "InternalError")])
def test_a_request_that_fails_once_is_sent_again(
    marked: Door, s3_server: S3Server, status: int, code: str
) -> None:
    s3_server.fail(
        {"match": "prefix=ck/offsets", "status": status, "code": code, "times": 1},
        {"match": "ck/offsets/0", "status": status, "code": code, "times": 1},
    )
    files = marked.list(["offsets"])["offsets"].files
    assert marked.read(files.values()) == {"offsets/0": b"v1"}
    assert (marked.requests.list, marked.requests.get) == (2, 2)
    seen = s3_server.stats()
    assert (seen["list"], seen["get"]) == (2, 2)


def test_a_store_that_turns_every_request_away_is_not_one_that_gives_no_answer(
    marked: Door, s3_server: S3Server
) -> None:
    s3_server.fail({"match": "", "status": 503, "code": "SlowDown", "times": -1})
    door = Door.open(marked.location, Settings(store_seconds=2))
    with pytest.raises(
        StorageError, match=r"turns requests away \(503 SlowDown\).*Wait some minutes"
    ) as caught:
        door.list([""])
    assert "cannot be reached" not in str(caught.value)
    s3_server.fail()
    assert door.list(["offsets"])["offsets"].files


def test_a_server_that_does_not_answer_is_one_clear_sentence(s3_server: S3Server) -> None:
    options = {
        **s3_server.storage_options,
        "endpoint_url": "http://127.0.0.1:9",
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    with pytest.raises(StorageError, match=r"cannot be reached .*check the endpoint") as caught:
        Door.open(parse_location("s3://some-bucket/ck", options)).list([""])
    assert "test-secret" not in str(caught.value)


def test_missing_credentials_are_one_clear_sentence(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    options = {"endpoint_url": s3_server.endpoint, "client_kwargs": {"region_name": "us-east-1"}}
    with pytest.raises(AccessDenied, match="No valid credentials for s3://some-bucket/ck"):
        Door.open(parse_location("s3://some-bucket/ck", options)).list([""])


def test_an_object_rewritten_with_the_same_size_in_the_same_second_is_read_again(
    marked: Door, s3_server: S3Server, bucket: str
) -> None:
    assert marked.read(marked.list(["offsets"])["offsets"].files.values()) == {"offsets/0": b"v1"}
    s3_server.put(bucket, "ck/offsets/0", b"v2")
    assert marked.read(marked.list(["offsets"])["offsets"].files.values()) == {"offsets/0": b"v2"}


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 30, 345])
def test_a_listing_of_many_pages_loses_and_doubles_nothing(s3_small_pages: S3Server, count: int) -> None:
    names = {str(i) for i in range(count)}
    extra = {".7.u.tmp", "_x", "9.compact", "99.compact", "~", "a/b", "4/x"} if count else set()
    s3_small_pages.put_many(BUCKET, {f"pages-{count}/offsets/{name}": b"" for name in names | extra})
    door = Door.open(s3_small_pages.location(f"s3://{BUCKET}/pages-{count}"))
    listing = door.list(["offsets"])["offsets"]
    assert set(listing.names()) == (names | extra) - {"a/b", "4/x"}
    assert listing.directories == (("offsets/4", "offsets/a") if count else ())
    tree = door.list(["offsets"], recursive=True)["offsets"]
    assert {path.removeprefix("offsets/") for path in tree.files} == names | extra


@pytest.mark.parametrize("first", [0, 95, 1234, 8990])
def test_a_long_log_is_listed_whole_wherever_its_numbers_begin(s3_small_pages: S3Server, first: int) -> None:
    names = {str(i) for i in range(first, first + 260)}
    s3_small_pages.put_many(BUCKET, {f"from-{first}/commits/{name}": b"" for name in names})
    door = Door.open(s3_small_pages.location(f"s3://{BUCKET}/from-{first}"))
    assert set(door.list(["commits"])["commits"].names()) == names


def test_more_directories_than_fit_on_a_page_are_all_listed(s3_small_pages: S3Server) -> None:
    s3_small_pages.put_many(
        BUCKET,
        {f"wide/state/0/{p}/{v}.delta": b"" for p in range(45) for v in (1, 2)}
        | {"wide/state/0/_metadata/m": b""},
    )
    door = Door.open(s3_small_pages.location(f"s3://{BUCKET}/wide"))
    assert len(door.list(["state/0"])["state/0"].directories) == 46
    assert len(door.list(["state"], recursive=True)["state"].files) == 91


def test_the_first_page_alone_is_one_request_and_says_whether_it_was_all(s3_small_pages: S3Server) -> None:
    s3_small_pages.put_many(
        BUCKET,
        {f"first/{folder}/{i}": b"" for folder, count in (("long", 25), ("short", 3)) for i in range(count)},
    )
    door = Door.open(s3_small_pages.location(f"s3://{BUCKET}/first"))
    listings = door.list(["long", "short"], first_page=True)
    assert door.requests.list == 2
    assert (len(listings["long"].files), listings["long"].is_complete) == (10, False)
    assert (len(listings["short"].files), listings["short"].is_complete) == (3, True)
    assert door.list(["long"])["long"].is_complete


def test_a_page_is_read_with_and_without_a_name_space_and_with_escaped_keys() -> None:
    entry = "<Contents><Key>a%2Bb+c</Key><Size>3</Size><LastModified>2026-11-20T03:12:11.000Z</LastModified></Contents>"
    for space in ("", ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'):
        escaped = parse_page(
            f"<ListBucketResult{space}><EncodingType>url</EncodingType>{entry}</ListBucketResult>".encode()
        )
        assert escaped.entries == [("a+b c", "2026-11-20T03:12:11.000Z", "", "3")]
        plain = parse_page(
            f"<ListBucketResult{space}><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>{entry}</ListBucketResult>".encode()
        )
        assert plain.entries[0][0] == "a%2Bb+c"
        assert plain.next_page == "t"


def test_an_error_in_place_of_a_page_is_left_to_the_client() -> None:
    with pytest.raises(ValueError, match="Error"):
        parse_page(b"<Error><Code>SlowDown</Code></Error>")
