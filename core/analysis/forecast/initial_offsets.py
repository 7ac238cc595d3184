"""``sources/<n>/0`` of sources that are no file sources: the start time of a rate source, the first offsets
of a Kafka source.

A rate source counts seconds from the time in this file and reads it at every start (observed, Spark 3.5 and
4.3): damaged, the start fails; missing, it is written again with the time of this start, and the batch after
the planned one fails because the clock is behind its offset. Kafka reads it only while batch 0 is not
committed.
"""

from __future__ import annotations

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.model import UNKNOWN
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.sources.forms import as_int, parse
from core.checkpoint.sources.kafka import as_read
from core.messages import say
from core.sparklogs.budget import read_within
from core.sparklogs.evidence import Certainty, Evidence, Problem

# A start writes the file again in the same second; a query that began so few seconds ago may resume.
SURELY_BEHIND_SECONDS = 10


def check_start_file(s: RestartContext, part: Range) -> Verdict | None:
    """A damaged ``sources/<n>/0`` of a source that reads its start time there; None when there is nothing to
    say."""
    path = _path(s, part) or _first_offsets(s, part)
    content = _content(s, path) if path is not None else None
    if path is None or content is None:
        return None
    at = Evidence(path)
    if not isinstance(content, Problem) and s.kind(part.key).asks == "broker":
        return _damaged_offsets(s, at, content)
    if isinstance(content, Problem):
        note = say("forecast.open_source_log", path=path, why=content.clause)
        return Verdict("cannot_be_judged", note=note, certainty="needs_input", not_checked=(note,))
    text = content.decode("utf-8", "replace")
    first, _, rest = text.partition("\n")
    details = {"file": f"{s.location}/{path}", "highest": 1, "version": first[1:], "text": rest.strip()}
    clause, error = say("forecast_steps.start_not_a_time"), "rate_not_a_number"
    if not text:
        clause, error = say("logs.empty"), "source_offset_backwards"
    elif first[:1] != "v" or "\n" not in text:
        clause, error = say("logs.no_version"), "rate_no_version"
    elif first != "v1":
        clause, error = say("logs.unknown_version_of_one", version=first[1:]), "source_log_version"
    elif as_int(parse(rest)) is not None:
        return None
    why = say("forecast_steps.log_unreadable", path=path, clause=clause)
    return failed(s, error, "SOURCE_START_LOST", why, at, details=details)


def _first_offsets(s: RestartContext, part: Range) -> str | None:
    """Where a Kafka source keeps the first offsets of batch 0, while that batch is not committed."""
    source = s.checkpoint.source(part.key)
    if source is None or source.directory is None or source.kind.asks != "broker":
        return None
    return f"{source.directory}/0" if s.n == 0 and s.runs_again else None


def _damaged_offsets(s: RestartContext, at: Evidence, content: bytes) -> Verdict | None:
    """Kafka's first offsets, after one byte that Spark skips: ``v1``, a line end and the JSON; in Spark 2.1.0
    the JSON alone. None when they can be read. Met while batch 0 is planned (observed with 4.3)."""
    text = content[1:].decode("utf-8", "replace")
    first, _, rest = text.partition("\n")
    details = {"file": f"{s.location}/{at.path}", "highest": 1, "version": first[1:], "text": ""}
    if not text:
        error, clause = "kafka_start_empty", say("logs.empty")
    elif first[:1] == "v" and first != "v1":
        error, clause = "source_log_version", say("logs.unknown_version_of_one", version=first[1:])
    elif as_read(parse(rest if first == "v1" else text)) is None:
        error, clause = "kafka_line_bad", say("forecast_steps.start_no_offsets")
    else:
        return None
    why = say("forecast_steps.log_unreadable", path=at.path, clause=clause)
    return failed(s, error, "SOURCE_START_LOST", why, at, details=details, fails_at="batch")


def check_start_time(s: RestartContext, part: Range) -> Verdict:
    """The batch after offsets/N of a source that counts seconds from its start: the clock must not be behind
    the offset."""
    path, end = _path(s, part), as_int(parse(part.end_text)) if part.end_text is not None else None
    if end is None or part.end is None:
        return Verdict()
    if path is None:  # a rate source that lost its start, or a socket, which has no rows of before
        return Verdict(not_checked=(say("forecast.open_start", key=part.key),), instead_of_exact=UNKNOWN)
    content = _content(s, path)
    if isinstance(content, Problem):
        return Verdict()
    started_ms = as_int(parse(content.decode("utf-8", "replace").partition("\n")[2])) if content else None
    if content is None:
        behind, why = end, say("forecast_steps.start_missing", path=path, end=end)
    elif started_ms is not None:
        behind = end - (s.checkpoint.read_at_ms - started_ms) // 1000
        why = say("forecast_steps.start_too_late", path=path, at=str(part.end.evidence), seconds=behind)
    else:
        return Verdict()
    if behind < SURELY_BEHIND_SECONDS:
        return Verdict() if content is not None else Verdict(instead_of_exact=UNKNOWN, not_checked=(why,))
    if s.runs_again:
        return Verdict(then=say("forecast.then_fails", why=why))
    certainty: Certainty = "certain" if content is not None else "inferred"
    return failed(
        s,
        "rate_clock",
        "SOURCE_START_LOST",
        why,
        Evidence(path),
        details={"start": end},
        certainty=certainty,
    )


def _path(s: RestartContext, part: Range) -> str | None:
    """Where the start time lies, when the source may be one that has it and keeps a directory."""
    source = s.checkpoint.source(part.key)
    if source is None or source.directory is None or not source.kind.may_count_from_a_start:
        return None
    return f"{source.directory}/0"


def _content(s: RestartContext, path: str) -> bytes | Problem | None:
    """The bytes of the file, a problem when they are not known, None when there is no such file."""

    def read() -> bytes | Problem | None:
        door = s.checkpoint.door
        folder = path.rpartition("/")[0]
        info = door.list([folder], known_there=folder in s.source_directories)[folder].files.get(path)
        return None if info is None else read_within(door, [info], door.settings.log_file_bytes)[path]

    return s.checkpoint.kept(f"start file {path}", read)
