"""Files on any store that Spark reaches, and the logs of Spark in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.words import Refused, Unfit, is_missing, is_verified

LISTED_FROM = 20  # a directory is listed where so many files of it are looked for


class Files:
    """Lists, reads, copies and renames on any store that Spark reaches. It has no way to delete."""

    def __init__(self, spark: Any) -> None:
        self._hadoop = spark._jvm.org.apache.hadoop.fs
        self._uri = spark._jvm.java.net.URI
        self._bytes = spark._jvm.org.apache.commons.io.IOUtils
        self._digests = spark._jvm.org.apache.commons.codec.digest.DigestUtils
        self._conf = spark._jsc.hadoopConfiguration()
        # Spark itself does not read the .crc files beside its logs. The session's local file system, which
        # Spark reads state with, keeps reading them.
        local = self._hadoop.Path("file:///").toUri()
        self._without_checksums = self._hadoop.FileSystem.newInstance(local, self._conf)
        self._without_checksums.setVerifyChecksum(False)

    def _at(self, place: str, verify: bool = False) -> tuple[Any, Any]:
        path = self._hadoop.Path(place)
        system = path.getFileSystem(self._conf)
        if not verify and str(system.getUri()).startswith("file:"):
            system = self._without_checksums
        return system, path

    def exists(self, place: str) -> bool:
        """Whether there is a file or a directory."""
        system, path = self._at(place)
        return bool(system.exists(path))

    def plain_path(self, place: str) -> str:
        """The path without its store, as the logs write it."""
        system, path = self._at(place)
        return str(system.makeQualified(path).toUri().getPath()).rstrip("/")

    def names(self, place: str) -> list[str]:
        """The names in a directory; empty when there is no such directory."""
        return sorted(entry.getPath().getName() for entry in self._entries(place))

    def numbers(self, place: str) -> list[int]:
        """The batch ids in a log directory, ascending. A name counts when it is made of digits only."""
        return sorted(int(name) for name in self.names(place) if name.isascii() and name.isdigit())

    def times(self, place: str) -> dict[str, int]:
        """The time of the last change of every file in a directory, in milliseconds, by its name."""
        return {entry.getPath().getName(): entry.getModificationTime() for entry in self._entries(place)}

    def modified(self, inputs: Sequence[str]) -> dict[str, int]:
        """When input files were last changed, in milliseconds, without those that are gone. Source logs name
        them as encoded URIs. A directory with many of them is listed; a store would be asked for each."""
        by_directory: dict[str, list[str]] = {}
        for encoded in inputs:
            by_directory.setdefault(encoded.rpartition("/")[0], []).append(encoded)
        found = {}
        for directory, members in by_directory.items():
            if len(members) < LISTED_FROM:
                there = [entry for encoded in members for entry in self._stated(encoded)]
            else:
                there = self._stated(f"{directory}/", is_listed=True)
            times = {entry.getPath().getName(): entry.getModificationTime() for entry in there}
            names = {encoded: unquote(encoded.rpartition("/")[2]) for encoded in members}
            found.update({encoded: times[name] for encoded, name in names.items() if name in times})
        return found

    def _stated(self, encoded: str, is_listed: bool = False) -> list[Any]:
        """What a store says of a file, or of those in a directory; nothing where it is gone."""
        path = self._hadoop.Path(self._uri(encoded))
        system = path.getFileSystem(self._conf)
        try:
            return list(system.listStatus(path)) if is_listed else [system.getFileStatus(path)]
        except Exception as error:
            if not is_missing(error):
                raise
            return []

    def directories(self, place: str) -> list[str]:
        """The names of the directories in a directory; empty when there is no such directory."""
        return sorted(entry.getPath().getName() for entry in self._entries(place) if entry.isDirectory())

    def own_sizes(self, place: str) -> dict[str, int]:
        """The files that lie in a directory itself, by name, with their sizes."""
        system, path = self._at(place)
        entries = [entry for entry in system.listStatus(path) if not entry.isDirectory()]
        return {entry.getPath().getName(): entry.getLen() for entry in entries}

    def _entries(self, place: str) -> list[Any]:
        system, path = self._at(place)
        return list(system.listStatus(path)) if system.exists(path) else []

    def clock_slack_ms(self, one: str, other: str) -> int:
        """How far the times of files in two places may be apart: two stores may have two clocks, an object
        store counts in seconds."""
        if not self.is_same_store(one, other):
            return 60000
        return 100 if self._at(one)[0].getScheme() == "file" else 1000

    def is_same_store(self, one: str, other: str) -> bool:
        """Whether two places lie in one file system or bucket."""
        return str(self._at(one)[0].getUri()) == str(self._at(other)[0].getUri())

    def is_inside(self, place: str, directory: str) -> bool:
        """Whether a place is a directory, or lies below it."""
        if not self.is_same_store(place, directory):
            return False
        inner, outer = self.plain_path(place), self.plain_path(directory)
        return inner == outer or inner.startswith(outer + "/")

    def sizes(self, place: str) -> dict[str, int]:
        """Every file below a directory by its relative path, with its size."""
        return {path: entry.getLen() for path, entry in self._below(place)}

    def stamps(self, place: str) -> dict[str, tuple[int, int]]:
        """Every file below a directory by its relative path, with its size and the time of its last change;
        empty when nothing is there."""
        if not self.exists(place):
            return {}
        return {path: (entry.getLen(), entry.getModificationTime()) for path, entry in self._below(place)}

    def _below(self, place: str) -> Iterator[tuple[str, Any]]:
        system, path = self._at(place)
        root, files = self.plain_path(place) + "/", system.listFiles(path, True)
        while files.hasNext():
            entry = files.next()
            yield entry.getPath().toUri().getPath()[len(root) :], entry

    def walk(self, place: str, below: str = "") -> dict[str, int]:
        """Every file below a directory by its relative path, with its size. A directory is listed before
        those in it, so that what a file names is listed after it. Names that begin with a dot are checksums
        of Hadoop and interrupted writes; Spark reads neither."""
        at = f"{place}/{below}" if below else place
        inner, found = self.directories(at), {}
        for name, size in self.own_sizes(at).items():
            if not name.startswith(".") and not name.endswith("_$folder$"):
                found[f"{below}/{name}" if below else name] = size
        for name in inner:
            if name.startswith(".") or name == "__tmp_path_dir":
                continue
            try:
                found.update(self.walk(place, f"{below}/{name}" if below else name))
            except Exception as error:
                if not is_missing(error):
                    raise
        return found

    def read_bytes(self, place: str) -> bytes:
        """The content of a file."""
        system, path = self._at(place)
        stream = system.open(path)
        try:
            return bytes(self._bytes.toByteArray(stream))
        finally:
            stream.close()

    def read(self, place: str) -> str:
        """The text of a file."""
        return self.read_bytes(place).decode()

    def qualified(self, place: str) -> str:
        """A place with its store, as Spark writes it into the metadata of operators."""
        system, path = self._at(place)
        return str(system.makeQualified(path).toString()).rstrip("/")

    def digest(self, place: str, verify: bool = False) -> str:
        """The SHA-256 of the content of a file."""
        system, path = self._at(place, verify)
        stream = system.open(path)
        try:
            return str(self._digests.sha256Hex(stream))
        finally:
            stream.close()

    def has_same_content(self, one: str, other: str) -> bool:
        """Whether two files are equal, byte by byte."""
        streams = []
        try:
            for place in (one, other):
                system, path = self._at(place)
                streams.append(system.open(path))
            return bool(self._bytes.contentEquals(*streams))
        finally:
            for stream in streams:
                stream.close()

    def write(self, place: str, text: str) -> None:
        """A new file; fails when it exists."""
        self._write(place, text, False)

    def replace(self, place: str, text: str) -> None:
        """The script's own small files only."""
        self._write(place, text, True)

    def _write(self, place: str, text: str, may_replace: bool) -> None:
        system, path = self._at(place)
        stream = system.create(path, may_replace)
        stream.write(bytearray(text.encode()))
        stream.close()

    def make(self, place: str) -> None:
        """A directory."""
        system, path = self._at(place)
        system.mkdirs(path)

    def copy(self, source: str, target: str, verify: bool = False) -> None:
        """Copies a file, or a directory with all that is in it."""
        to_system, to_path = self._at(target)
        from_system, from_path = self._at(source, verify)
        self._hadoop.FileUtil.copy(from_system, from_path, to_system, to_path, False, False, self._conf)

    def copy_exactly(self, source: str, target: str) -> str | None:
        """Copies one file and reads both again; gives the SHA-256. None when the source is not there any
        more."""
        try:
            wanted = self.digest(source, is_verified(source))
            self.copy(source, target, is_verified(source))
        except Exception as error:
            if is_missing(error):
                return None
            if "ChecksumException" in str(error):
                text = f"{source} does not match its checksum file, and Spark would not load it"
                raise Unfit(text) from error
            raise
        if self.digest(target) != wanted:
            raise Unfit(f"{source} changed while it was copied")
        return wanted

    def rename(self, source: str, target: str) -> None:
        """Renames; refuses when the new name is taken."""
        system, path = self._at(source)
        if self.exists(target):
            raise Refused(f"{target} already exists, so {source} cannot be renamed to it.")
        system.mkdirs(self._hadoop.Path(target).getParent())
        if not system.rename(path, self._hadoop.Path(target)):
            raise Refused(f"{source} could not be renamed to {target}.")

    def put_aside(self, place: str) -> None:
        """Renames a leftover of an interrupted run."""
        number = 1
        while self.exists(f"{place}.leftover-{number}"):
            number += 1
        self.rename(place, f"{place}.leftover-{number}")


