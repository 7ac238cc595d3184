"""From pasted text to a location: which kind of store, and the path in it. Nothing is read here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fsspec
from fsspec.registry import known_implementations
from fsspec.utils import tokenize

from core.errors import UnsupportedLocation
from core.messages import say
from core.settings import has_password

# Names that Spark and Hadoop use for a store that fsspec knows under another name.
ALIASES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "az": "abfs", "gcs": "gs", "local": "file"}

# Wrappers of another store, caches that write to the local disk, and things that are no directory of files.
REFUSED = {
    "simplecache",
    "filecache",
    "blockcache",
    "cached",
    "dir",
    "reference",
    "generic",
    "async_wrapper",
    "data",
    "pyscript",
    "dask",
}

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".7z", ".gz")
_PACKED = {"zip", "tar", "libarchive"}  # fsspec reads the archive that its option "fo" names

QUOTES = "\"'`“”‘’"
BUCKET = re.compile(r"^([A-Za-z0-9._-]{3,255}|arn:.+)$")
_WINDOWS = re.compile(r"/?[A-Za-z]:[\\/]|\\\\")  # a drive, also in a file URL, or a share
_PACKAGES = {"smb": "smbprotocol"}  # where the name of the module is not that of the package
URL = re.compile(r"^(?P<protocol>[A-Za-z][A-Za-z0-9+.\-]+):(?P<rest>//.*|/[^/].*|/)$", re.DOTALL)


@dataclass(frozen=True)
class Location:
    """A directory in a store.

    ``url`` is the normal form that people see and share (``s3://bucket/ck``; a local path is written bare,
    ``/data/ck``); ``path`` is what the file system of ``protocol`` calls it. ``storage_options`` are fsspec's
    (credentials, endpoints): they are never shown, not part of ``repr`` and never travel in a link. ``name``
    is what people call it. Two locations are equal when URL and storage options are: the options decide which
    store is asked, and with whose rights. ``evidence_id``: of an evidence file in the incident store, the
    first digits of its SHA-256.
    """

    url: str
    protocol: str
    path: str
    name: str = field(compare=False)
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    evidence_id: str = field(default="", compare=False)
    options_token: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "options_token", tokenize(sorted(self.storage_options.items(), key=lambda item: item[0]))
        )

    @property
    def is_local(self) -> bool:
        """Whether the files are on this machine's file system."""
        return self.protocol == "file"

    def without_credentials(self) -> str:
        """The URL without user names, query and values of the storage options: what may be written down."""
        url = self.url
        if not self.is_local:
            url = re.sub(r"://[^/@]*@", "://", url)
            url = url.partition("?")[0].partition("#")[0]
        for secret in sorted(texts_in(self.storage_options), key=len, reverse=True):
            url = url.replace(secret, "***")
        return url

    def __str__(self) -> str:
        return self.url


def texts_in(value: object) -> set[str]:
    """All texts in storage options, at any depth, that could be a secret."""
    if isinstance(value, Mapping):
        return {text for item in value.values() for text in texts_in(item)}
    if isinstance(value, list | tuple):
        return {text for item in value for text in texts_in(item)}
    return {value} if isinstance(value, str) and len(value) > 2 else set()


_CHECKPOINT_NAMES = frozenset({"checkpoint", "checkpoints", "ck", "cks", "chk", "chkpt", "ckpt", "ckpts"})


def title_of(name: str) -> str:
    """The telling part of a name: its last part, or the one before where the last only says that it is a
    checkpoint (``_CHECKPOINT_NAMES``); a number with the part before it (``by_day/0``)."""
    if has_password(name):
        name = name.partition("?")[0]  # a signature would stand in headers and tabs
    parts = [part for part in name.replace("\\", "/").split("/") if part]
    telling = [part for part in parts if part.lower().strip("_.") not in _CHECKPOINT_NAMES]
    last = (telling or parts or [name])[-1]
    if last.isdecimal():
        at = len(parts) - 1 - parts[::-1].index(last)
        numbered = "/".join(parts[max(0, at - 1) : at + 1])
        return numbered if numbered in name else last
    return last


