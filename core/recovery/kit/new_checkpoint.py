"""A checkpoint that a script writes: its lines, and what it has read afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.recovery.kit.files import file_log
from core.recovery.kit.query import QueryRun, reader_options
from core.recovery.kit.words import Checks, Refused, show


def back_up(run: QueryRun, checkpoint: str) -> Checks:
    """A verified copy of the checkpoint: complete, or not there at all."""
    files, place = run.files, run.backup
    wanted = files.sizes(checkpoint)
    if not files.exists(place):
        partial = place + ".partial"
        if files.exists(partial):
            files.put_aside(partial)
        files.make(partial)
        # In reverse to the order in which Spark writes, so that even the copy of a running query is usable.
        first = ["commits", "metadata", "state", "offsets", "sources"]
        names = files.names(checkpoint)
        for name in sorted(names, key=lambda n: (first.index(n) if n in first else len(first), n)):
            files.copy(f"{checkpoint}/{name}", f"{partial}/{name}")
        if files.sizes(checkpoint) != wanted or files.sizes(partial) != wanted:
            raise Refused(
                "The checkpoint changed while it was copied, so its query is still running. Stop it and "
                "switch off automatic restarts first."
            )
        files.rename(partial, place)
        run.changed.append(f"{place} is a new copy of the checkpoint; undo: remove it")
    if files.sizes(place) != wanted:
        raise Refused(
            f"The backup {place} is not a copy of {checkpoint}. Choose another location for BACKUP."
        )
    show(f"Backup: {len(wanted)} files in {place}")
    return [(True, f"the backup has the same {len(wanted)} files with the same sizes")]


def source_lines(run: QueryRun, texts: Mapping[str, str]) -> str:
    """One offset line per source, in the format of the offset log's version."""
    if run.offset_log_version == 1:
        return "\n".join(texts[source["key"]] for source in run.sources)
    return "\n".join(f"{source['key']}:{texts[source['key']]}" for source in run.sources)


def end_of_new(run: QueryRun) -> tuple[int, dict[str, str]]:
    """The newest batch of the new checkpoint, and its offset text per source."""
    newest = run.files.numbers(f"{run.new_checkpoint}/offsets")[-1]
    lines = run.files.read(f"{run.new_checkpoint}/offsets/{newest}").splitlines()
    keys = [source["key"] for source in run.sources]
    if lines[0] == "v1":
        if len(lines) - 2 != len(keys):
            raise ValueError(f"offsets/{newest} has {len(lines) - 2} sources, the script {len(keys)}")
        return newest, {key: lines[2 + at] for at, key in enumerate(keys)}
    named = {line.split(":", 1)[0]: line.split(":", 1)[1] for line in lines[2:]}
    return newest, {key: named[key] for key in keys}


def new_directory(run: QueryRun, number: int, source: Mapping[str, Any]) -> str:
    """Where the new checkpoint has the log of a source."""
    return f"{run.new_checkpoint}/sources/{source['name'] or number}"


def listed_files(run: QueryRun, source: Mapping[str, Any]) -> set[str]:
    """The files that the source lists now, spelled as in the file source log."""
    frame = run.spark.read.format(source["format"]).options(**reader_options(source, {}))
    frame = frame.schema(source["schema"]) if source["schema"] is not None else frame
    return set(frame.load(source["path"]).inputFiles())


def is_known_by_name(source: Mapping[str, Any]) -> bool:
    """Whether a file source knows the files that it has read by their names, wherever they lie."""
    given = {name.lower(): value for name, value in source["options"].items()}
    return str(given.get("filenameonly", "")).lower() == "true"


def known_as(source: Mapping[str, Any], path: str) -> str:
    """What a file source knows a file by: its whole path, or its name with the option fileNameOnly."""
    return path.rpartition("/")[2] if is_known_by_name(source) else path


def listed_by_source(run: QueryRun) -> dict[str, set[str]]:
    """The same for every file source, by its key."""
    return {each["key"]: listed_files(run, each) for each in run.sources if each["kind"] == "file"}