def log_entries(files: Files, directory: str, up_to: int) -> list[dict[str, Any]]:
    """The entries of a compactible log, oldest first: the newest .compact file, and the plain files after it
    as far as ``up_to``."""
    names = files.names(directory)
    compact = max(
        (int(name[: -len(".compact")]) for name in names if re.fullmatch(r"[0-9]+\.compact", name)),
        default=-1,
    )
    plain = [number for number in files.numbers(directory) if compact < number <= up_to]
    gaps = set(range(compact + 1, up_to + 1)) - set(plain)
    if gaps:
        raise Refused(
            f"{directory} lacks the entries {sorted(gaps)}, so it is not known which files it names."
        )
    entries = []
    for name in ([f"{compact}.compact"] if compact >= 0 else []) + [str(number) for number in plain]:
        lines = files.read(f"{directory}/{name}").splitlines()
        if lines[:1] != ["v1"]:
            raise Refused(f"{directory}/{name} does not begin with v1.")
        try:
            entries += [json.loads(line) for line in lines[1:] if line.strip()]
        except ValueError as error:
            raise Refused(f"{directory}/{name} cannot be read: {error}.") from error
    return entries


def file_log(files: Files, directory: str, after: int, up_to: int) -> list[dict[str, Any]]:
    """Entries of a file source log with after < log id <= up_to; one per file, the newest."""
    entries: dict[str, dict[str, Any]] = {}
    for entry in log_entries(files, directory, up_to):
        if after < entry["batchId"] <= up_to:
            known = entries.get(entry["path"])
            if known is None or known["timestamp"] < entry["timestamp"]:
                entries[entry["path"]] = entry
    return list(entries.values())


def gone_and_changed(files: Files, entries: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Of input files that were read: those that are gone, and those that were changed afterwards. Spark logs
    the time of the last change with each."""
    now = files.modified([entry["path"] for entry in entries])
    gone = [entry["path"] for entry in entries if entry["path"] not in now]
    changed = [e["path"] for e in entries if now.get(e["path"], e["timestamp"]) != e["timestamp"]]
    return gone, changed


def not_the_same(key: str, changed: Sequence[str], entries: int) -> str:
    """That files which are read again may have other rows than the first time."""
    return (
        f"source {key}: whether {len(changed)} of {entries} files that are read again have the rows that they"
        f" had: they were changed after they were read, for example {changed[0]}"
    )
