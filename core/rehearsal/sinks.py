"""What stands in for the sink: a directory of the scratch place that decides about a batch as the real sink
does, or files that record what would have been handed over."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from core.connectors.delta.actions import actions
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import LOG, FileSinkLog
from core.errors import UsageError
from core.messages import say
from core.recovery import RecoveryContext
from core.recovery.answers import is_secret
from core.recovery.context import common_format
from core.recovery.sinks import FOREACH
from core.rehearsal.copying import copy_files
from core.rehearsal.model import RehearsedSink
from core.settings import Settings
from core.storage import Door

_PARTITION = re.compile(r"([^/=]+)=")
_COMMIT = re.compile(r"_delta_log/\d{20}\.json")
_DESCRIBED = ("protocol", "metaData")


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """``request``: what the process with Spark is told; ``out``: directory by run."""

    sink: RehearsedSink
    request: Mapping[str, object]


def prepare_sink(context: RecoveryContext, outs: tuple[Path, ...], *, own_code: bool) -> SinkPlan:
    """Makes the directories that the runs write to. Raises UsageError, StagingError, StorageError."""
    sink_name = context.sink
    for out in outs:
        out.mkdir(parents=True)
    if sink_name == "file":
        return _file_sink(context, outs)
    if sink_name == "delta" and isinstance(context.connectors.sink, DeltaLog):
        return _delta_sink(context, context.connectors.sink, outs)
    if sink_name == "delta":
        raise UsageError(say("rehearse.delta_needs_sink"))
    if own_code and sink_name in (None, *FOREACH):
        sink = RehearsedSink(sink_name, "own_code", say("rehearse.sink_own_code"))
    else:
        note = say("rehearse.sink_foreach") if sink_name in FOREACH else say("rehearse.sink_recorded")
        sink = RehearsedSink(sink_name, "recorded", note)
    return SinkPlan(sink, {"as": "recorded", "format": "parquet", "options": {}, "partition_by": []})


def _file_sink(context: RecoveryContext, outs: tuple[Path, ...]) -> SinkPlan:
    log = context.connectors.sink
    paths: list[str] = []
    newest_batch = None
    note = say("rehearse.sink_file_without_log")
    if isinstance(log, FileSinkLog):
        door = Door.open(log.location, context.ck.settings)
        files = door.list([LOG])[LOG].files
        for out in outs:
            copy_files(door, files.values(), out)
        newest = files.get(log.path_of(log.newest)) if log.newest is not None else None
        paths = _written_files(outs[0] / newest.path) if newest is not None else []
        newest_batch = log.newest
        note = say("rehearse.sink_file", batches=len(log.batch_ids))
    written = context.answers.get("sink_format") or common_format(paths)
    if written is None:
        raise UsageError(say("rehearse.needs", answers=["sink_format"]))
    options = {k: v for k, v in context.answers.sink_options().items() if not is_secret(k)}
    given = context.answers.get("partition_by")
    columns = [each.strip() for each in given.split(",") if each.strip()] if given else _partitions(paths)
    request = {"as": "file", "format": written, "options": options, "partition_by": columns}
    return SinkPlan(RehearsedSink("file", "file", note, newest_batch), request)


def _delta_sink(context: RecoveryContext, log: DeltaLog, outs: tuple[Path, ...]) -> SinkPlan:
    """An empty table with the schema, partitioning, properties and protocol of the real one, and with the
    newest batch that it has of this query."""
    found = _description(log, context.ck.settings)
    if found is None:
        raise UsageError(say("rehearse.delta_not_described", url=log.url))
    first: list[dict[str, object]] = [{"protocol": found["protocol"]}, {"metaData": found["metaData"]}]
    seen = log.transactions.get(context.query_id or "")
    if seen is not None:
        first.append({"txn": {"appId": seen.app_id, "version": seen.version, "lastUpdated": _now_ms()}})
    text = "".join(json.dumps(action) + "\n" for action in first)
    for out in outs:
        (out / "_delta_log").mkdir()
        (out / "_delta_log" / f"{0:020}.json").write_text(text, encoding="utf-8")
    options = {k: v for k, v in context.answers.sink_options().items() if not is_secret(k)}
    held = say("rehearse.sink_delta_none") if seen is None else say("rehearse.sink_delta", batch=seen.version)
    request = {"as": "delta", "format": "delta", "options": options, "partition_by": []}
    sink = RehearsedSink("delta", "delta", held, None if seen is None else seen.version)
    return SinkPlan(sink, request)


def _description(log: DeltaLog, settings: Settings) -> dict[str, object] | None:
    """The actions ``protocol`` and ``metaData`` of the newest version: by its checksum, else by the commits;
    None where neither tells both."""
    door = Door.open(log.location, settings)
    files = door.list(["_delta_log"])["_delta_log"].files
    newest = files.get(f"_delta_log/{log.newest:020}.crc")
    found: dict[str, object] = {}
    if newest is not None and isinstance(data := door.read([newest])[newest.path], bytes):
        with contextlib.suppress(ValueError):
            told = json.loads(data)
            if isinstance(told, dict) and isinstance(told.get("metadata"), dict):
                found = {"protocol": told.get("protocol"), "metaData": told["metadata"]}
    if all(found.get(name) for name in _DESCRIBED):
        return found
    commits = sorted((path for path in files if _COMMIT.fullmatch(path)), reverse=True)
    found = {}
    for path in commits[: settings.table_versions]:
        data = door.read([files[path]])[path]
        with contextlib.suppress(ValueError):
            for name, body in actions(data if isinstance(data, bytes) else b""):
                if name in _DESCRIBED:
                    found.setdefault(name, body)
        if len(found) == len(_DESCRIBED):
            return found
    return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _written_files(entry: Path) -> list[str]:
    """The paths in one file of the log; none when it cannot be used."""
    try:
        lines = entry.read_text(encoding="utf-8").splitlines()[1:]
        return [unquote(json.loads(line)["path"]) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _partitions(paths: list[str]) -> list[str]:
    """The partition columns that directories right above the files show."""
    if not paths:
        return []
    columns: list[str] = []
    for part in reversed(paths[0].split("/")[:-1]):
        found = _PARTITION.match(part)
        if found is None:
            break
        columns.insert(0, unquote(found[1]))
    return columns
