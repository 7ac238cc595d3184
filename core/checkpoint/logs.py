"""The text formats of ``metadata``, ``offsets/<id>`` and ``commits/<id>``: bytes in, a fact or a
:class:`Problem` out. Never raises.

The version in the FILE decides how it is read, never a setting. Known: offset log v1 (Spark 2.1+) and v2
(4.2+), commit log v1 (2.2+), v2 (4.0+) and v3 (4.3). Another version is reported, not guessed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from core.checkpoint.conf import ConfPool
from core.checkpoint.model import CommitEntry, OffsetEntry, SourceOffset
from core.sparklogs.evidence import Evidence, Problem, problem, split_lines
from core.sparklogs.json_text import is_broken, json_trouble, parse_object

MAX_OFFSET_VERSION = 2
MAX_COMMIT_VERSION = 3

_VERSION = re.compile(r"v([1-9][0-9]{0,8})")
_SOURCE_NAME = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class ParsedOffset:
    """An offset log entry as far as it can be read. ``problems`` may be there beside an ``entry`` (one source
    line is broken)."""

    entry: OffsetEntry | None
    problems: tuple[Problem, ...] = ()


def parse_metadata(data: bytes, path: str = "metadata") -> tuple[str | None, Problem | None]:
    """The query id of a ``metadata`` file, and what is wrong with the file.

    An id that is no UUID is given back with a problem: Spark refuses to start on it.
    """
    text, trouble = _decode(data, path)
    if trouble is not None:
        return None, trouble
    try:
        query_id = parse_object(text).get("id")
    except ValueError:
        condition, reason = json_trouble(text)
        return None, problem(path, condition, reason, data)
    if not isinstance(query_id, str):
        return None, problem(path, "bad_json", 'has no "id" with the query id', data)
    try:
        uuid.UUID(query_id)
    except ValueError:
        return query_id, problem(
            path, "bad_json", "holds a query id that is no UUID; Spark does not start with it", data
        )
    return query_id, None


def parse_offset(data: bytes, batch_id: int, path: str, pool: ConfPool) -> ParsedOffset:
    """One file of the offset log.

    Version 1: a line per source in plan order; version 2: ``<source id>:<offset>``, in any order. ``-`` means
    that the source has no offset yet. A line that begins like JSON and is none keeps its text and is a
    problem of its own; the rest of the file stays readable.
    """
    text, trouble = _decode(data, path)
    if trouble is not None:
        return ParsedOffset(None, (trouble,))
    lines = split_lines(text)
    version, trouble = _version(lines, MAX_OFFSET_VERSION, data, path)
    if trouble is not None:
        return ParsedOffset(None, (trouble,))
    if len(lines) < 2:
        return ParsedOffset(
            None,
            (
                problem(
                    path, "truncated", "ends after its version line: metadata and offsets are missing", data
                ),
            ),
        )
    problems: list[Problem] = []
    fields: dict[str, object] = {}
    conf: Mapping[str, str] = {}
    if lines[1].strip():
        try:
            fields, conf = pool.parse(lines[1])
        except ValueError:
            condition, reason = json_trouble(lines[1])
            return ParsedOffset(None, (problem(path, condition, reason, data, line=2),))
    elif version == 2:
        problems.append(
            problem(path, "truncated", "is empty, but version 2 requires metadata here", data, line=2)
        )
    sources = _sources(lines, version, path, data, problems)
    entry = OffsetEntry(
        batch_id=batch_id,
        format_version=version,
        timestamp_ms=_take_int(fields, "batchTimestampMs"),
        watermark_ms=_take_int(fields, "batchWatermarkMs"),
        conf=conf,
        sources=tuple(sources),
        evidence=Evidence(path),
        raw=text,
        extra=fields,
    )
    return ParsedOffset(entry, tuple(problems))


def _sources(
    lines: list[str], version: int, path: str, data: bytes, problems: list[Problem]
) -> list[SourceOffset]:
    if len(lines) == 2:
        problems.append(
            problem(path, "truncated", "ends after its metadata line: it has no line for any source", data)
        )
    sources: list[SourceOffset] = []
    for number, line in enumerate(lines[2:], start=3):
        key, text = str(number - 3), line
        if version == 2:
            key, colon, text = line.partition(":")
            if not colon or not _SOURCE_NAME.fullmatch(key):
                problems.append(
                    problem(path, "bad_json", 'does not begin with "<source name>:"', data, line=number)
                )
                continue
            if any(source.key == key for source in sources):
                problems.append(
                    problem(path, "bad_json", f"names the source {key} a second time", data, line=number)
                )
                continue
        text = text.strip()
        if is_broken(text):
            condition, reason = json_trouble(text)
            problems.append(
                problem(path, condition, f"(the offset of source {key}) {reason}", data, line=number)
            )
        elif not text:
            problems.append(
                problem(path, "truncated", f"(the offset of source {key}) is empty", data, line=number)
            )
        sources.append(
            SourceOffset(key=key, raw=None if text == "-" else text, evidence=Evidence(path, number))
        )
    return sources


def parse_commit(data: bytes, batch_id: int, path: str) -> CommitEntry | Problem:
    """One file of the commit log. The second line may be missing or empty (Spark reads it as ``{}``)."""
    text, trouble = _decode(data, path)
    if trouble is not None:
        return trouble
    lines = split_lines(text)
    version, trouble = _version(lines, MAX_COMMIT_VERSION, data, path)
    if trouble is not None:
        return trouble
    fields: dict[str, object] = {}
    if len(lines) > 1 and lines[1].strip():
        try:
            fields = parse_object(lines[1])
        except ValueError:
            condition, reason = json_trouble(lines[1])
            return problem(path, condition, reason, data, line=2)
    sink_metadata = fields.pop("sinkMetadataMap", None)
    try:
        ids = _unique_ids(fields.pop("stateUniqueIds", None))
    except ValueError as error:
        return problem(path, "bad_json", str(error), data, line=2)
    return CommitEntry(
        batch_id=batch_id,
        format_version=version,
        next_watermark_ms=_take_int(fields, "nextBatchWatermarkMs"),
        state_unique_ids=ids,
        evidence=Evidence(path),
        raw=text,
        sink_metadata=sink_metadata if isinstance(sink_metadata, dict) else {},
        extra=fields,
    )


def _unique_ids(value: object) -> dict[str, tuple[tuple[str, ...], ...]]:
    if value is None:
        return {}
    wrong = ValueError('has "stateUniqueIds" that are not operator -> partitions -> ids')
    if not isinstance(value, dict):
        raise wrong
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for operator, partitions in value.items():
        if not isinstance(partitions, list) or not all(
            isinstance(ids, list) and all(isinstance(i, str) for i in ids) for ids in partitions
        ):
            raise wrong
        found[operator] = tuple(tuple(ids) for ids in partitions)
    return found


def _decode(data: bytes, path: str) -> tuple[str, Problem | None]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return "", problem(path, "bad_json", f"is not text (byte {error.start + 1} is not UTF-8)", data)
    if not text.strip():
        size = "is empty (0 bytes)" if not data else "holds nothing but white space"
        return "", problem(path, "empty", f"{size}: the write was cut off", data)
    return text, None


def _version(lines: list[str], newest_known: int, data: bytes, path: str) -> tuple[int, Problem | None]:
    match = _VERSION.fullmatch(lines[0])
    if match is None:
        return 0, problem(path, "no_version", "does not begin with a version line (v1)", data, line=1)
    version = int(match[1])
    if version > newest_known:
        return version, problem(
            path,
            "unknown_version",
            f"has format version {version}; versions up to {newest_known} are known (Spark 4.3), so it is not"
            " interpreted",
            data,
            line=1,
        )
    return version, None


def _take_int(fields: dict[str, object], key: str) -> int | None:
    """Removes ``key`` when it is a whole number; anything else stays in ``fields`` and is kept as extra."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    del fields[key]
    return value
