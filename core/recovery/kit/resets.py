"""What the three ways of a reset have in common: where the sink stands, and the rows that it gains."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.counting import batch_result, can_count, count_output
from core.recovery.kit.kafka import sink_topic_offsets
from core.recovery.kit.new_checkpoint import back_up, is_known_by_name, old_log
from core.recovery.kit.query import QueryRun, check_transform, partition_columns
from core.recovery.kit.run import check_new_place, check_unmoved
from core.recovery.kit.sink import check_sink_is_ours, delta_epoch, sink_numbers
from core.recovery.kit.words import Checks, Refused


def check_query(run: QueryRun) -> None:
    """Refuses a place of somebody else, a checkpoint that has moved, and a query that does not fit; not again
    where an earlier run has begun."""
    check_new_place(run)
    if run.read_record() is None:
        check_unmoved(run, run.old_checkpoint)
        check_transform(run)


def check_ours(run: QueryRun, checkpoint: str) -> None:
    """Refuses a sink that this query has not written, and a topic that is not there."""
    check_sink_is_ours(run, checkpoint)
    if run.sink == "kafka" and not sink_topic_offsets(run):
        raise Refused(f"The broker has no topic {run.sink_topic!r}.")


def check_sink(run: QueryRun, first_batch: int, keeps_pending: bool) -> None:
    """Refuses a sink that would skip new rows or receive rows a second time, and one that is not this
    query's; not again where the new checkpoint is there."""
    if not run.is_made:
        check_sink_stands(run, first_batch, keeps_pending)
        check_ours(run, run.old_checkpoint)


def check_sink_stands(run: QueryRun, first_batch: int, keeps_pending: bool) -> None:
    """Refuses when the sink would skip new rows, or receive rows a second time."""
    if run.sink == "file":
        newest = max(sink_numbers(run.files, run.sink_path) or [-1])
        is_kept = keeps_pending and newest == run.pending
        if run.output == run.sink_path and newest >= first_batch and not is_kept:
            raise Refused(
                f"The output already has batches up to {newest}, but the new checkpoint starts with batch "
                f"{first_batch}: new rows would be skipped. If the output is one batch ahead and the old "
                "query still starts, start it once so that the checkpoint catches up, then make a new plan; "
                "else the options restore_backup and full_refresh are left."
            )
    last = run.pending if keeps_pending else run.last_committed
    if run.sink == "delta" and run.query_id is not None and run.files.names(run.sink_path):
        epoch = delta_epoch(run)
        if epoch is not None and last is not None and epoch > last:
            raise Refused(
                f"The table already has batch {epoch} of this query, but the new checkpoint resumes after "
                f"{last}: rows would be written twice. If the old query still starts, start it once so that "
                "the checkpoint catches up, then make a new plan; else the options restore_backup and "
                "full_refresh are left."
            )


def check_new_output(run: QueryRun) -> None:
    """Refuses a new output directory that has files already; not again where the new checkpoint is there."""
    if not run.is_made and run.output != run.sink_path and run.files.names(run.output):
        raise Refused(f"The new output {run.output} is not empty. Choose another location for NEW_SINK_PATH.")


def check_not_moved(run: QueryRun, files_are_new: bool) -> Checks:
    """Refuses a file source at another place than the files that were read: Spark knows a file by its whole
    path, so it would read those that were moved there again. Not again where the new checkpoint is there.
    That every file there is new cannot be checked; nor, where the source knows files by name, that one with
    the name of a file that was read is that file."""
    checks: Checks = []
    for source in run.sources:
        if source["kind"] != "file" or not (read := _read_elsewhere(run, source)):
            continue
        if is_known_by_name(source):
            text = (
                f"source {source['key']}: that a file at {source['path']} with the name of one that was read"
                " is that file"
            )
            checks.append((None, f"{text}: fileNameOnly is set, and Spark does not read it again"))
        elif files_are_new:
            text = (
                f"source {source['key']}: that no file at {source['path']} was read before, at another place"
            )
            checks.append((None, f"{text}: FILES_ARE_NEW is set"))
        elif not run.is_made:
            raise Refused(
                f"Source {source['key']} is at {source['path']}, and none of the {len(read)} files that were"
                f" read was there (for example {read[0]}). Spark knows a file by its whole path, so it would"
                " read every file at the new place, also one that was moved or copied there. Put the files"
                " back and leave the path as it was; or, if each of them is new to the query, set"
                " FILES_ARE_NEW = True."
            )
    return checks


