"""The paths that the log of a file source holds: some stop the query when it has to open them.

Observed with Spark 3.5, 4.0 and 4.3, by changing one byte of a path: a path that is no URI stops the start
(batch N is committed and its range is asked for again) or the batch (batch N runs again, or the log is
ahead); so does a path outside the directory that the source reads (``Wrong basePath``), or one of a scheme
that Hadoop does not know (``No FileSystem for scheme``). In an entry that no batch reads again,
the path only means that the file it named is not known any more: Spark takes it for a new one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.model import DUPLICATES, UNKNOWN, FailsAt, Risk
from core.analysis.forecast.ranges import ranges
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.model import FileLogEntry
from core.connectors.input_files import above_pattern, folder_of, is_missing_here, is_outside, is_pattern
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence
from core.storage import Location

# What java.net.URI refuses in a path: blanks, control characters and these, and a percent sign alone.
_ILLEGAL = re.compile(r'[\x00-\x20\x7f"<>\\^`{|}\[\]]')
_ALONE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_URI = re.compile(r"[a-z][a-z0-9+.-]*:/")
_OF_HADOOP = frozenset(
    {
        *("file", "hdfs", "webhdfs", "swebhdfs", "viewfs", "har", "ftp", "http", "https", "dbfs"),
        *("s3", "s3n", "s3a", "gs", "abfs", "abfss", "wasb", "wasbs", "adl"),
    }
)
_WITNESSES = 2  # so many other files of the log tell the directory that the source reads


def check_paths(s: RestartContext, part: Range, start: int, end: int, phase: FailsAt) -> Verdict | None:
    """The paths of the log ids after ``start`` up to ``end``, which Spark opens at ``phase``; None when they
    are paths below the directory of the source."""
    entries = s.file_log(part.key).between(start, end)
    for entry in entries:
        at = illegal_at(entry.path)
        if at is not None:
            where = _evidence(s, part.key, entry)
            is_pair = entry.path[at] == "%"
            why = say("forecast_steps.path_no_uri", path=str(where), file=entry.path)
            details = {"index": at, "path": entry.path}
            error = "uri_escape" if is_pair else "uri_illegal"
            return failed(s, error, "SOURCE_LOG_PATH", why, where, details=details, fails_at=phase)
    outside = next(filter(_outside_of_place(s, part.key), entries), None)
    if outside is not None:
        where, place = _evidence(s, part.key, outside), s.connectors.places[part.key]
        why = say(
            "forecast_steps.path_not_below",
            key=part.key,
            location=place.url,
            path=str(where),
            file=outside.path,
        )
        return failed(
            s, "wrong_base_path", "SOURCE_PATH_MOVED", why, where, fails_at=phase, certainty="inferred"
        )
    home = _home(s.file_log(part.key).entries)
    other = next((entry for entry in entries if _is_elsewhere(s, home, entry)), None)
    if other is None:
        return None
    where = _evidence(s, part.key, other)
    scheme, error = _scheme(other.path), "wrong_base_path"
    why = say("forecast_steps.path_elsewhere", path=str(where), file=other.path)
    if _scheme(folder_of(other.path)) != _scheme(home or ""):
        error = "any" if scheme in _OF_HADOOP else "unknown_scheme"
        why = say("forecast_steps.path_scheme", path=str(where), file=other.path)
    return failed(
        s,
        error,
        "SOURCE_LOG_PATH",
        why,
        where,
        details={"scheme": scheme},
        fails_at=phase,
        certainty="inferred",
    )


def changed_paths(s: RestartContext, key: str) -> list[Risk]:
    """The risk of paths in the log that Spark did not write: the files that they named come again as new
    ones."""
    entries = s.file_log(key).entries
    is_outside_of_place = _outside_of_place(s, key)
    if any(map(is_outside_of_place, entries)) and any(p.key == key and p.differs for p in ranges(s)):
        return []  # the start fails where it asks for the range again
    moved = _moved(s, key, entries, is_outside_of_place)
    effect = UNKNOWN if s.is_stateful else DUPLICATES.may()
    if moved is not None:
        return [
            Risk("SOURCE_FILES_ELSEWHERE", moved, (_evidence(s, key, entries[-1]),), effect, "needs_input")
        ]
    home = _home(entries)
    changed = [e for e in entries if illegal_at(e.path) is not None or _is_elsewhere(s, home, e)]
    if not changed:
        return []
    where = _evidence(s, key, changed[0])
    sentence = say("forecast.source_log_path", path=str(where), file=changed[0].path, count=len(changed))
    return [Risk("SOURCE_LOG_INCOMPLETE", sentence, (where,), effect, "inferred")]


def not_compared(s: RestartContext, key: str) -> list[Sentence]:
    """That nothing here tells whether the newest file of the log lies where a user said that the source
    reads. A glob is passed over: what it matches is asked elsewhere."""
    entries, place, ck = s.file_log(key).entries, s.connectors.places.get(key), s.checkpoint
    if place is None or not entries or is_pattern(place):
        return []
    newest = entries[-1].path
    if is_outside(newest, place, ck.location, ck.settings) is not None:
        return []
    return [say("forecast.open_place", key=key, location=place.url, file=newest)]


def _outside_of_place(s: RestartContext, key: str) -> Callable[[FileLogEntry], bool | None]:
    """Whether a file of the log does not lie where a user said that the source reads, None where that is not
    known; each directory is looked at once."""
    place, ck = s.connectors.places.get(key), s.checkpoint
    if place is None:
        return lambda entry: False
    kept: dict[str, bool | None] = {}

    def is_it(entry: FileLogEntry) -> bool | None:
        folder = folder_of(entry.path)
        if folder not in kept:
            kept[folder] = is_outside(entry.path, place, ck.location, ck.settings)
        return kept[folder]

    return is_it


def _moved(
    s: RestartContext,
    key: str,
    entries: Sequence[FileLogEntry],
    is_outside_of_place: Callable[[FileLogEntry], bool | None],
) -> Sentence | None:
    """That the files of the log lie at another place than the source reads, or may lie elsewhere below it."""
    place = s.connectors.places.get(key)
    if place is None or not entries:
        return None
    newest = entries[-1].path
    if all(map(is_outside_of_place, entries)):
        return say("forecast.source_path_moved", key=key, location=place.url, file=newest)
    if _is_gone_below(s, place, folder_of(newest)):
        return say("forecast.source_folder_gone", key=key, location=place.url, folder=folder_of(newest))
    return None


def _is_gone_below(s: RestartContext, place: Location, folder: str) -> bool:
    """Whether the directory of the newest file is gone, while the place that a user named, which is above it
    or a glob, is there: the files may lie in another directory that the source reads (seen with 4.3, with
    recursiveFileLookup and with a glob: each row came a second time)."""
    above, ck = above_pattern(place.path).rstrip("/"), s.checkpoint
    is_below = place.is_local and urlsplit(folder).path.startswith(f"{above}/")
    return is_below and is_missing_here(folder, above, ck.location, ck.settings)


def illegal_at(path: str) -> int | None:
    """Where Java refuses a path of the log as a URI; None for one that it takes. Spark writes none of these:
    it escapes them."""
    if _URI.match(path) is None:
        return None
    found = [match.start() for form in (_ILLEGAL, _ALONE) if (match := form.search(path)) is not None]
    return min(found, default=None)


def _is_elsewhere(s: RestartContext, home: str | None, entry: FileLogEntry) -> bool:
    """Whether a file lies outside the directory that the source reads: alone in one that is not there,
    while all others lie in one that is."""
    if home is None:
        return False
    folder = folder_of(entry.path)
    if folder == home or folder.startswith(f"{home}/") or home.startswith(f"{folder}/"):
        return False
    if _scheme(folder) != _scheme(home):  # a source reads one file system
        return True
    ck = s.checkpoint
    return ck.kept(
        f"folder {folder}",
        lambda: is_missing_here(folder, home, ck.location, ck.settings),
    )


def _scheme(path: str) -> str:
    return path.partition(":/")[0] if ":/" in path else ""


def _home(entries: Sequence[FileLogEntry]) -> str | None:
    """The directory of all files of the log but one; None when there is no such directory."""
    counts = Counter(folder_of(entry.path) for entry in entries).most_common(3)
    is_one_apart = len(counts) == 2 and counts[0][1] >= _WITNESSES and counts[1][1] == 1
    return counts[0][0] if is_one_apart else None


def _evidence(s: RestartContext, key: str, entry: FileLogEntry) -> Evidence:
    log = s.file_logs[key]
    info = log.files.get(entry.log_id) or next(f for i, f in log.files.items() if i >= entry.log_id)
    return Evidence(info.path)
