"""Credentials that change while the app runs: the next reading takes those that are there then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import AccessDenied, LocationNotFound, StorageError
from core.settings import Settings
from core.storage import Door, FileInfo, Location, Look, ReadFailure, parse_location
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
    with pytest.raises(AccessDenied, match=r"No valid credentials .* next reading, without a restart"):
        names(bucket.place, settings)
    bucket.log_in("NEW")
    assert names(bucket.place, settings) == {"a"}


def test_a_role_that_needs_a_code_is_refused_and_nobody_is_asked_for_one(
    bucket: Bucket, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal botocore asks for it in the one thread of all stores, which then wait."""
    config = bucket.file.with_name("config")
    config.write_text(
        "[profile code]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = default\n"
        "mfa_serial = arn:aws:iam::123456789012:mfa/someone\nregion = us-east-1\n"
    )
    bucket.log_in("NEW")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "code")
    with pytest.raises(AccessDenied, match=r"MFA token required\); set them in the environment"):
        names(bucket.place, settings)
    assert bucket.asked == []


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


CONFIG = """
[profile program-is-gone]
credential_process=/nowhere/keys
[profile program-fails]
credential_process=/bin/false
[profile program-says-nothing-useful]
credential_process=/bin/echo hello
[profile program-waits-for-somebody]
credential_process=/bin/sleep 600
[profile token-is-gone]
role_arn=arn:aws:iam::1:role/x
web_identity_token_file=/nowhere/token
[profile login-is-over]
sso_start_url=https://x.awsapps.com/start
sso_region=eu-west-1
sso_account_id=1
sso_role_name=r
"""
BROKEN = {
    "program-is-gone": r"was not asked: .*'/nowhere/keys'",
    "program-fails": "No valid credentials for",
    "program-says-nothing-useful": "was not asked: .*JSONDecodeError",
    "program-waits-for-somebody": "was not asked: .*no answer within 3 seconds",
    "token-is-gone": r"was not asked: .*'/nowhere/token'",
    "login-is-over": "No valid credentials for .*SSO",
}


@pytest.mark.parametrize("profile", BROKEN)
def test_what_is_missing_on_this_machine_is_not_a_missing_checkpoint(
    bucket: Bucket, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    (tmp_path / "config").write_text(CONFIG)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    options = {**bucket.place.storage_options, "profile": profile}
    door = Door.open(
        parse_location("s3://bucket/ck", options), settings.model_copy(update={"store_seconds": 3})
    )
    with pytest.raises(StorageError, match=BROKEN[profile]) as caught:
        door.list([""])
    assert not isinstance(caught.value, LocationNotFound)
    assert isinstance(door.read([FILE])["a"], ReadFailure)
    assert isinstance(door.look(["a"])["a"], ReadFailure)
    assert bucket.asked == []


def test_a_token_that_is_lost_between_two_files_is_no_missing_file(
    bucket: Bucket, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.log_in("NEW")
    door = Door.open(bucket.place, settings)
    assert set(door.list([""])[""].files) == {"a"}
    at_once, seconds = settings.concurrent_requests, settings.store_seconds
    fs = filesystem(bucket.place, at_once, seconds)

    async def lost(self: Any) -> Any:
        (bucket.file.parent / "token").read_bytes()

    credentials, calls = type(fs.s3._request_signer._credentials), [0]
    real = credentials.get_frozen_credentials

    async def first_then_lost(self: Any) -> Any:
        calls[0] += 1
        return await (real if calls[0] == 1 else lost)(self)

    monkeypatch.setattr(credentials, "get_frozen_credentials", first_then_lost)
    read, looked = door.read([FILE])["a"], door.look(["a"])["a"]
    assert isinstance(read, ReadFailure) and "was not asked for this file" in read.reason
    assert isinstance(looked, ReadFailure)
