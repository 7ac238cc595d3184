"""The text formats of ``metadata``, ``offsets/<id>`` and ``commits/<id>``: bytes in, a fact or a
:class:`Problem` out. Never raises.

The version in the FILE decides how it is read, never a setting. Known: offset log v1 (Spark 2.1+) and v2
(4.2+), commit log v1 (2.2+), v2 (4.0+) and v3 (4.3). Another version is reported, not guessed.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.checkpoint.conf import ConfPool
from core.checkpoint.model import CommitEntry, OffsetEntry, SourceOffset
from core.messages import say
from core.sparklogs.evidence import Evidence, Problem, problem
from core.sparklogs.json_text import first_value, is_broken, json_trouble, kept_counts
from core.sparklogs.versioned import VersionedText, decoded, json_object, json_problem, versioned

MAX_OFFSET_VERSION = 2
MAX_COMMIT_VERSION = 3

_SOURCE_NAME = re.compile(r"[A-Za-z0-9_]+")

# What Spark writes for nearly every batch, to the byte. A log has 20,000 such files, and what these forms say
# needs none of the questions that other files are asked. A number of 18 digits is always a time (LARGEST_MS).
_USUAL_OFFSET = re.compile(
    r'v1\n\{"batchWatermarkMs":(0|[1-9][0-9]{0,17}),"batchTimestampMs":(0|[1-9][0-9]{0,17}),"conf":'
)
_USUAL_COMMIT = re.compile(rb'v1\n\{"nextBatchWatermarkMs":(0|[1-9][0-9]{0,17})\}')

_DELTA_ID = '"reservoirId"'
_FILE_OFFSET = re.compile(r'\{\s*"logOffset"\s*:\s*-?\d+\s*\}')

_UUID_CHARACTERS, _UUID_GROUPS = 36, 5

LARGEST_MS = 2**61  # milliseconds; no clock shows it, and sums and differences of two still fit into 64 bits


@dataclass(frozen=True, slots=True)
class ParsedOffset:
    """An offset log entry as far as it can be read. ``problems`` may be there beside an ``entry`` (one source
    line is broken)."""

    entry: OffsetEntry | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class UuidTrouble:
    """What is wrong with a text that should be a UUID; ``at`` counts characters in the ``group``."""

    what: Literal["too_long", "no_groups", "no_number"]
    group: str = ""
    at: int = 0


def parse_metadata(data: bytes, path: str = "metadata") -> tuple[str | None, Problem | None]:
    """The query id of a ``metadata`` file, and what is wrong with the file.

    An id that is no UUID to Java is given back with a problem: Spark refuses to start on it. What follows the
    JSON object is not looked at, as in Spark (:func:`first_value`).
    """
    text = decoded(data, path)
    if isinstance(text, Problem):
        return None, text
    content = json_object(first_value(text), path, data)
    if isinstance(content, Problem):
        return None, content
    query_id = content.get("id")
    if isinstance(query_id, int) and not isinstance(query_id, bool):
        query_id = str(query_id)  # Spark takes a number for the text of it
    if not isinstance(query_id, str):
        return None, problem(path, "bad_json", say("logs.no_query_id"), data)
    if java_uuid_trouble(query_id) is not None:
        return query_id, problem(path, "bad_json", say("logs.query_id_no_uuid"), data)
    return query_id, None


def java_uuid_trouble(text: str) -> UuidTrouble | None:
    """Why ``UUID.fromString`` of Java 17 refuses a text; None for one that it takes: five groups of
    hexadecimal digits, of any length."""
    if len(text) > _UUID_CHARACTERS:
        return UuidTrouble("too_long")
    groups = text.split("-")
    if len(groups) != _UUID_GROUPS:
        return UuidTrouble("no_groups")
    for group in groups:
        wrong = next((i for i, digit in enumerate(group) if digit not in string.hexdigits), None)
        if wrong is not None or not group:
            return UuidTrouble("no_number", group, wrong or 0)
    return None


def parse_offset(data: bytes, batch_id: int, path: str, pool: ConfPool) -> ParsedOffset:
    """One file of the offset log.

    Version 1: a line per source in plan order; version 2: ``<source id>:<offset>``, in any order. ``-`` means
    that the source has no offset yet. A line that begins like JSON and is none keeps its text and is a
    problem of its own; the rest of the file stays readable. Spark takes an empty line at the end for a source
    more (seen with 3.5, 4.0 and 4.3).
    """
    usual = _usual_offset(data, batch_id, path, pool)
    if usual is not None:
        return usual
    file = versioned(data, path, MAX_OFFSET_VERSION)
    if isinstance(file, Problem):
        return ParsedOffset(None, (file,))
    lines = file.lines
    if len(lines) < 2:
        return ParsedOffset(None, (problem(path, "truncated", say("logs.offset_only_version"), data),))
    nameless = _nameless_line(file)
    if nameless is not None:
        clause = say("logs.offset_no_name")
        return ParsedOffset(None, (problem(path, "bad_shape", clause, data, line=nameless),))
    problems: list[Problem] = []
    fields: dict[str, object] = {}
    conf: Mapping[str, str] = {}
    if lines[1].strip():
        try:
            fields, conf = pool.parse(lines[1])
        except ValueError:
            return ParsedOffset(None, (json_problem(lines[1], path, data, 2),))
        mistaken = _not_a_time(fields, ("batchWatermarkMs", "batchTimestampMs"), path, data)
        if mistaken is not None:
            return ParsedOffset(None, (mistaken,))
    elif file.version == 2:
        problems.append(problem(path, "truncated", say("logs.offset_no_metadata"), data, line=2))
    if len(lines) == 2:
        problems.append(problem(path, "truncated", say("logs.offset_no_sources"), data))
    source_lines = (*lines[2:], *[""] * file.empty_at_the_end)
    sources = _sources(file.version, source_lines, path, data, problems)
    entry = OffsetEntry(
        batch_id=batch_id,
        format_version=file.version,
        timestamp_ms=_take_int(fields, "batchTimestampMs"),
        watermark_ms=_take_int(fields, "batchWatermarkMs"),
        conf=conf,
        sources=tuple(sources),
        evidence=Evidence(path),
        raw=file.text,
        extra=fields,
    )
    return ParsedOffset(entry, tuple(problems))


def _usual_offset(data: bytes, batch_id: int, path: str, pool: ConfPool) -> ParsedOffset | None:
    """A file of version 1 as Spark writes it, with the conf of the file before; None for every other."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    head = _USUAL_OFFSET.match(text)
    if head is None or text[-1] != "}" or "\r" in text:
        return None
    known = pool.same_again(text, head.end())
    if known is None or not text.startswith("}\n", known[0]):
        return None
    conf_end, conf = known
    problems: list[Problem] = []
    entry = OffsetEntry(
        batch_id=batch_id,
        format_version=1,
        timestamp_ms=int(head[2]),
        watermark_ms=int(head[1]),
        conf=conf,
        sources=tuple(_sources(1, text[conf_end + 2 :].split("\n"), path, data, problems)),
        evidence=Evidence(path),
        raw=text,
    )
    return ParsedOffset(entry, tuple(problems))


