"""The short way to S3: who gets it, that it signs as botocore signs, and that nothing odd is taken from it."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
import s3fs
from botocore.credentials import ReadOnlyCredentials
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fsspec.asyn import sync
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from core.errors import AccessDenied, StorageError
from core.settings import Settings
from core.storage import Door, FileInfo, Gone, ReadFailure, parse_location
from core.storage.filesystems import filesystem, forget
from core.storage.s3_direct import (
    Lane,
    Pattern,
    lane_of,
    list_query,
    quoted_key,
    signed_request,
)
from tests.storage.conftest import BUCKET
from tests.support.s3 import S3Server
from tests.support.s3_answers import PAGE, answering, error, plain, usual

pytestmark = pytest.mark.slow

REGION = {"client_kwargs": {"region_name": "eu-west-1"}}
GIVEN = {"key": "AKID", "secret": "SECRET", **REGION}


@pytest.fixture(autouse=True)
def no_credentials_from_outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (
        "ACCESS_KEY_ID",
        "SECRET_ACCESS_KEY",
        "SESSION_TOKEN",
        "PROFILE",
        "DEFAULT_REGION",
        "REGION",
    ):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    forget()
    yield
    forget()


# ---------------------------------------------------------------- signatures


SCOPES = [("eu-west-1", "s3"), ("us-east-1", "s3"), None]


class Frozen:
    """Credentials that do not change."""

    async def get_frozen_credentials(self) -> ReadOnlyCredentials:
        return ReadOnlyCredentials("AKID", "SECRET", None)


@given(
    st.text(min_size=1, max_size=40).filter(lambda key: not key.startswith("/")),
    st.text(max_size=30),
    st.sampled_from(SCOPES),
)
def test_the_address_of_a_request_is_what_was_asked_for(
    key: str, prefix: str, scope: tuple[str, str] | None
) -> None:
    pattern = Pattern("http://h:1", "", {}, scope)
    where = {"Prefix": prefix, "Delimiter": "/", "StartAfter": key}
    read = asyncio.run(signed_request(pattern, Frozen(), f"/b/{quoted_key(key)}", ""))
    assert unquote(URL(read.url, encoded=True).raw_path) == f"/b/{key}"
    listed = asyncio.run(signed_request(pattern, Frozen(), "/b", list_query(where)))
    asked = dict(parse_qsl(URL(listed.url, encoded=True).raw_query_string, keep_blank_values=True))
    wanted = {"prefix": prefix, "delimiter": "/", "start-after": key}
    assert asked == {**wanted, "list-type": "2", "encoding-type": "url"}
    assert ("Authorization" in read.headers) == (scope is not None)


# ----------------------------------------------------- who gets the short way


def lane(options: dict[str, Any], bucket: str = "bucket") -> Lane | None:
    """The short way to a bucket with these storage options; no request is sent."""
    fs = filesystem(parse_location(f"s3://{bucket}/ck", options), 4, 10)

    async def found() -> Lane | None:
        await fs.set_session()
        from core.storage.s3_events import hang_into

        hang_into(await fs.get_s3(bucket))
        return await lane_of(fs, bucket)

    answer: Lane | None = sync(fs.loop, found)
    return answer


WITH = {
    "keys": (GIVEN, "https://bucket.s3.eu-west-1.amazonaws.com/"),
    "a session token": ({**GIVEN, "token": "T"}, "https://bucket.s3.eu-west-1.amazonaws.com/"),
    "anonymous": ({"anon": True, **REGION}, "https://bucket.s3.eu-west-1.amazonaws.com/"),
    "an endpoint": ({**GIVEN, "endpoint_url": "http://minio:9000"}, "http://minio:9000/bucket"),
    "an endpoint in client_kwargs": (
        {
            "key": "a",
            "secret": "b",
            "client_kwargs": {"endpoint_url": "http://minio:9000", "region_name": "x"},
        },
        "http://minio:9000/bucket",
    ),
    "an endpoint by host names": (
        {
            **GIVEN,
            "endpoint_url": "https://store.example:8443",
            "config_kwargs": {"s3": {"addressing_style": "virtual"}},
        },
        "https://bucket.store.example:8443/",
    ),
    "path style": (
        {**GIVEN, "config_kwargs": {"s3": {"addressing_style": "path"}}},
        "https://s3.eu-west-1.amazonaws.com/bucket",
    ),
    "both stacks": (
        {**GIVEN, "config_kwargs": {"s3": {"use_dualstack_endpoint": True}}},
        "https://bucket.s3.dualstack.eu-west-1.amazonaws.com/",
    ),
    "who asks pays": ({**GIVEN, "requester_pays": True}, "https://bucket.s3.eu-west-1.amazonaws.com/"),
    "no TLS": ({**GIVEN, "use_ssl": False}, "http://bucket.s3.eu-west-1.amazonaws.com/"),
    "an unknown certificate": (
        {**GIVEN, "client_kwargs": {"region_name": "eu-west-1", "verify": False}},
        "https://bucket.s3.eu-west-1.amazonaws.com/",
    ),
}


@pytest.mark.parametrize("case", WITH)
def test_the_usual_options_have_the_short_way(case: str) -> None:
    options, address = WITH[case]
    found = lane(options)
    assert found is not None
    assert found._listing.origin + found._listing.path == address
    assert found._reading.origin + found._reading.path == address.rstrip("/") + "/"
    assert (found._listing.scope is None) == (case == "anonymous")
    assert (found._reading.headers.get("x-amz-request-payer") == "requester") == (case == "who asks pays")


WITHOUT = {
    "another kind of signature": {**GIVEN, "config_kwargs": {"signature_version": "s3"}},
    "versions": {**GIVEN, "version_aware": True},
    "no credentials": REGION,
}


@pytest.mark.parametrize("case", WITHOUT)
def test_what_cannot_be_repeated_exactly_is_left_to_s3fs(case: str) -> None:
    assert lane(WITHOUT[case]) is None


def access_key(options: dict[str, Any]) -> str:
    found = lane(options)
    assert found is not None
    frozen = sync(
        filesystem(parse_location("s3://x-y/ck", options), 4).loop, found._credentials.get_frozen_credentials
    )
    return str(frozen.access_key)


def test_credentials_come_from_where_botocore_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "credentials").write_text("[prod]\naws_access_key_id=FROM-FILE\naws_secret_access_key=s\n")
    answer = {"Version": 1, "AccessKeyId": "FROM-PROCESS", "SecretAccessKey": "s"}
    script = tmp_path / "keys.py"
    script.write_text(f"print('''{json.dumps(answer)}''')")
    (tmp_path / "config").write_text(
        f"[profile asks]\nregion=eu-west-1\ncredential_process={sys.executable} {script}\n"
        "[profile prod]\nregion=eu-west-1\nendpoint_url=http://minio:9000\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert access_key({"profile": "prod"}) == "FROM-FILE"
    found = lane({"profile": "prod"})
    assert found is not None and found._listing.origin == "http://minio:9000"
    assert access_key({"profile": "asks"}) == "FROM-PROCESS"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "FROM-ENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    forget()
    assert access_key(REGION) == "FROM-ENVIRONMENT"
    assert access_key(GIVEN) == "AKID"


def test_a_web_identity_is_exchanged_by_botocore(
    s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("a.b.c")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3_server.endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3_server.put(BUCKET, "web-identity/metadata", b"{}")
    place = parse_location(f"s3://{BUCKET}/web-identity", {"endpoint_url": s3_server.endpoint})
    assert set(Door.open(place).list([""])[""].files) == {"metadata"}
    assert access_key({"endpoint_url": s3_server.endpoint}).startswith("ASIA")


# ------------------------------------------------------------ what is asked


@pytest.fixture
def through_s3fs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that s3fs was asked for, what was only watched included."""
    asked: list[str] = []
    real = s3fs.S3FileSystem._call_s3

    async def spied(self: Any, method: str, *arguments: Any, **parameters: Any) -> Any:
        asked.append(method)
        return await real(self, method, *arguments, **parameters)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", spied)
    return asked


