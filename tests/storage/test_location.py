"""What people paste, and what it means."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import StorageError, UnsupportedLocation
from core.settings import has_password
from core.storage import Location, parse_location
from core.storage import location as location_module
from core.storage.location import has_one_clock

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("s3://bucket/a/ck", "s3://bucket/a/ck"),
        ("s3a://bucket/a/ck/", "s3://bucket/a/ck"),
        ("s3n://bucket/a/ck///", "s3://bucket/a/ck"),
        ("S3A://bucket/CK", "s3://bucket/CK"),
        ("  s3://bucket/ck \n", "s3://bucket/ck"),
        ('"s3://bucket/ck/"', "s3://bucket/ck"),
        ("'/data/ck'", "/data/ck"),
        ("`/data/ck`", "/data/ck"),
        ("“/data/ck”", "/data/ck"),
        ("/data//x/../ck/./", "/data/ck"),
        ("//data/ck", "/data/ck"),
        ("file:/data/ck", "/data/ck"),
        ("file:///data/ck", "/data/ck"),
        ("file://localhost/data/ck", "/data/ck"),
        ("FILE:///data/ck", "/data/ck"),
        ("/data/with space/é", "/data/with space/é"),
        ("/data/50%/a+b", "/data/50%/a+b"),
        ("memory://ck/", "memory://ck"),
        ("memory:///ck", "memory://ck"),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
    ],
)
def test_what_was_pasted_becomes_a_location(text: str, url: str) -> None:
    assert parse_location(text).url == url


def test_relative_paths_and_the_home_directory_become_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert parse_location("a/ck").url == str(tmp_path / "a/ck")
    assert parse_location("./ck").path == str(tmp_path / "ck")
    assert parse_location("~/ck").path == str(tmp_path / "home/ck")


def test_a_location_has_a_protocol_a_path_and_a_name() -> None:
    location = parse_location("s3a://bucket/jobs/orders/", name=None)
    assert (location.protocol, location.path, location.name) == ("s3", "bucket/jobs/orders", "orders")
    assert parse_location("/data/ck", name="Orders").name == "Orders"
    assert parse_location("s3://bucket").name == "bucket"
    assert parse_location("memory://a/ck").path == "/a/ck"
    assert parse_location("file:/x").is_local
    assert not location.is_local


def test_storage_options_are_never_shown() -> None:
    location = parse_location("s3://bucket/ck", {"key": "AKIA-VISIBLE", "secret": "HIDDEN-VALUE"})
    shown = repr(location) + str(location) + f"{location!s}" + location.name
    assert "HIDDEN-VALUE" not in shown
    assert "AKIA-VISIBLE" not in shown
    assert location.storage_options["secret"] == "HIDDEN-VALUE"


def test_other_storage_options_make_another_location() -> None:
    one, same, other = (parse_location("s3://bucket/ck", {"secret": secret}) for secret in ("a", "a", "b"))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert parse_location("s3://bucket/ck", name="x") == parse_location("s3a://bucket/ck", name="y")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The location is empty"),
        ("  '' ", "The location is empty"),
        ("/data/ck\n/data/other", "line breaks or control characters"),
        ("~no-such-user-here/ck", "home directory of an unknown user"),
        ("/data/\0ck", "line breaks or control characters"),
        ("nonsense://x/y", '"nonsense://" is not a store that can be read'),
        ("s3://", "names no bucket"),
        ("s3:/bucket/ck", "write s3://bucket/ck"),
        ("s3://no good/ck", "is not a valid bucket name"),
        ("s3://bucket/a/../ck", 'has "." or ".."'),
        ("file://server/share/ck", 'names the host "server"'),
        ("zip::s3://bucket/x.zip", "chains two stores"),
        ("simplecache://x/y", "is not a store of its own"),
        ("dbfs:/checkpoints/ck", "exists only inside Databricks"),
        ("dbfs:///checkpoints/ck", "exists only inside Databricks"),
        ("dbfs:/Volumes/main/default/v/ck", "exists only inside Databricks"),
        ("/Volumes/main/default/v/ck", "exists only inside Databricks"),
        ("/dbfs/checkpoints/ck", "exists only inside Databricks"),
    ],
)
def test_what_is_no_location_gets_one_clear_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UnsupportedLocation) as caught:
        parse_location(text)
    message = str(caught.value)
    assert sentence in message
    assert isinstance(caught.value, StorageError)
    assert "\n" not in message
    assert message.endswith((".", ")"))


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("gs://bucket/ck", "gcsfs"),
        ("abfss://box@account.dfs.core.windows.net/ck", "adlfs"),
        ("oss://bucket/ck", "ossfs"),
        ("sftp://h/ck", "paramiko"),
    ],
)
def test_a_missing_package_is_an_instruction_with_the_install_line(
    text: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without(package, monkeypatch)
    with pytest.raises(UnsupportedLocation, match=f"pip install {package}"):
        parse_location(text)


def _without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of an environment in which the package is not installed, also when it is."""
    monkeypatch.setitem(sys.modules, package, None)