def parse_location(
    text: str, storage_options: Mapping[str, Any] | None = None, name: str | None = None
) -> Location:
    """The location that a person meant by ``text``.

    Understood: local paths (absolute, relative, ``~``, ``file:/x``, ``file:///x``), ``s3://`` (also
    ``s3a://`` and ``s3n://``), ``memory://`` and every protocol that fsspec knows. White space, quotes around
    the text and slashes at its end are dropped. ``name`` defaults to the last part of the path. No request is
    sent; whether something is there is not known yet.

    Raises :class:`UnsupportedLocation` when the text is no location, the protocol is unknown or its package
    is missing.
    """
    cleaned = _clean(text)
    options = dict(storage_options or {})
    match = URL.match(cleaned)
    if match is None:
        return _local(cleaned, options, name)
    protocol = match["protocol"].lower()
    protocol = ALIASES.get(protocol, protocol)
    rest = match["rest"]
    if protocol == "file":
        return _local(_file_path(cleaned, rest), options, name)
    if protocol == "dbfs":
        return _dbfs(cleaned, rest, options, name)
    if has_password(cleaned):
        raise UnsupportedLocation(say("storage.location_password"))
    if not rest.startswith("//"):
        sentence = say("storage.location_one_slash", text=cleaned, protocol=match["protocol"], rest=rest)
        raise UnsupportedLocation(sentence, cleaned)
    return _remote(protocol, protocol + ":" + rest, options, name)


def child_of(parent: Location, relative: str) -> Location:
    """The location of a path below another one, in the same store; the location itself for ""."""
    if not relative:
        return parent
    return parse_location(f"{parent.url.rstrip('/')}/{relative}", parent.storage_options)


def _clean(text: str) -> str:
    cleaned = text.strip()
    while len(cleaned) >= 2 and cleaned[0] in QUOTES and cleaned[-1] in QUOTES:
        cleaned = cleaned[1:-1].strip()
    if not cleaned:
        raise UnsupportedLocation(say("storage.location_empty"))
    if not cleaned.isprintable():
        raise UnsupportedLocation(say("storage.location_control"))
    if "::" in cleaned and has_password(cleaned):
        raise UnsupportedLocation(say("storage.location_password"))
    if cleaned.partition("://")[0].lower() in _PACKED and "::" in cleaned:
        raise UnsupportedLocation(say("storage.location_archive", text=cleaned), cleaned)
    if "::" in cleaned:
        raise UnsupportedLocation(say("storage.location_chained", text=cleaned), cleaned)
    return cleaned


def _file_path(cleaned: str, rest: str) -> str:
    if not rest.startswith("//"):
        return rest
    host, slash, path = rest[2:].partition("/")
    if host not in ("", "localhost"):
        raise UnsupportedLocation(
            say("storage.location_host", text=cleaned, host=host, rest=rest[2:]), cleaned
        )
    return slash + path


def _local(text: str, options: dict[str, Any], name: str | None) -> Location:
    try:
        path = os.path.normpath(Path(text).expanduser().absolute())
    except RuntimeError:
        raise UnsupportedLocation(say("storage.location_home", text=text), text) from None
    if os.name != "nt" and _WINDOWS.match(text) and not Path(text).exists():
        raise UnsupportedLocation(say("storage.location_windows", text=text), text)
    # POSIX lets normpath keep two leading slashes; here they mean nothing.
    path = "/" + path.lstrip("/") if path.startswith("//") else path
    for mount in ("/dbfs", "/Volumes", "/Workspace"):
        if (path == mount or path.startswith(mount + "/")) and not _is_mounted(mount):
            raise _databricks(text, mount + "/...")
    return Location(
        url=path, protocol="file", path=path, name=name or Path(path).name or path, storage_options=options
    )