def _nameless_line(file: VersionedText) -> int | None:
    """The first source line of version 2 without a colon: Spark refuses the whole file (seen with 4.3)."""
    if file.version != 2:
        return None
    lines = enumerate((*file.lines[2:], *[""] * file.empty_at_the_end), start=3)
    return next((number for number, line in lines if ":" not in line), None)


def _sources(
    version: int, lines: Sequence[str], path: str, data: bytes, problems: list[Problem]
) -> list[SourceOffset]:
    """The source lines of a file, which begin at its third line."""
    sources: list[SourceOffset] = []
    known: set[str] = set()
    for number, line in enumerate(lines, start=3):
        key, text = str(number - 3), line
        if version == 2:
            key, _, text = line.partition(":")
            if not _SOURCE_NAME.fullmatch(key):
                problems.append(problem(path, "bad_json", say("logs.offset_no_name"), data, line=number))
                continue
            if key in known:
                clause = say("logs.offset_name_twice", key=key)
                problems.append(problem(path, "bad_json", clause, data, line=number))
                continue
            known.add(key)
        is_there = text != "-"  # with a space behind it, it is broken JSON to Spark
        text = text.strip()
        if is_broken(text):
            first = _read_in_part(text)
            if first is None:
                condition, clause = json_trouble(text)
                clause = say("logs.source_offset", key=key, clause=clause)
                problems.append(problem(path, condition, clause, data, line=number))
            text = first or text
        elif not text:
            clause = say("logs.source_offset_empty", key=key)
            problems.append(problem(path, "truncated", clause, data, line=number))
        sources.append(SourceOffset(key=key, raw=text if is_there else None, evidence=Evidence(path, number)))
    return sources