def _read_elsewhere(run: QueryRun, source: Mapping[str, Any]) -> list[str]:
    """The files that a source had read, when none of them was at its place of today."""
    above_wildcard = re.split(r"/[^/]*[*?\[{]", source["path"], maxsplit=1)[0]
    place = _one_spelling(run.files.qualified(above_wildcard))
    read = [_one_spelling(unquote(entry["path"])) for entry in old_log(run, source)]
    return [] if any(f"{path}/".startswith(f"{place.rstrip('/')}/") for path in read) else read


def _one_spelling(path: str) -> str:
    return re.sub(r"^file:/+", "file:/", path)


def check_app_id(run: QueryRun, app_id_changes: bool) -> None:
    """Refuses a write_batch that would keep its txnAppId."""
    if run.sink != "foreach_txn" or app_id_changes:
        return
    if len(inspect.signature(run.module.write_batch).parameters) < 3:
        raise Refused(
            "Batch IDs start at 0 again, and Delta silently skips batch IDs it has committed under the same "
            "txnAppId. Let QUERY_FILE define write_batch(df, batch_id, app_id) and use that app_id; or set "
            "APP_ID_CHANGES = True if write_batch already takes the query id."
        )


def prepare(run: QueryRun) -> Checks:
    """A verified copy of the old checkpoint, and the last look at the sink before anything is written to
    it."""
    checks = back_up(run, run.old_checkpoint)
    if not run.is_made:
        check_ours(run, run.old_checkpoint)
    return checks


def facts_before(run: QueryRun) -> dict[str, Any]:
    """What the verification and a later run have to know about the sink."""
    return {"rows_before": rows_before(run), "partition_by": partition_columns(run)}


def rows_before(run: QueryRun) -> int | None:
    """How many rows the output has before anything new is written; None when they cannot be counted."""
    if run.sink == "kafka":
        ends = sink_topic_offsets(run)
        return sum(following for partitions in ends.values() for _, following in partitions.values())
    return count_output(run, {run.sink_path, run.output}) if can_count(run) else None


def check_sink_got_it(run: QueryRun, first_batch: int) -> Checks:
    """The batches that the new checkpoint committed are in the file sink log."""
    commits = run.files.numbers(f"{run.new_checkpoint}/commits")
    done = [number for number in commits if number >= first_batch]
    if run.sink != "file" or not done:
        return []
    newest = max(sink_numbers(run.files, run.output) or [], default=-1)
    lost = [number for number in done if number > newest]
    if lost:
        return [(False, f"the file sink log lacks the batches {lost}")]
    return [(True, f"the file sink log has the batches up to {done[-1]}")]


def check_planned(run: QueryRun) -> Checks:
    """That nobody can tell whether a sink without a log of batches has rows of the planned batch already,
    which the new checkpoint reads again."""
    if run.pending is None or run.sink not in ("kafka", "foreach_append", "other"):
        return []
    text = f"whether rows of batch {run.pending}, which was planned and not committed, had reached the sink"
    return [(None, f"{text} before: those are there twice now")]


def check_rows(run: QueryRun, before: int | None, parts: Mapping[str, Any] | None) -> Checks:
    """The output grew by exactly the rows that the query makes of the new part of the sources."""
    if before is None:
        return [(None, "the rows in the sink (give sink_path and sink_format to have them counted)")]
    if run.sink == "foreach_merge" or run.output_mode != "append":
        return [(None, "the number of rows in the sink: it does not only grow")]
    if parts is None or run.keeps_state:
        return [(None, "the number of new rows: it cannot be computed from the new input alone")]
    try:
        frame = batch_result(run, parts)
    except Exception as error:
        return [(None, f"the number of new rows: the batch query failed ({type(error).__name__})")]
    if frame is None:
        text = "the number of new rows: this kind of source cannot be read by a batch query for it"
        return [(None, text)]
    expected, now = frame.count(), rows_before(run)
    text = f"the output grew from {before} to {now} rows; the new input gives {expected}"
    grown = (now or 0) - before
    if run.sink == "kafka" and grown > expected:
        return [(None, text + " (other writers, or an attempt that was interrupted)")]
    return [(grown == expected, text)]


def header_of(run: QueryRun, batch: int | None) -> str:
    """The version and the settings of a batch in the old checkpoint, as two lines."""
    return "\n".join(run.files.read(f"{run.old_checkpoint}/offsets/{batch}").splitlines()[:2])


def old_settings(run: QueryRun) -> dict[str, Any]:
    """The settings of the last committed batch."""
    settings: dict[str, Any] = json.loads(header_of(run, run.last_committed).splitlines()[1])
    return settings
