"""The input files of the batch that runs again: which they are, and whether they are still where the source
reads them.

A batch that runs again uses the offsets in the log but today's files: one that is gone gives an empty batch
without an error, one that was changed gives its new content (observed, Spark 3.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from core.analysis.forecast.context import Range, RestartContext, Verdict
from core.analysis.forecast.model import UNKNOWN, DataEffect, Risk
from core.checkpoint.model import FileLogEntry
from core.checkpoint.source_log import parse_file_log
from core.messages import say
from core.settings import Settings
from core.sparklogs.budget import read_within, within
from core.sparklogs.evidence import Evidence
from core.storage import Door, FileInfo, Location

# log files of one source that are read to name the inputs of a batch; a batch has one of its own, or lies in
# a compact file
MOST_READ = 4
LOST = DataEffect("loss", "loss", "loss")


def planned_files(s: RestartContext, part: Range, start: int, end: int) -> tuple[FileLogEntry, ...] | None:
    """The files that batch N reads of a file source (log ids after ``start`` up to ``end``); None when the
    log does not tell."""
    log = s.file_logs.get(part.key)
    if log is None or log.newest_id is None or log.newest_id < end or log.missing:
        return None
    base = log.newest_compact
    wanted = {log.files[i].path: log.files[i] for i in within(log.files, start + 1, end)}
    if base is not None and start < base:
        wanted[log.files[base].path] = log.files[base]
    if len(wanted) > MOST_READ:
        return None
    found: dict[str, FileLogEntry] = {}
    door = s.checkpoint.door
    for path, content in read_within(door, wanted.values(), door.settings.source_log_bytes).items():
        if not isinstance(content, bytes):
            return None
        entries, problems = parse_file_log(content, end, path)
        if problems:
            return None
        found.update({entry.path: entry for entry in entries if start < entry.log_id <= end})
    return tuple(found.values())


def check_inputs(s: RestartContext, part: Range, start: int, end: int) -> Verdict:
    """Looks for the input files of batch N at the place that was given for this source."""
    files = planned_files(s, part, start, end)
    place = s.connectors.places.get(part.key)
    if place is None or files is None:
        return Verdict(not_checked=(say("forecast.open_inputs", batch_id=s.n),))
    gone, changed, elsewhere = _look(files, place, s.checkpoint.settings)
    at = part.end.evidence if part.end is not None else Evidence(f"offsets/{s.n}")
    risks = []
    if gone:
        sentence = (
            say("forecast.input_gone_one", file=gone[0], batch_id=s.n, place=place.url)
            if len(gone) == 1
            else say("forecast.input_gone", files=len(gone), file=gone[0], batch_id=s.n, place=place.url)
        )
        risks.append(Risk("INPUT_GONE", sentence, (at,), LOST))
    if changed:
        sentence = (
            say("forecast.input_changed_one", file=changed[0], batch_id=s.n)
            if len(changed) == 1
            else say("forecast.input_changed", files=len(changed), file=changed[0], batch_id=s.n)
        )
        risks.append(Risk("INPUT_CHANGED", sentence, (at,), UNKNOWN))
    open_ends = (
        (say("forecast.open_inputs_elsewhere", files=len(elsewhere), batch_id=s.n, place=place.url),)
        if elsewhere
        else ()
    )
    return Verdict(risks=tuple(risks), not_checked=open_ends)


def _look(
    files: Sequence[FileLogEntry], place: Location, settings: Settings
) -> tuple[list[str], list[str], list[str]]:
    """Names of files that are gone, changed, or not below the place."""
    below: dict[str, FileLogEntry] = {}
    elsewhere = []
    for entry in files:
        relative = _relative(entry.path, place)
        if relative is None:
            elsewhere.append(entry.path)
        else:
            below[relative] = entry
    folders = sorted({path.rpartition("/")[0] for path in below})
    listings = Door.open(place, settings).list(folders) if folders else {}
    present: dict[str, FileInfo] = {
        path: info for listing in listings.values() for path, info in listing.files.items()
    }
    gone = [path for path in below if path not in present]
    changed = [
        path
        for path, entry in below.items()
        if (info := present.get(path)) is not None and _is_newer(info, entry)
    ]
    return gone, changed, elsewhere


def _relative(path: str, place: Location) -> str | None:
    """A path of the source log below the place, None when it lies elsewhere. Both may be ``file:/x``,
    ``file:///x`` or ``s3a://b/x``."""
    split = urlsplit(path)
    full = unquote(split.path) if split.scheme in ("", "file") else f"{split.netloc}{unquote(split.path)}"
    root = place.path.rstrip("/") + "/"
    return full[len(root) :] if full.startswith(root) else None


def _is_newer(info: FileInfo, entry: FileLogEntry) -> bool:
    # S3 keeps whole seconds.
    return info.modified_ms is not None and info.modified_ms // 1000 > entry.timestamp_ms // 1000
