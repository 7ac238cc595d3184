"""What the offsets of a Delta source say by themselves: those that Delta refuses, and positions that lie
before the batch before them or beyond their commit, as an edit by hand leaves them.

All observed with Delta 4.4.0 on Spark 4.2.0. Delta reads offsets N-1 and N at every start, also where they
are equal.
"""

from __future__ import annotations

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.delta_errors import delta_error, delta_failure
from core.analysis.forecast.model import DUPLICATES, LOSS, SINK_KINDS, UNKNOWN, FailsAt, Risk
from core.analysis.forecast.step_verdict import Verdict
from core.checkpoint.model import SourceOffset
from core.checkpoint.sources.delta import TablePosition
from core.checkpoint.sources.delta_reader import ReadOffset, read_offset
from core.connectors.delta.actions import CommitFile
from core.connectors.delta.log import DeltaLog
from core.messages import say
from core.messages.words import listed
from core.sparklogs.evidence import Evidence

IN_EVERY_OFFSET, AT_SCHEMA_CHANGE = 1, 3  # the two values of sourceVersion
BASE_INDEX = -1


def position_of(line: SourceOffset | None) -> TablePosition | None:
    """The position in an offset line as Delta reads it; None without one."""
    return None if line is None or line.raw is None else read_offset(line.raw).position


def refused_offset(part: Range, phase: FailsAt) -> Verdict | None:
    """The failure of the first of both offsets that Delta does not take; None when it takes them. Whether the
    table is the one that is named needs its log."""
    for line in (part.end, part.start):
        if line is None or line.raw is None:
            continue
        read = read_offset(line.raw)
        found = _refusal(part.key, line.evidence, read)
        if found is not None:
            key, why = found
            error = delta_error(key, version=read.source_version)
            return delta_failure(error, "SOURCE_OFFSET_UNREADABLE", why, (line.evidence,), phase)
    return None


def _refusal(key: str, at: Evidence, read: ReadOffset) -> tuple[str, str] | None:
    """The error and the clause."""
    place = {"key": key, "at": at}
    if read.refusal is not None:
        if read.refusal in ("nothing", "broken", "no_json"):
            why = say("forecast_steps.source_offset_json", key=key, at=str(at))
        elif read.field:
            why = say("forecast_delta.offset_field", field=read.field, value=read.value, **place)
        else:
            why = say("forecast_delta.offset_no_object", value=read.value, **place)
        return read.refusal, why
    version = read.source_version
    if version not in (IN_EVERY_OFFSET, AT_SCHEMA_CHANGE):
        error = "source_version" if version > AT_SCHEMA_CHANGE else "source_version_other"
        return error, say("forecast_delta.source_version", version=version, **place)
    if version == AT_SCHEMA_CHANGE and read.index == BASE_INDEX:
        return "source_version_index", say("forecast_delta.source_version_index", **place)
    if read.table_id is None:
        return "no_table", say("forecast_delta.offset_without_table", **place)
    return None


def edited_positions(s: RestartContext, part: Range) -> tuple[Risk, ...]:
    """What Delta takes without an error: positions that go back, and numbers that it fills in itself."""
    start, end = position_of(part.start), position_of(part.end)
    found = [*_back_in_snapshot(part, start, end), *_went_back(s, part, s.n, start, end)]
    if s.hands_out and s.previous is not None:
        before = s.offset_entry(s.checkpoint.previous_offset_id(s.previous))
        earlier = Range(part.key, before.source(part.key) if before is not None else None, part.start)
        first = position_of(earlier.start)
        found += [
            *_back_in_snapshot(earlier, first, start),
            *_went_back(s, earlier, s.previous, first, start),
        ]
    return tuple(found) or _filled_in(s, part)


def _back_in_snapshot(part: Range, start: TablePosition | None, end: TablePosition | None) -> list[Risk]:
    if (
        start is None
        or end is None
        or not end.in_first_snapshot
        or start.in_first_snapshot
        or start.table_id != end.table_id
    ):
        return []
    sentence = say("forecast_delta.back_in_snapshot", key=part.key, at=part.evidence[0], version=end.version)
    return [Risk("DELTA_BACK_IN_SNAPSHOT", sentence, part.evidence, DUPLICATES)]


def _went_back(
    s: RestartContext,
    part: Range,
    batch_id: int | None,
    start: TablePosition | None,
    end: TablePosition | None,
) -> list[Risk]:
    """A position before the one of the batch before: the start takes it, a batch that is not committed runs
    without rows, and the next one reads from there."""
    if start is None or end is None or start.table_id != end.table_id:
        return []
    if end.in_first_snapshot and not start.in_first_snapshot:
        return []  # back in the snapshot
    if start.in_first_snapshot and not end.in_first_snapshot:
        is_lower = end.version <= start.version
    else:
        is_lower = (end.version, end.files_done) < (start.version, start.files_done)
    if not is_lower:
        return []
    name, before, after = ("version", start.version, end.version)
    if before == after:
        name, before, after = ("index", start.index, end.index)
    lower = say("findings_checks.position_back_partition", name=name, before=before, after=after)
    sentence = say("findings_checks.position_back", batch_id=batch_id, key=part.key, partitions=[lower])
    return [Risk("OFFSET_WENT_BACK", sentence, part.evidence, s.handed_out_again(*SINK_KINDS).may())]


def _filled_in(s: RestartContext, part: Range) -> tuple[Risk, ...]:
    """A number that is missing, null, empty or a fraction, where the next rows are read from."""
    for line in (part.start, part.end) if s.hands_out else (part.end,):
        read = read_offset(line.raw) if line is not None and line.raw is not None else ReadOffset()
        if line is None or not read.filled_in or read.position is None:
            continue
        sentence = say(
            "forecast_delta.filled_in",
            key=part.key,
            at=line.evidence,
            fields=listed(read.filled_in),
            version=read.version,
            index=read.index,
        )
        return (Risk("DELTA_OFFSET_INCOMPLETE", sentence, (line.evidence,), UNKNOWN),)
    return ()


def index_beyond(log: DeltaLog, line: SourceOffset | None) -> list[Risk]:
    """An index beyond the files of its commit: Delta takes the rest of the commit as done."""
    position = position_of(line)
    if line is None or position is None or position.in_first_snapshot or not position.files_done:
        return []
    commit = log.files_of([position.version]).get(position.version)
    if commit is None or commit.problem is not None or position.files_done <= _file_count(commit):
        return []
    sentence = say(
        "forecast_delta.index_beyond",
        at=line.evidence,
        index=position.index,
        version=position.version,
        files=_file_count(commit),
    )
    return [Risk("DELTA_INDEX_BEYOND", sentence, (line.evidence,), LOSS)]


def _file_count(commit: CommitFile) -> int:
    """How many files an index can count in a commit: those added, or with the change data feed its own files
    or all added and removed."""
    return max(
        len(commit.files), commit.cdc_files, len(commit.files) + len(commit.removed) if commit.removed else 0
    )
