"""What a source keeps for itself below ``sources/<directory>``: the entries of a file source's log, and the
offset the source began with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from core.checkpoint.model import FileLogEntry
from core.messages import say
from core.settings import Settings
from core.sparklogs.budget import content_within, first_ids
from core.sparklogs.compactible import CompactibleLog, parse_entries
from core.sparklogs.evidence import Evidence, Problem, problem, too_large
from core.sparklogs.json_text import is_broken, json_trouble
from core.sparklogs.versioned import decoded, looks_like_a_version, split_lines, version_of
from core.storage import Door, FileInfo

MOST_NAMED = 5  # so many log ids without input files are named
_FIELDS = ("path", "timestamp", "batchId")


@dataclass(frozen=True, slots=True)
class FileLog:
    """What the files of a file source's log say that Spark reads at every start.

    ``entries``: one for each input file, ascending by log id. ``damaged``: the first problem of each file
    that Spark cannot read either, in the order in which it reads them. ``not_read``: files whose content is
    not known (a read failure, or more than the limits). ``without_files``: evidence of log ids for which no
    input file is named although the file that holds the id was read; Spark never writes such an entry.
    """

    entries: tuple[FileLogEntry, ...] = ()
    damaged: tuple[Problem, ...] = ()
    not_read: tuple[Problem, ...] = ()
    without_files: tuple[tuple[int, Evidence], ...] = ()

    def between(self, start: int, end: int) -> tuple[FileLogEntry, ...]:
        """The input files of log ids after ``start`` up to ``end``."""
        return tuple(entry for entry in self.entries if start < entry.log_id <= end)


def read_file_log(door: Door, log: CompactibleLog, settings: Settings) -> FileLog:
    """Reads what a start of Spark reads of this log, within ``restart_log_files`` and ``restart_log_bytes``;
    newest files first, because the batches that run next are in them."""
    contents: dict[str, bytes | Problem | None] = {}
    left = settings.restart_log_bytes
    wanted: list[FileInfo] = []
    for info in list(log.files.values())[::-1]:
        size = info.size_bytes or 0
        if len(wanted) >= settings.restart_log_files or size > left:
            contents[info.path] = too_large(info.path, size, left)
        else:
            wanted.append(info)
            left -= size
    read = door.read(wanted)
    for info in wanted:
        contents[info.path] = content_within(info.path, info.size_bytes, read, settings.restart_log_bytes)
    entries: list[FileLogEntry] = []
    damaged: list[Problem] = []
    not_read: list[Problem] = []
    without: list[tuple[int, Evidence]] = []
    for log_id, info in log.files.items():
        data = contents[info.path]
        if isinstance(data, Problem):
            not_read.append(data)
        elif data is not None:
            found, problems = parse_file_log(data, log_id, info.path)
            damaged += problems[:1]
            entries += found
            if not problems:
                first = 0 if log_id in log.compact else log_id
                without += [(i, Evidence(info.path)) for i in _ids_without_files(found, first, log_id)]
    entries.sort(key=lambda entry: entry.log_id)
    return FileLog(tuple(entries), tuple(damaged), tuple(not_read), tuple(without))


def _ids_without_files(entries: Sequence[FileLogEntry], first: int, last: int) -> list[int]:
    """The first few ids from ``first`` to ``last`` that no entry has; a name may claim any id."""
    held = {entry.log_id for entry in entries}
    ids = (i for i in first_ids(first, last, len(held) + MOST_NAMED) if i not in held)
    return list(islice(ids, MOST_NAMED))


def parse_file_log(data: bytes, log_id: int, path: str) -> tuple[list[FileLogEntry], list[Problem]]:
    """The entries of one file source log file. A line that cannot be read is a problem; the others are
    kept."""

    def entry_of(fields: dict[str, object]) -> FileLogEntry | None:
        name, timestamp = fields.get("path"), fields.get("timestamp")
        written_in = fields.get("batchId")
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