def _dbfs(cleaned: str, rest: str, options: dict[str, Any], name: str | None) -> Location:
    path = rest.lstrip("/")
    if path.startswith("Volumes/"):  # dbfs:/Volumes/... is another way to write /Volumes/...
        return _local("/" + path, options, name)
    if not _is_mounted("/dbfs"):
        raise _databricks(cleaned, "dbfs:/...")
    return _local("/dbfs/" + path, options, name)


def _is_mounted(mount: str) -> bool:
    return Path(mount).is_dir()


def _databricks(text: str, form: str) -> UnsupportedLocation:
    return UnsupportedLocation(say("storage.location_databricks", text=text, form=form), text)


def has_one_clock(one: Location, other: Location) -> bool:
    """Whether the files of two locations get their times from one clock: one disk of this machine, or one
    bucket. A mounted directory may have the clock of a server."""
    if one.protocol != other.protocol:
        return False
    if not one.is_local:
        return urlsplit(one.url).netloc == urlsplit(other.url).netloc
    try:
        return os.stat(one.path).st_dev == os.stat(other.path).st_dev  # noqa: PTH116
    except OSError:
        return False


def is_below(url: str, other: str) -> bool:
    """Whether one place is another one or lies below it, by their names alone."""
    return f"{url.rstrip('/')}/".startswith(f"{other.rstrip('/')}/")


def _remote(protocol: str, url: str, options: dict[str, Any], name: str | None) -> Location:
    if protocol in REFUSED:
        raise UnsupportedLocation(say("storage.location_no_store", protocol=protocol), url)
    if protocol in _PACKED and "fo" not in options:
        raise UnsupportedLocation(say("storage.location_archive", text=url), url)
    cls = _implementation(protocol, url)
    cut = url.rstrip("/")
    if cut.endswith(":"):
        if protocol != "memory":
            raise UnsupportedLocation(say("storage.location_no_bucket", url=url, protocol=protocol), url)
        cut = "memory://"
    if protocol == "memory":
        cut = "memory://" + cut.removeprefix("memory://").strip("/")
    parts = cut.split("://", 1)[1].split("/")
    if any(part in (".", "..") for part in parts):
        raise UnsupportedLocation(say("storage.location_dots", url=url), url)
    if protocol == "s3" and not BUCKET.match(parts[0]):
        raise UnsupportedLocation(say("storage.location_bucket", bucket=parts[0]), url)
    try:
        path = str(cls._strip_protocol(cut)).rstrip("/")
    except Exception as error:
        sentence = say("storage.location_invalid", url=url, protocol=protocol, error=error)
        raise UnsupportedLocation(sentence, url) from error
    last = next((part for part in reversed(parts) if part), "")
    return Location(url=cut, protocol=protocol, path=path, name=name or last or cut, storage_options=options)


def _implementation(protocol: str, url: str) -> Any:
    try:
        return fsspec.get_filesystem_class(protocol)
    except ValueError:
        is_older = protocol in ("wasb", "wasbs")
        sentence = (
            say("storage.location_wasb", protocol=protocol)
            if is_older
            else say("storage.location_unknown", protocol=protocol)
        )
        raise UnsupportedLocation(sentence, url) from None
    except ImportError as error:
        package = _missing_package(protocol, error)
        sentence = say("storage.location_package", protocol=protocol, package=package)
        raise UnsupportedLocation(sentence, url) from error


def _missing_package(protocol: str, error: ImportError) -> str:
    if protocol in _PACKAGES:
        return _PACKAGES[protocol]
    module = str(known_implementations.get(protocol, {}).get("class", protocol)).split(".")[0]
    if module != "fsspec":
        return module
    cause = error.__cause__
    missing = (cause.name if isinstance(cause, ImportError) else None) or protocol
    return missing.split(".")[0]
