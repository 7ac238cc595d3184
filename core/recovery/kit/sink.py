"""Whether the sink is the one that this query wrote, and where it stands. Nothing is touched before."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

from core.recovery.kit.files import Files
from core.recovery.kit.run import Run
from core.recovery.kit.session import check_connectors
from core.recovery.kit.words import Refused, show

SET_IT = "Correct SINK_PATH; if you have made sure that it is this query's output, set SINK_IS_OURS = True."
KEEP_ROWS = {
    "OPTIMIZE",
    "VACUUM START",
    "VACUUM END",
    "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES",
    "COMPUTE STATS",
    "REORG",
}
"""They change no row, so the table still stands where it stood before them."""


def check_sink_connector(run: Run) -> None:
    """Refuses when the log of the sink cannot be read. The log of a topic is not asked."""
    check_connectors(run.spark, {run.sink} - {"kafka"})


def sink_numbers(files: Files, output: str) -> list[int] | None:
    """The batch IDs in the file sink log; None when the output has no such log."""
    names = files.names(f"{output}/_spark_metadata")
    found = [
        int(name.removesuffix(".compact")) for name in names if re.fullmatch(r"[0-9]+(\.compact)?", name)
    ]
    return found or None


def delta_history(run: Run) -> Any:
    """The Delta table's history, newest first, as far as its log reaches."""
    place = run.sink_path.replace("`", "``")
    history = run.spark.sql(f"DESCRIBE HISTORY delta.`{place}`")
    return history.select("version", "operation", "operationParameters").orderBy("version", ascending=False)


def delta_epoch(run: Run) -> int | None:
    """The newest batch of the old query in the Delta table's history, None when there is none."""
    history = delta_history(run).where("operation = 'STREAMING UPDATE'")
    mine = history.where(history.operationParameters["queryId"] == run.query_id)
    newest: int | None = mine.selectExpr("max(cast(operationParameters['epochId'] as bigint))").first()[0]
    return newest


def check_sink_is_ours(
    run: Run, checkpoint: str, to_batch: int | None = None, may_be_ahead: bool = False
) -> None:
    """Refuses a sink that this query has not written, or that no longer has what it wrote. With ``to_batch``
    it has to end at that batch; without, at the last committed batch or at the one without a commit, or with
    ``may_be_ahead`` after them (the checkpoint was restored) where the batches that both have fit."""
    if not run.old_checkpoint and run.sink in ("file", "delta") and not run.sink_is_ours:
        raise Refused(
            f"Without the checkpoint nothing tells whether {run.sink_path} is the output of this query. "
            f"{SET_IT}"
        )
    if to_batch is not None:
        ends = [to_batch]
    else:
        ends = [number for number in (run.last_committed, run.pending) if number is not None]
    if run.sink == "file" and not run.sink_is_ours:
        check_file_sink(run, checkpoint, ends, may_be_ahead)
    if run.sink == "delta" and not run.sink_is_ours:
        if to_batch is None:
            check_delta_sink(run, ends, may_be_ahead)
        else:
            check_delta_at(run, to_batch)


def show_ahead(newest: int, end: int) -> None:
    """The checkpoint is older than the output, as after a restore."""
    show(f"The output has batches of this query up to {newest}, the checkpoint ends at {end}: it is older.")


def check_file_sink(run: Run, checkpoint: str, ends: list[int], may_be_ahead: bool) -> None:
    """Refuses a file sink log that does not end there, or that was not written while this query ran."""
    files, place = run.files, run.sink_path
    numbers = sink_numbers(files, place)
    if numbers is None:
        raise Refused(
            f"{place} has no _spark_metadata: it is not the output directory of this query's file sink. "
            f"{SET_IT}"
        )
    is_ahead = may_be_ahead and bool(ends) and max(numbers) > max(ends)
    if max(numbers) not in ends and not is_ahead:
        is_behind = max(numbers) < min(ends, default=0)
        how = (
            "behind: it was restored, or it is another query's output"
            if is_behind
            else "ahead, or another query's output"
        )
        raise Refused(
            f"The file sink log in {place} ends at batch {max(numbers)}, the checkpoint at "
            f"{max(ends, default=None)}: it is {how}. {SET_IT}"
        )
    # The log has no query id. Each entry is written between the plan and the commit of its batch.
    planned, committed = files.times(f"{checkpoint}/offsets"), files.times(f"{checkpoint}/commits")
    written = files.times(f"{place}/_spark_metadata")
    if run.pending in numbers:
        check_entry_of_pending(run, f"{place}/_spark_metadata/{entry_name(run.pending, written)}")
    slack_ms = files.clock_slack_ms(place, checkpoint)
    last = run.last_committed if run.last_committed is not None else -1
    shared = [number for number in sorted(numbers) if not is_ahead or number <= last]
    looked_at, fitting = shared[-5:], 0
    for number in looked_at:
        name = entry_name(number, written)
        before, after = planned.get(str(number)), committed.get(str(number))
        if before is not None and after is not None and before > after + slack_ms:
            before = None  # a plan is older than its commit: this file was written again since
        too_early = before is not None and written[name] < before - slack_ms
        if too_early or (after is not None and written[name] > after + slack_ms):
            raise Refused(
                f"{place}/_spark_metadata/{name} was not written while batch {number} of this query ran: it "
                f"is another query's output, or one of the two is a copy. {SET_IT}"
            )
        fitting += before is not None and after is not None
    if is_ahead:
        if not fitting or fitting < len(looked_at):
            raise Refused(
                f"The file sink log in {place} ends at batch {max(numbers)}, the checkpoint at {max(ends)}, "
                "and the times of the batches that both have do not show that it is the output of this "
                f"query: the checkpoint is older, or it is another query's output. {SET_IT}"
            )
        show_ahead(max(numbers), max(ends))


