"""What a source keeps for itself below ``sources/<directory>``: the file source's log, and the offset it
began with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.checkpoint.model import FileLogEntry
from core.checkpoint.names import batch_id_of, compact_id_of
from core.sparklogs.evidence import Problem, problem, split_lines
from core.sparklogs.json_text import is_broken, json_trouble, parse_object
from core.storage import FileInfo

_VERSION_LINE = re.compile(r"v[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class FileLogChain:
    """The files of a file source log that together hold everything seen so far: the newest ``.compact`` and
    the plain ones after it.

    ``missing``: log ids between the compact file (or 0) and the newest id that have no file; Spark does not
    start with such a gap.
    """

    files: tuple[tuple[int, FileInfo], ...]
    missing: tuple[int, ...]
    newest_id: int | None


def file_log_chain(names: Mapping[str, FileInfo]) -> FileLogChain:
    """The chain to read, from the names in ``sources/<directory>``.

    Every tenth file by default is ``<id>.compact`` and holds all entries so far; plain files before the
    newest compact file do not matter.
    """
    compact = {i: info for name, info in names.items() if (i := compact_id_of(name)) is not None}
    plain = {i: info for name, info in names.items() if (i := batch_id_of(name)) is not None}
    base = max(compact, default=None)
    later = {i: info for i, info in sorted(plain.items()) if base is None or i > base}
    files = ([(base, compact[base])] if base is not None else []) + list(later.items())
    newest = max([i for i, _ in files], default=None)
    first = 0 if base is None else base + 1
    expected = (newest + 1 - first) if newest is not None else 0
    missing: tuple[int, ...] = ()
    if expected > len(later):
        missing = _absent(first, sorted(later))
    return FileLogChain(files=tuple(files), missing=missing, newest_id=newest)


def _absent(first: int, present: Sequence[int], at_most: int = 1000) -> tuple[int, ...]:
    absent: list[int] = []
    expected = first
    for i in present:
        absent.extend(range(expected, min(i, expected + at_most - len(absent))))
        expected = i + 1
    return tuple(absent)


def parse_file_log(data: bytes, log_id: int, path: str) -> tuple[list[FileLogEntry], list[Problem]]:
    """The entries of one file source log file. A line that cannot be read is a problem; the others are kept."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [], [problem(path, "bad_json", f"is not text (byte {error.start + 1} is not UTF-8)", data)]
    lines = split_lines(text)
    if not lines:
        return [], [problem(path, "empty", "is empty: the write was cut off", data)]
    if not _VERSION_LINE.fullmatch(lines[0]):
        return [], [problem(path, "no_version", "does not begin with a version line (v1)", data, line=1)]
    if lines[0] != "v1":
        return [], [
            problem(
                path,
                "unknown_version",
                f"has format version {lines[0][1:]}; only version 1 is known, so it is not interpreted",
                data,
                line=1,
            )
        ]
    entries: list[FileLogEntry] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        try:
            fields = parse_object(line)
        except ValueError:
            condition, reason = json_trouble(line)
            problems.append(problem(path, condition, reason, data, line=number))
            continue
        name, timestamp, written_in = (
            fields.get("path"),
            fields.get("timestamp"),
            fields.get("batchId", log_id),
        )
        if isinstance(name, str) and isinstance(timestamp, int) and isinstance(written_in, int):
            entries.append(FileLogEntry(path=name, timestamp_ms=timestamp, log_id=written_in))
        else:
            problems.append(
                problem(path, "bad_json", "is no file entry (path, timestamp, batchId)", data, line=number)
            )
    return entries, problems


def parse_initial(data: bytes, path: str) -> tuple[str | None, Problem | None]:
    """The text of a source's initial offset, without the bytes that stand before it.

    Kafka and Event Hubs write a zero byte, ``v1``, a line break and the JSON (Spark 2.1.0: one byte with the
    length of the JSON and no version line); rate, Pulsar and Hudi ``v1`` and the offset; Iceberg and MongoDB
    the JSON alone.
    """
    body = _without_leading_byte(data)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, problem(path, "bad_json", f"is not text (byte {error.start + 1} is not UTF-8)", data)
    lines = split_lines(text)
    if not lines:
        return None, problem(path, "empty", "is empty: the write was cut off", data)
    if _VERSION_LINE.fullmatch(lines[0]):
        if lines[0] != "v1":
            return None, problem(
                path,
                "unknown_version",
                f"has format version {lines[0][1:]}; only version 1 is known, so it is not interpreted",
                data,
                line=1,
            )
        lines = lines[1:]
    rest = "\n".join(lines).strip()
    if not rest:
        return None, problem(path, "truncated", "ends after its version line", data)
    if is_broken(rest):
        condition, reason = json_trouble(rest)
        return None, problem(path, condition, f"(the offset the source began with) {reason}", data)
    return rest, None


def _without_leading_byte(data: bytes) -> bytes:
    if data[:1] == b"\0":
        return data[1:]
    rest = data[1:]
    # Spark 2.1.0 wrote the low 8 bits of the length; only when it fits exactly is the byte taken for one.
    if rest[:1] == b"{" and data[0] == len(rest) % 256:
        return rest
    return data