def test_plain_requests_take_the_short_way_and_are_counted(
    s3_server: S3Server, through_s3fs: list[str]
) -> None:
    s3_server.put_many(BUCKET, {"direct/a": b"1", "direct/b/c": b"22"})
    s3_server.stats()
    door = Door.open(s3_server.location(f"s3://{BUCKET}/direct"))
    tree = door.list([""], recursive=True)[""]
    assert door.read([*tree.files.values(), FileInfo("gone", 1, 1)]) == {
        "a": b"1",
        "b/c": b"22",
        "gone": Gone(),
    }
    assert through_s3fs == ["list_objects_v2", "get_object"]  # both only watched
    seen = s3_server.stats()
    assert (seen["list"], seen["get"], seen["head"]) == (door.requests.list, door.requests.get, 0)


def test_the_setting_turns_the_short_way_off(s3_server: S3Server, through_s3fs: list[str]) -> None:
    s3_server.put(BUCKET, "indirect/a", b"1")
    door = Door.open(s3_server.location(f"s3://{BUCKET}/indirect"), Settings(s3_client="s3fs"))
    assert door.read(door.list([""])[""].files.values()) == {"a": b"1"}
    assert through_s3fs == ["list_objects_v2", "get_object"]
    assert (door.requests.list, door.requests.get) == (1, 1)


