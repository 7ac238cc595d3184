"""What a source keeps for itself below ``sources/<directory>``: the entries of a file source's log, and the
offset the source began with."""

from __future__ import annotations

from core.checkpoint.model import FileLogEntry
from core.messages import say
from core.sparklogs.compactible import parse_entries
from core.sparklogs.evidence import Problem, problem
from core.sparklogs.json_text import is_broken, json_trouble
from core.sparklogs.versioned import decoded, looks_like_a_version, split_lines, version_of

_FIELDS = ("path", "timestamp", "batchId")


def parse_file_log(data: bytes, log_id: int, path: str) -> tuple[list[FileLogEntry], list[Problem]]:
    """The entries of one file source log file. A line that cannot be read is a problem; the others are
    kept."""

    def entry_of(fields: dict[str, object]) -> FileLogEntry | None:
        name, timestamp = fields.get("path"), fields.get("timestamp")
        written_in = fields.get("batchId", log_id)
        if isinstance(name, str) and isinstance(timestamp, int) and isinstance(written_in, int):
            return FileLogEntry(path=name, timestamp_ms=timestamp, log_id=written_in)
        return None

    return parse_entries(data, path, entry_of, _FIELDS)


def parse_initial(data: bytes, path: str) -> tuple[str | None, Problem | None]:
    """The text of a source's initial offset, without the bytes that stand before it.

    Kafka and Event Hubs write a zero byte, ``v1``, a line break and the JSON (Spark 2.1.0: one byte with the
    length of the JSON and no version line); rate, Pulsar and Hudi ``v1`` and the offset; Iceberg and MongoDB
    the JSON alone.
    """
    text = decoded(data, path, skip=_leading_bytes(data))
    if isinstance(text, Problem):
        return None, text
    lines = split_lines(text)
    if looks_like_a_version(lines[0]):
        version = version_of(lines[0], path, 1, data)
        if isinstance(version, Problem):
            return None, version
        lines = lines[1:]
    rest = "\n".join(lines).strip()
    if not rest:
        return None, problem(path, "truncated", say("logs.initial_only_version"), data)
    if is_broken(rest):
        condition, clause = json_trouble(rest)
        return None, problem(path, condition, say("logs.initial_offset", clause=clause), data)
    return rest, None


def _leading_bytes(data: bytes) -> int:
    """How many bytes stand before the text: 0 or 1."""
    rest = data[1:]
    # Spark 2.1.0 wrote the low 8 bits of the length; only when it fits exactly is the byte taken for one.
    return int(data[:1] == b"\0" or (rest[:1] == b"{" and data[0] == len(rest) % 256))