def test_databricks_paths_are_local_where_they_are_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location_module, "_is_mounted", lambda mount: True)
    assert parse_location("dbfs:/checkpoints/ck").path == "/dbfs/checkpoints/ck"
    assert parse_location("dbfs:/Volumes/main/v/ck").path == "/Volumes/main/v/ck"
    assert parse_location("/Volumes/main/v/ck").is_local


def test_a_location_cannot_be_changed() -> None:
    location: Location = parse_location("/data/ck")
    with pytest.raises(AttributeError):
        location.url = "/other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "text",
    [
        "ftp://user:secret@host/ck",
        "http://u:secret@127.0.0.1:1/x",
        "S3://key:secret@bucket/ck",
        "https://account.blob.core.windows.net/box/ck?sv=2024-11-04&sr=c&sig=secret%3D",
        "abfss://box@account.dfs.core.windows.net/ck?SIG=secret",
        "https://bucket.s3.amazonaws.com/ck?X-Amz-Expires=9&X-Amz-Signature=secret",
        "https://storage.googleapis.com/b/ck?x-goog-credential=secret",
        "https://host/ck?token=secret",
    ],
)
def test_a_password_in_a_location_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UnsupportedLocation) as caught:
        parse_location(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "abfss://box@account.dfs.core.windows.net/ck",
        "hdfs://host:8020/a@b",
        "s3://bucket/sig=1/token=x/ck",
        "https://host/ck?page=2&design=1",
    ],
)
def test_what_only_looks_like_a_password_is_none(text: str) -> None:
    assert not has_password(text)


@pytest.mark.parametrize(
    "text", ["filecache::s3://key:secret@bucket/ck", "zip://x::https://host/ck.zip?sv=1&sig=secret"]
)
def test_a_chain_with_a_password_is_not_repeated(text: str) -> None:
    with pytest.raises(UnsupportedLocation) as caught:
        parse_location(text)
    assert "secret" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="these are paths of Windows")
@pytest.mark.parametrize(
    "text", ["C:\\data\\ck", "d:/data/ck", "\\\\server\\share\\ck", "file:///C:/data/ck"]
)
def test_a_path_of_windows_is_not_a_checkpoint_that_was_deleted(text: str) -> None:
    with pytest.raises(UnsupportedLocation, match="is a path of Windows"):
        parse_location(text)


def test_the_older_driver_of_azure_is_told_apart_from_a_store_that_nobody_knows() -> None:
    with pytest.raises(UnsupportedLocation, match="write abfss://<container>@<account>"):
        parse_location("wasbs://box@account.blob.core.windows.net/ck")
    with pytest.raises(UnsupportedLocation, match="is not a store that can be read"):
        parse_location("strange://box/ck")


@pytest.mark.skipif("HADOOP_HOME" in os.environ, reason="this machine has the client of Hadoop")
def test_hdfs_without_the_client_of_hadoop_says_what_this_machine_lacks() -> None:
    """pyarrow's own error has a line for each place where it looked. It loads Java: a process of its own."""
    command = [sys.executable, "-m", "core", "forecast", "hdfs://name-node.invalid:8020/ck"]
    found = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert found.returncode == 10
    said = found.stdout + found.stderr
    assert "needs Java and the client of Hadoop" in said and "webhdfs://" in said and "dlopen" not in said


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("s3://bucket/ck", "s3a://bucket/out", True),
        ("s3://bucket/ck", "s3://basket/out", False),
        ("s3://bucket/ck", "memory://bucket/out", False),
        ("{here}", "{here}/out", True),
        ("{here}", "{here}/gone", False),  # nobody knows where it was
        ("{here}", "/proc", False),
    ],
)
def test_one_disk_and_one_bucket_have_one_clock(one: str, other: str, is_one: bool, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    places = [parse_location(text.format(here=tmp_path)) for text in (one, other)]
    assert has_one_clock(*places) == is_one