NAMES = [
    "a/./b",
    "a/ b ",
    "a/%2e%2e",
    "a/..b",
    "a/...",
    "a/b?versionId=1",
    "a/\u00e9\u0301",
    "a/\U0001f600",
    "a/&amp;",
    "a/'\"<>",
]


@pytest.mark.parametrize("client", ["auto", "s3fs"])
def test_names_that_other_clients_change_are_read_as_they_are(s3_server: S3Server, client: Any) -> None:
    # s3fs takes such an ending for a version and finds nothing, also where versions are not asked for.
    files = {name: name.encode() for name in NAMES if client == "auto" or "?versionId" not in name}
    s3_server.put_many(BUCKET, {f"names-{client}/{name}": content for name, content in files.items()})
    door = Door.open(s3_server.location(f"s3://{BUCKET}/names-{client}"), Settings(s3_client=client))
    found = door.list([""], recursive=True)[""].files
    assert set(found) == set(files)
    assert door.read(found.values()) == files


def test_the_content_is_compared_with_the_checksum_that_came_with_it(s3_server: S3Server) -> None:
    s3_server._client.put_object(Bucket=BUCKET, Key="sum/a", Body=b"abc", ChecksumAlgorithm="SHA256")
    door = Door.open(s3_server.location(f"s3://{BUCKET}/sum"))
    assert door.read(door.list([""])[""].files.values()) == {"a": b"abc"}


# ------------------------------------------------------------------- faults


def is_list(target: str) -> bool:
    return "list-type=2" in target


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + f"{10:x};name=x\r\n".encode()
    + PAGE[:10]
    + f"\r\n{len(PAGE) - 10:X}\r\n".encode()
    + PAGE[10:]
    + b"\r\n0\r\n\r\n"
)
ONCE = {
    "slow down": error("503 Slow Down", "SlowDown"),
    "an error of the server": error("500 Internal Server Error", "InternalError"),
    "a cut connection": None,
    "a cut answer": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab",
    "no HTTP": b"NONSENSE 200\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab",
    "a wrong checksum": plain(b"abcx", "200 OK", "x-amz-checksum-crc32: 7YKnEQ==", "Connection: close"),
}


@pytest.mark.parametrize("case", ONCE)
@pytest.mark.parametrize("of", ["list", "get"])
def test_what_is_odd_once_is_asked_for_again_and_right(case: str, of: str) -> None:
    if case == "a wrong checksum" and of == "list":
        pytest.skip("listings have none")
    done: list[int] = []

    def answer(number: int, target: str) -> bytes | None:
        if is_list(target) == (of == "list") and not done:
            done.append(number)
            return ONCE[case]
        return usual(target)

    with answering(answer) as (options, asked):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(content_cache_bytes=0))
        files = door.list([""])[""].files
        assert {path: info.size_bytes for path, info in files.items()} == {"a": 4}
        assert door.read(files.values()) == {"a": b"abcd"}
        assert len(asked) == 3
        # aiohttp itself sends a request again when a connection was closed before its answer.
        sent_again = case == "a cut connection"
        assert door.requests.list + door.requests.get == 3 - sent_again


def test_a_listing_in_chunks_and_in_pieces_is_read() -> None:
    with answering(lambda number, target: CHUNKED if is_list(target) else usual(target)) as (options, asked):
        door = Door.open(parse_location("s3://bucket/ck", options))
        assert door.read(door.list([""])[""].files.values()) == {"a": b"abcd"}
        assert len(asked) == 2


