"""The data files that the next batch of a Delta source reads, looked for.

A batch that runs again, and the next one, ask for the files that the commits of their range added, also when
a later version removed them and VACUUM deleted them: FAILED_READ_FILE.FILE_NOT_EXIST, in a Delta or file sink
inside TASK_WRITE_FAILED (observed, Delta 4.4 on Spark 4.2). With spark.sql.files.ignoreMissingFiles=true the
batch is committed without their rows; the checkpoint does not tell whether that is set.
"""

from __future__ import annotations

from dataclasses import replace

from core.analysis.forecast.context import Range, RestartContext, Verdict
from core.analysis.forecast.delta_errors import delta_error
from core.analysis.forecast.model import FailsAt
from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.data_files import files_to_read, look_for_files
from core.connectors.delta.log import DeltaLog
from core.messages import say

FILES_OF_A_BATCH = 1000  # Delta's default of maxFilesPerTrigger


def check_files_of_batch(
    s: RestartContext, part: Range, log: DeltaLog, start: TablePosition | None, end: TablePosition
) -> Verdict:
    """The files of batch N, which runs again. ``start`` None: it is not known where the batch begins."""
    return _check(s, part, log, (start, end), 0)


def check_files_that_wait(s: RestartContext, part: Range, log: DeltaLog, end: TablePosition) -> Verdict:
    """The files behind offsets/N, up to the newest version."""
    return _check(s, part, log, (end, None), _files_of_a_batch(s, part))


def _files_of_a_batch(s: RestartContext, part: Range) -> int:
    """How many files a batch takes at most, as far as that is known."""
    given = {name.lower(): value for name, value in s.query.options.get(part.key, {}).items()}
    limit = given.get("maxfilespertrigger", "")
    return int(limit) if limit.isdigit() and int(limit) > 0 else FILES_OF_A_BATCH


def _check(
    s: RestartContext,
    part: Range,
    log: DeltaLog,
    positions: tuple[TablePosition | None, TablePosition | None],
    files_of_a_batch: int,
) -> Verdict:
    start, end = positions
    batch_id = s.first_batch
    open_files = Verdict(
        not_checked=(say("forecast_delta.whether_files_are_there", n=batch_id, key=part.key),)
    )
    given = {name.lower(): value.lower() for name, value in s.query.options.get(part.key, {}).items()}
    if start is None or "true" in (given.get("readchangefeed"), given.get("readchangedata")):
        return open_files
    wanted = files_to_read(log, start, end, given.get("skipchangecommits") == "true")
    if wanted is None:
        return open_files
    look = look_for_files(log, wanted, s.checkpoint.settings.input_files)
    if not look.gone:
        return Verdict() if wanted.is_whole and not look.unseen else open_files
    why = say("forecast_delta.files_gone", files=len(look.gone), file=look.gone[0], key=part.key, url=log.url)
    if files_of_a_batch and look.before >= files_of_a_batch:
        return replace(open_files, then=say("forecast_delta.later_batch_fails", why=why, files=look.before))
    if files_of_a_batch and look.before:
        why = say("forecast_delta.after_files_before_it", why=why, files=look.before)
    evidence = (part.end.evidence,) if part.end is not None else ()
    fails_at: FailsAt = "batch"
    return Verdict(
        status="fails",
        evidence=evidence,
        certainty="inferred",
        error=delta_error("file_gone"),
        reason="DELTA_FILES_GONE",
        why=why,
        fails_at=fails_at,
        not_checked=(say("forecast_delta.whether_missing_files_are_passed", key=part.key),),
    )
