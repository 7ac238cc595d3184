"""Credentials that change while the app runs: the next reading takes those that are there then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import AccessDenied
from core.settings import Settings
from core.storage import Door, FileInfo, Location, Look, parse_location
from core.storage.filesystems import filesystem, forget
from tests.support.s3_answers import answering, error, usual

EXPIRED = error("400 Bad Request", "ExpiredToken")
REFUSALS = {
    "expired": EXPIRED,
    "unknown": error("403 Forbidden", "InvalidAccessKeyId"),
    "another secret": error("403 Forbidden", "SignatureDoesNotMatch"),
}
FILE = FileInfo("a", 4, 1)


class Bucket:
    """A bucket that takes one key only, and the file of credentials of the user who reads it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.taken = "NEW"
        self.refusal = EXPIRED
        self.asked: list[str] = []
        self.place: Location

    def log_in(self, key: str) -> None:
        self.file.write_text(f"[default]\naws_access_key_id={key}\naws_secret_access_key=s\n")

    def answer(self, number: int, target: str) -> bytes | None:
        head = self.asked[-1]
        if f"Credential={self.taken}/" not in head:
            # The answer to a HEAD has no body, so nothing says why.
            return (
                self.refusal
                if head[:4] == "GET "
                else b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
            )
        if head[:4] == "GET ":
            return usual(target)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    forget()
    bucket = Bucket(tmp_path / "credentials")
    with answering(bucket.answer, asked=bucket.asked) as (options, _):
        given = {name: value for name, value in options.items() if name not in ("key", "secret")}
        bucket.place = parse_location("s3://bucket/ck", given)
        yield bucket
    forget()


@pytest.fixture(params=["auto", "s3fs"])
def settings(request: pytest.FixtureRequest) -> Settings:
    return Settings(s3_client=request.param, content_cache_bytes=0)


def names(place: Location, settings: Settings) -> set[str]:
    return set(Door.open(place, settings).list([""])[""].files)


def test_who_logs_in_after_the_first_try_is_let_in(bucket: Bucket, settings: Settings) -> None:
    with pytest.raises(AccessDenied, match=r"No valid credentials .* next refresh, without a restart"):
        names(bucket.place, settings)
    bucket.log_in("NEW")
    assert names(bucket.place, settings) == {"a"}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_credentials_that_were_renewed_in_their_file_are_taken_without_a_word(
    bucket: Bucket, settings: Settings, refusal: str
) -> None:
    bucket.log_in("OLD")
    bucket.taken, bucket.refusal = "OLD", REFUSALS[refusal]
    door = Door.open(bucket.place, settings)
    assert set(door.list([""])[""].files) == {"a"}
    bucket.taken = "NEW"
    bucket.log_in("NEW")
    assert set(door.list([""])[""].files) == {"a"}
    assert door.not_read == {}


def test_a_file_and_a_look_are_asked_for_again_as_well(bucket: Bucket, settings: Settings) -> None:
    def ask(door: Door, kind: str) -> Any:
        return door.read([FILE])["a"] if kind == "read" else door.look(["a"])["a"]

    for kind in ("read", "look"):
        forget()
        bucket.log_in("OLD")
        bucket.taken = "OLD"
        door = Door.open(bucket.place, settings)
        before = ask(door, kind)
        assert before == b"abcd" or isinstance(before, Look)
        bucket.taken = "NEW"
        bucket.log_in("NEW")
        assert ask(door, kind) == before
        assert door.not_read == {}


def test_refused_credentials_are_one_sentence_until_they_are_renewed(
    bucket: Bucket, settings: Settings
) -> None:
    bucket.log_in("OLD")
    for _ in range(2):
        with pytest.raises(AccessDenied, match=r"are not accepted \(ExpiredToken\); renew them"):
            names(bucket.place, settings)
    bucket.log_in("NEW")
    assert names(bucket.place, settings) == {"a"}


def test_a_user_who_may_not_is_not_asked_to_log_in_and_nothing_is_connected_again(
    bucket: Bucket, settings: Settings
) -> None:
    bucket.log_in("OLD")
    bucket.refusal = error("403 Forbidden", "AccessDenied")
    at_once, seconds = settings.concurrent_requests, settings.store_seconds
    before = filesystem(bucket.place, at_once, seconds)
    with pytest.raises(AccessDenied, match="No permission to list"):
        names(bucket.place, settings)
    assert filesystem(bucket.place, at_once, seconds) is before
