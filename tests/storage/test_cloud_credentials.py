"""Google's and Azure's stores without credentials, archives, and connections that are refused. gcsfs and adlfs
are not installed here: file systems stand in for them that have the same attributes and raise what those raised
on a machine without credentials and network (gcsfs 2026.10.1, adlfs 2026.8.0)."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fsspec.registry import _registry as registered
from fsspec.spec import AbstractFileSystem

from core.errors import AccessDenied, LocationNotFound, NotADirectory, StorageError, UnsupportedLocation
from core.settings import PREFIX, SAMPLES, Settings, load_settings
from core.storage import Door, parse_location
from core.storage.filesystems import forget

SAMPLE = SAMPLES / "files-died-mid-batch" / "checkpoint"


class ClientAuthenticationError(Exception):
    """Called as that of azure.core."""


class Google(AbstractFileSystem):  # type: ignore[misc]
    """A bucket that answers with ``error``. ``token``: as for gcsfs; None with ``finds`` None: nothing found."""

    protocol = "gs"

    def __init__(self, error: Exception, token: str | None = None, finds: str = "anon") -> None:
        super().__init__()
        self.error = error
        self.credentials = SimpleNamespace(token=token, method=token or finds)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        raise self.error


class Azure(AbstractFileSystem):  # type: ignore[misc]
    """A container that is empty. ``finds``: whether a login of this machine gives a token."""

    protocol = "abfs"

    def __init__(self, account_name: str = "", account_key: str | None = None, finds: bool = False) -> None:
        super().__init__()
        if not account_name:
            raise ValueError("Must provide either a connection_string or account_name with credentials!!")
        self.sync_credential = None if account_key else self
        self.finds = finds

    def get_token(self, scope: str) -> str:
        if not self.finds:
            raise ClientAuthenticationError("DefaultAzureCredential failed to retrieve a token. HIDDEN")
        return "token"

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        return []

    @classmethod
    def _get_kwargs_from_urls(cls, path: str) -> dict[str, str]:
        host = path.split("://")[1].split("/")[0]
        return {"account_name": host.split("@")[1].split(".")[0]} if "@" in host else {}


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for stand_in in (Google, Azure):
        monkeypatch.setitem(registered, stand_in.protocol, stand_in)
    forget()
    yield
    forget()


def listed(url: str, **options: Any) -> None:
    Door.open(parse_location(url, options), Settings()).list([""])


@pytest.mark.parametrize("error", [PermissionError("Anonymous caller"), TimeoutError("no answer")])
def test_google_without_credentials_says_what_to_set(error: Exception) -> None:
    with pytest.raises(AccessDenied, match="No credentials for gs://bucket/ck were found") as caught:
        listed("gs://bucket/ck", error=error)
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(caught.value)
    assert "CHECKPOINT_EXPLORER_ROOTS" in str(caught.value)


@pytest.mark.parametrize("given", [{"token": "anon"}, {"finds": "google_default"}])
def test_google_is_not_said_to_lack_credentials_that_it_has(given: dict[str, str]) -> None:
    with pytest.raises(AccessDenied, match="No permission to list gs://bucket/ck"):
        listed("gs://bucket/ck", error=PermissionError("forbidden"), **given)


def test_an_absent_directory_of_a_public_bucket_is_absent() -> None:
    with pytest.raises(LocationNotFound, match="Nothing found"):
        listed("gs://bucket/ck", error=FileNotFoundError("bucket/ck"))


@pytest.mark.parametrize("scheme", ["abfs", "abfss", "az"])
def test_azure_without_credentials_says_what_to_set_and_nothing_of_the_drivers_words(scheme: str) -> None:
    with pytest.raises(AccessDenied, match="No credentials for abfs://box@acc") as caught:
        listed(f"{scheme}://box@acc.dfs.core.windows.net/ck")
    assert "az login" in str(caught.value)
    assert "HIDDEN" not in str(caught.value)


@pytest.mark.parametrize("given", [{"account_key": "KEY"}, {"finds": True}])
def test_azure_with_credentials_is_asked(given: dict[str, Any]) -> None:
    listed("abfss://box@acc.dfs.core.windows.net/ck", **given)


def test_azure_without_an_account_says_how_to_name_it() -> None:
    with pytest.raises(UnsupportedLocation, match="abfss://<container>@<account>"):
        listed("az://box/ck")


def test_the_drivers_log_is_not_printed() -> None:
    code = (
        "import logging; from core.storage.clouds import silence_log; silence_log('gs');"
        "logging.getLogger('gcsfs').warning('NOISE'); logging.getLogger('google.auth._default').warning('NOISE');"
        "logging.getLogger('azure.identity.aio._credentials').warning('NOISE')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == ""


@pytest.mark.parametrize(
    "text",
    ["zip:///tmp/ck.zip", "tar:///tmp/ck.tar.gz", "zip://checkpoint::/tmp/ck.zip", "TAR://a::s3://b/c"],
)
def test_an_archive_is_to_be_unpacked(text: str) -> None:
    with pytest.raises(UnsupportedLocation, match="is an archive; unpack it"):
        parse_location(text)


@pytest.mark.parametrize(("form", "ending"), [("gztar", ".tar.gz"), ("zip", ".zip")])
def test_an_archive_on_this_machine_is_to_be_unpacked(form: str, ending: str, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "ck"), form, SAMPLE.parent, "checkpoint")
    with pytest.raises(StorageError, match="unpack") as caught:
        Door.open(str(tmp_path / f"ck{ending}")).list([""])
    assert ending == ".zip" or isinstance(caught.value, NotADirectory)


@pytest.mark.parametrize(
    ("form", "protocol", "ending"), [("gztar", "tar", ".tar.gz"), ("zip", "zip", ".zip")]
)
def test_a_root_in_an_archive_reads_it(
    form: str, protocol: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.make_archive(str(tmp_path / "ck"), form, SAMPLE.parent, "checkpoint")
    packed = {"url": f"{protocol}://checkpoint", "storage_options": {"fo": str(tmp_path / f"ck{ending}")}}
    monkeypatch.setenv(PREFIX + "ROOTS", json.dumps({"ticket": packed}))
    root = load_settings().roots["ticket"]
    door = Door.open(parse_location(root.url, root.storage_options.get_secret_value()))
    found = door.list([""], recursive=True)[""].files
    here = {str(path.relative_to(SAMPLE)): path.read_bytes() for path in SAMPLE.rglob("*") if path.is_file()}
    assert door.read(found.values()) == here


def test_a_refused_connection_is_said_in_the_words_of_the_system() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(StorageError, match=r"cannot be reached \(Connection refused\)"):
        Door.open(f"webhdfs://127.0.0.1:{port}/ck").list([""])