def _read_in_part(text: str) -> str | None:
    """The offset of a file source, of Kafka or of Delta in a broken line, when the line is only too long, by
    a brace for instance: their readers do not look at what follows it (seen with 3.5, 4.0 and 4.3, and Delta
    4.4). Other sources have readers of their own."""
    first = first_value(text)
    if first == text:
        return None
    is_known = kept_counts(first) is not None or _FILE_OFFSET.fullmatch(first) or _DELTA_ID in first
    return first if is_known else None


def _not_a_time(fields: Mapping[str, object], names: Sequence[str], path: str, data: bytes) -> Problem | None:
    """A problem when one of these times is a text, true or false, a list or an object: Spark then refuses the
    file (seen with 3.5, 4.0 and 4.3). It takes a fraction."""
    for name in names:
        if isinstance(fields.get(name), str | bool | list | dict):
            return problem(path, "bad_shape", say("logs.not_a_time", field=name), data, line=2)
    return None


def parse_commit(data: bytes, batch_id: int, path: str) -> CommitEntry | Problem:
    """One file of the commit log. The second line may be missing or empty (Spark reads it as ``{}``)."""
    usual = _USUAL_COMMIT.fullmatch(data)
    if usual is not None:
        return CommitEntry(batch_id, 1, int(usual[1]), {}, Evidence(path), data.decode("ascii"))
    file = versioned(data, path, MAX_COMMIT_VERSION)
    if isinstance(file, Problem):
        return file
    fields: dict[str, object] = {}
    if len(file.lines) > 1 and file.lines[1].strip():
        content = json_object(file.lines[1], path, data, 2)
        if isinstance(content, Problem):  # Spark does not look at what follows the object
            content = json_object(first_value(file.lines[1]), path, data, 2)
        if isinstance(content, Problem):
            return content
        fields = content
        mistaken = _not_a_time(fields, ("nextBatchWatermarkMs",), path, data)
        if mistaken is not None:
            return mistaken
    sink_metadata = fields.pop("sinkMetadataMap", None)
    ids = _unique_ids(fields.pop("stateUniqueIds", None))
    if ids is None:
        return problem(path, "bad_json", say("logs.commit_ids"), data, line=2)
    return CommitEntry(
        batch_id=batch_id,
        format_version=file.version,
        next_watermark_ms=_take_int(fields, "nextBatchWatermarkMs"),
        state_unique_ids=ids,
        evidence=Evidence(path),
        raw=file.text,
        sink_metadata=sink_metadata if isinstance(sink_metadata, dict) else {},
        extra=fields,
    )


def _unique_ids(value: object) -> dict[str, tuple[tuple[str, ...], ...]] | None:
    """Operator id -> per partition -> per store ids; None when the value has another form."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return None
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for operator, partitions in value.items():
        if not isinstance(partitions, list) or not all(
            isinstance(ids, list) and all(isinstance(i, str) for i in ids) for ids in partitions
        ):
            return None
        found[operator] = tuple(tuple(ids) for ids in partitions)
    return found


def _take_int(fields: dict[str, object], key: str) -> int | None:
    """Removes ``key`` when it is a whole number that can be a time; anything else stays in ``fields`` and is
    kept as extra."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_MS:
        return None
    del fields[key]
    return value