def test_a_storm_of_503_is_a_sentence_in_time_and_does_not_ask_twice_for_all() -> None:
    def answer(number: int, target: str) -> bytes | None:
        return usual(target) if is_list(target) else error("503 Slow Down", "SlowDown")

    with answering(answer) as (options, asked):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(store_seconds=2))
        began = time.monotonic()
        contents = door.read([FileInfo(str(number), 4, 1) for number in range(40)])
        assert time.monotonic() - began < 15
        assert all(isinstance(content, ReadFailure) for content in contents.values())
        assert set(door.list([""])[""].files) == {"a"}
        assert len(asked) <= door.requests.get + door.requests.list + 1


def test_a_slow_first_byte_is_waited_for_and_a_silent_server_is_not() -> None:
    def slow(number: int, target: str) -> bytes:
        time.sleep(0.7)
        return usual(target)

    with answering(slow) as (options, _):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(store_seconds=20))
        assert set(door.list([""])[""].files) == {"a"}
    forget()
    release = threading.Event()
    with answering(lambda number, target: (release.wait(30) and None) or None) as (options, _):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(store_seconds=0.5))
        began = time.monotonic()
        with pytest.raises(StorageError, match=r"no answer within 0\.5 seconds"):
            door.list([""])
        contents = door.read([FileInfo(str(number), 1, 1) for number in range(20)])
        assert all(isinstance(each, ReadFailure) and "no answer" in each.reason for each in contents.values())
        assert time.monotonic() - began < 10
        release.set()


@pytest.mark.parametrize("url", ["http://no-such-host.invalid:9000", "http://127.0.0.1:9", "http://[::1]:9"])
def test_a_host_that_is_not_there_is_the_sentence_of_s3fs(url: str) -> None:
    options = {**GIVEN, "endpoint_url": url, "config_kwargs": {"retries": {"max_attempts": 0}}}
    sentences = []
    for client in ("auto", "s3fs"):
        settings = Settings(s3_client=client, store_seconds=10)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="cannot be reached") as caught:
            Door.open(parse_location("s3://bucket/ck", options), settings).list([""])
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("client", ["auto", "s3fs"])
def test_expired_credentials_are_one_sentence(client: Any) -> None:
    with answering(lambda number, target: error("400 Bad Request", "ExpiredToken")) as (options, _):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(s3_client=client))
        with pytest.raises(StorageError) as caught:
            door.list([""])
        assert "ExpiredToken" in str(caught.value)


def test_refusals_have_the_same_sentences_by_both_clients() -> None:
    sentences = []
    for client in ("auto", "s3fs"):
        with answering(lambda number, target: error("403 Forbidden", "AccessDenied")) as (options, _):
            settings = Settings(s3_client=client)  # type: ignore[arg-type]
            door = Door.open(parse_location("s3://bucket/ck", options), settings)
            with pytest.raises(AccessDenied) as caught:
                door.list([""])
            sentences.append((str(caught.value), door.read([FileInfo("a", 1, 1)])))
    assert sentences[0] == sentences[1]


