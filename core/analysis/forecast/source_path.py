"""The directory that a file source reads, as far as somebody said which it is: without it no reader is
built, and nothing of the checkpoint is read (observed, Spark 3.3 to 4.3)."""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.step_verdict import Verdict, failed
from core.connectors.input_files import is_pattern
from core.errors import LocationNotFound, StorageError
from core.messages import say
from core.sparklogs.evidence import Evidence
from core.storage import Door, Location, parse_location


def check_source_path(s: RestartContext) -> Verdict:
    """Whether the directories are there that were named with ``--source KEY=LOCATION``; of the others the
    files do not tell where they are."""
    named = {key: place for key, place in s.connectors.places.items() if s.kind(key).has_own_log}
    if not named:
        return Verdict("does_not_apply", note=say("forecast_steps.no_source_logs"))
    not_checked = []
    for key, place in named.items():
        if is_pattern(place):
            why = say("forecast_steps.source_path_pattern")
            not_checked.append(say("forecast_steps.source_path_unread", key=key, why=why))
            continue
        try:
            is_gone = _is_gone(s, place)
        except StorageError as error:
            not_checked.append(say("forecast_steps.source_path_unread", key=key, why=str(error)))
            continue
        if is_gone is None:
            why = say("forecast_steps.source_path_listed")
            not_checked.append(say("forecast_steps.source_path_unread", key=key, why=why))
        elif is_gone:
            why = say("forecast_steps.source_path_gone", key=key, location=place.url)
            at = Evidence(f"sources/{key}")
            details = {"path": place.url}
            return failed(s, "path_not_found", "SOURCE_PATH_GONE", why, at, details=details)
    return Verdict(not_checked=tuple(not_checked))


def _is_gone(s: RestartContext, place: Location) -> bool | None:
    """Whether nothing is there, None when nobody may know. An object store has a directory as long as one
    object is below it."""

    def look() -> bool | None:
        try:
            Door.open(place, s.checkpoint.settings).list([""], first_page=True)
        except LocationNotFound:
            return None if _is_listed_above(s, place) else True
        return False

    return s.checkpoint.kept(f"source path {place.url}", look)


def _is_listed_above(s: RestartContext, place: Location) -> bool:
    """Whether the directory above shows it although it cannot be listed: then it is not gone."""
    parent, _, name = place.url.rstrip("/").rpartition("/")
    if not parent or parent.endswith(("/", ":")):
        return False
    try:
        above = Door.open(parse_location(parent, place.storage_options), s.checkpoint.settings)
        return name in above.list([""])[""].directory_names()
    except StorageError:
        return False