def entry_name(number: int, names: Container[str]) -> str:
    """The file of a batch in a compactible log that has one for it."""
    return str(number) if str(number) in names else f"{number}.compact"


def check_entry_of_pending(run: Run, place: str) -> None:
    """Refuses an entry of the batch without a commit that names no file: Spark skips a batch that has an
    entry, whatever is in it."""
    lines = run.files.read_bytes(place).decode(errors="replace").splitlines()
    if lines[:1] != ["v1"] or not any(line.strip() for line in lines[1:]):
        raise Refused(
            f"{place}, of batch {run.pending} without a commit, names no file, and Spark skips a "
            "batch that has an entry. Either the batch had no rows, or its entry was cut off and its rows "
            "are lost. If it had none, set SINK_IS_OURS = True; else restore the entry from a backup."
        )


def check_delta_sink(run: Run, ends: list[int], may_be_ahead: bool) -> None:
    """Refuses a table without batches of this query, one that was replaced since, and one that ends
    elsewhere."""
    place = run.sink_path
    if not run.files.exists(f"{place}/_delta_log"):
        raise Refused(f"{place} is not a Delta table. {SET_IT}")
    if run.query_id is None:
        raise Refused(
            f"The checkpoint has no query id, so it is not known whether {place} is its table. {SET_IT}"
        )
    others = []
    for commit in delta_history(run).toLocalIterator():
        details = commit["operationParameters"] or {}
        operation = commit["operation"]
        if operation == "STREAMING UPDATE" and details.get("queryId") == run.query_id:
            newest = int(details["epochId"])
            break
        replaced = (
            operation in ("RESTORE", "CLONE", "TRUNCATE")
            or "REPLACE TABLE" in operation
            or details.get("mode") == "Overwrite"
        )
        if replaced and details.get("predicate") in (None, "", "[]"):
            others.append(f"{operation} in version {commit['version']}")
    else:
        raise Refused(
            f"The history of {place} has no batch of this query ({run.query_id}): it is another query's "
            f"table, or its history has expired. {SET_IT}"
        )
    if others:
        raise Refused(
            f"After the newest batch of this query the table was changed as a whole ({others[-1]}): rows of "
            f"this query may be gone. {SET_IT}"
        )
    if may_be_ahead and ends and newest > max(ends):
        show_ahead(newest, max(ends))
    elif newest not in ends:
        raise Refused(
            f"The newest batch of this query in the table is {newest}, the checkpoint ends at {max(ends)}: "
            f"the two do not fit. {SET_IT}"
        )


def check_delta_at(run: Run, to_batch: int) -> None:
    """Refuses a table that does not stand at the version that has ``to_batch``: with more its rows are there
    twice, with less they are missing."""
    place = run.sink_path
    if not run.files.exists(f"{place}/_delta_log"):
        raise Refused(f"{place} is not a Delta table. {SET_IT}")
    commits = [commit.asDict() for commit in delta_history(run).collect()]
    versions: dict[int, int] = {}
    for commit in commits:
        details = commit["operationParameters"] or {}
        if commit["operation"] == "STREAMING UPDATE" and details.get("queryId") == run.query_id:
            versions[int(details["epochId"])] = commit["version"]
    if not versions:
        raise Refused(
            f"The history of {place} has no batch of this query ({run.query_id}): it is another query's "
            f"table, or its history has expired. {SET_IT}"
        )
    wanted = versions.get(to_batch)
    if wanted is None:
        raise Refused(
            f"The history of {place} has no version with batch {to_batch} (it has {sorted(versions)}), so the"
            " table cannot stand there."
        )
    for commit in commits:
        details = commit["operationParameters"] or {}
        restored = details.get("version") if commit["operation"] == "RESTORE" else None
        if commit["version"] == wanted or (restored is not None and int(restored) == wanted):
            return
        if commit["operation"] not in KEEP_ROWS:
            break
    later = [each for each in commits if each["version"] > wanted]
    later = [each for each in later if each["version"] not in versions.values()]
    others = sorted({each["operation"] for each in later if each["operation"] not in KEEP_ROWS})
    quoted = place.replace("`", "``")
    also = f" This also undoes what others did to it since then: {', '.join(others)}." if others else ""
    raise Refused(
        f"The table does not stand at batch {to_batch}. First run: RESTORE TABLE delta.`{quoted}` TO VERSION "
        f"AS OF {wanted}{also}"
    )