def test_temporary_credentials_are_renewed_before_they_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that gives new credentials each time, which expire in a minute: botocore renews them then at
    each request."""
    expires = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
    script, count = tmp_path / "keys.py", tmp_path / "count"
    script.write_text(
        f"import json, pathlib\nat = pathlib.Path({str(count)!r})\n"
        "number = int(at.read_text()) + 1 if at.exists() else 1\nat.write_text(str(number))\n"
        f"print(json.dumps({{'Version': 1, 'AccessKeyId': f'KEY{{number}}', 'SecretAccessKey': 's',"
        f" 'SessionToken': f'TOKEN{{number}}', 'Expiration': {expires!r}}}))\n"
    )
    (tmp_path / "config").write_text(
        f"[profile short]\nregion=eu-west-1\ncredential_process={sys.executable} {script}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with answering(lambda number, target: usual(target)) as (options, asked):
        place = parse_location(
            "s3://bucket/ck", {"profile": "short", "endpoint_url": options["endpoint_url"]}
        )
        assert set(Door.open(place).list([""])[""].files) == {"a"}
        assert set(Door.open(place).list([""])[""].files) == {"a"}
        first, second = (
            next(line for line in head.splitlines() if line.lower().startswith("x-amz-security-token"))
            for head in (asked[0], asked[-1])
        )
        assert first != second


def test_after_a_redirect_the_short_way_goes_to_the_region_that_s3fs_found(through_s3fs: list[str]) -> None:
    asked: list[str] = []

    def answer(number: int, target: str) -> bytes | None:
        if "/eu-central-1/" in asked[-1]:
            return usual(target)
        body = b"<Error><Code>PermanentRedirect</Code><Message>elsewhere</Message></Error>"
        return plain(body, "301 Moved Permanently", "x-amz-bucket-region: eu-central-1")

    with answering(answer, asked=asked) as (options, _):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(content_cache_bytes=0))
        files = door.list([""])[""].files
        assert set(files) == {"a"}
        before = len(through_s3fs)
        assert door.read(files.values()) == {"a": b"abcd"}
        assert through_s3fs[before:] == ["list_objects_v2", "get_object"]  # watched once more
        assert set(door.list([""])[""].files) == {"a"}
        assert len(through_s3fs) == before + 2
        assert len(asked) == door.requests.list + door.requests.get


@pytest.mark.parametrize("status", ["301 Moved Permanently", "307 Temporary Redirect", "400 Bad Request"])
def test_a_store_that_sends_everybody_away_is_left_to_s3fs(status: str, through_s3fs: list[str]) -> None:
    with answering(lambda number, target: error(status, "AuthorizationHeaderMalformed")) as (options, _):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(store_seconds=5))
        for _ in range(5):
            with pytest.raises(StorageError):
                door.list([""])
        assert through_s3fs.count("list_objects_v2") <= 5 + 3  # and not one for each that is only watched


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "key.pem").write_bytes(private)
    (directory / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return directory / "certificate.pem", directory / "key.pem"


def test_tls_is_spoken_and_certificates_are_checked(tmp_path: Path, through_s3fs: list[str]) -> None:
    files = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    with answering(lambda number, target: usual(target), context) as (options, asked):
        known = {**options, "client_kwargs": {"region_name": "x", "verify": str(files[0])}}
        door = Door.open(parse_location("s3://bucket/ck", known), Settings(content_cache_bytes=0))
        assert door.read(door.list([""])[""].files.values()) == {"a": b"abcd"}
        assert through_s3fs == ["list_objects_v2", "get_object"]
        assert len(asked) == 2
        unknown = Door.open(parse_location("s3://bucket/ck", options), Settings(store_seconds=5))
        with pytest.raises(StorageError):
            unknown.list([""])
        assert len(asked) == 2


def test_connections_are_used_again_and_not_too_many() -> None:
    opened: set[int] = set()
    lock = threading.Lock()

    def answer(number: int, target: str) -> bytes:
        with lock:
            opened.add(threading.get_ident())
        return usual(target)

    with answering(answer) as (options, asked):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(concurrent_requests=4))
        assert len(door.read([FileInfo(str(number), 4, 1) for number in range(100)])) == 100
        assert len(asked) == 100
        assert len(opened) <= 4


def test_connections_for_the_reads_are_opened_with_the_first_listing_and_no_request_is_sent_for_it() -> None:
    accepted: list[Any] = []
    with answering(lambda number, target: usual(target), accepted=accepted) as (options, asked):
        door = Door.open(parse_location("s3://bucket/ck", options), Settings(concurrent_requests=4))
        door.list([""], reads_next=200)
        until = time.monotonic() + 60
        while len(accepted) < 4 and time.monotonic() < until:
            time.sleep(0.01)
        assert len(accepted) == 4
        assert len(asked) == 1
        assert len(door.read([FileInfo(str(number), 4, 1) for number in range(40)])) == 40
        assert len(asked) == 41 and len(accepted) == 4


def test_a_connection_that_the_server_closed_meanwhile_is_no_failure() -> None:
    with answering(lambda number, target: plain(b"abcd", "200 OK", "Connection: close")) as (options, asked):
        door = Door.open(parse_location("s3://bucket/ck", options))
        for number in range(5):
            assert door.read([FileInfo(str(number), 4, 1)]) == {str(number): b"abcd"}
        assert len(asked) == 5