def old_log(run: QueryRun, source: Mapping[str, Any], checkpoint: str = "") -> list[dict[str, Any]]:
    """The files that a file source had read up to the last committed batch; ``checkpoint``: where the old
    one is now."""
    up_to = json.loads(source["position"])["logOffset"]
    return file_log(run.files, f"{checkpoint or run.old_checkpoint}/{source['directory']}", -1, up_to)


def new_log(run: QueryRun, number: int, source: Mapping[str, Any], after: int) -> list[dict[str, Any]]:
    """The files in the new file source log behind an entry."""
    end = json.loads(end_of_new(run)[1][source["key"]])["logOffset"]
    return file_log(run.files, new_directory(run, number, source), after, end)


def parts_of_new(run: QueryRun, after: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the new checkpoint has read, per source: files, or a pair of Kafka positions. None for other
    kinds.
    ``after`` gives the start of each source: a log id of the new file source log, or Kafka positions.
    """
    _, ends = end_of_new(run)
    parts: dict[str, Any] = {}
    for number, source in enumerate(run.sources):
        key = source["key"]
        end = json.loads(ends[key])
        if source["kind"] == "file":
            parts[key] = [entry["path"] for entry in new_log(run, number, source, after[key])]
        elif source["kind"] == "kafka":
            start = {
                topic: {each: after[key].get(topic, {}).get(each, -2) for each in partitions}
                for topic, partitions in end.items()
            }
            parts[key] = (start, end)
        else:
            return None
    return parts


def whole_of_new(run: QueryRun) -> dict[str, Any] | None:
    """All that the new checkpoint has read."""
    return parts_of_new(run, {each["key"]: -1 if each["kind"] == "file" else {} for each in run.sources})


def log_of_files(entries: list[dict[str, Any]], number: int) -> str:
    """An entry of a file source log."""
    lines = [
        json.dumps({"path": e["path"], "timestamp": e["timestamp"], "batchId": number}, separators=(",", ":"))
        for e in entries
    ]
    return "\n".join(["v1", *lines])


def check_new_logs(run: QueryRun, first_batch: int) -> Checks:
    """Every batch of the new checkpoint, from the first one on, is committed."""
    offsets = run.files.numbers(f"{run.new_checkpoint}/offsets")
    commits = run.files.numbers(f"{run.new_checkpoint}/commits")
    mine = [number for number in offsets if number >= first_batch]
    lacking = sorted(set(mine) - set(commits))
    if lacking:
        return [(False, f"batches {lacking} of the new checkpoint are not committed")]
    if not mine:
        return [(True, "there was no new data, so no batch ran")]
    return [(True, f"batches {mine[0]} to {mine[-1]} of the new checkpoint are committed")]


def check_files_seen(run: QueryRun, shown: Mapping[str, set[str]]) -> Checks:
    """Every file that the sources listed at the start is in the new file source log."""
    checks: Checks = []
    for number, source in enumerate(run.sources):
        if source["kind"] != "file":
            continue
        name, listed = f"source {source['key']}", shown[source["key"]]
        read = {known_as(source, entry["path"]) for entry in new_log(run, number, source, -1)}
        lost = {path for path in listed if known_as(source, path) not in read}
        if lost:
            checks.append((False, f"{name}: {len(lost)} files were not read, for example {min(lost)}"))
        else:
            checks.append((True, f"{name}: all {len(listed)} files at the source were read"))
    return checks


def not_twice(run: QueryRun, number: int, source: Mapping[str, Any]) -> tuple[int, int, list[str]]:
    """How many files the old log and the new one behind its first entry have, and which old ones were read
    again although they have not changed."""
    old = {known_as(source, entry["path"]): entry["timestamp"] for entry in old_log(run, source)}
    later = new_log(run, number, source, 0)
    twice = [e["path"] for e in later if e["timestamp"] <= old.get(known_as(source, e["path"]), -1)]
    return len(old), len(later), twice
