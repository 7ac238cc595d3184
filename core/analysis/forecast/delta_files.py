"""The data files that the next batch of a Delta source reads, looked for.

A batch that runs again, and the next one, ask for the files that the commits of their range added, also when
a later version removed them and VACUUM deleted them: FAILED_READ_FILE.FILE_NOT_EXIST, in a Delta or file sink
inside TASK_WRITE_FAILED (observed, Delta 4.4 on Spark 4.2). With spark.sql.files.ignoreMissingFiles=true the
batch is committed without their rows; the checkpoint does not tell whether that is set.
"""

from __future__ import annotations

from dataclasses import replace

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.delta_errors import delta_error, delta_failure
from core.analysis.forecast.reader_options import is_set, number
from core.analysis.forecast.step_verdict import Verdict
from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.data_files import files_to_read, look_for_files
from core.connectors.delta.log import DeltaLog
from core.messages import say

FILES_OF_A_BATCH = 1000  # Delta's default of maxFilesPerTrigger


def check_files_of_batch(
    s: RestartContext, part: Range, log: DeltaLog, start: TablePosition | None, end: TablePosition
) -> Verdict:
    """The files of batch N, which runs again. ``start`` None: it is not known where the batch begins."""
    return _open_files(s, part) if start is None else _check(s, part, log, start, end)


def check_files_that_wait(s: RestartContext, part: Range, log: DeltaLog, end: TablePosition) -> Verdict:
    """The files behind offsets/N, up to the newest version."""
    return _check(s, part, log, end, None)


def _open_files(s: RestartContext, part: Range) -> Verdict:
    return Verdict(
        not_checked=(say("forecast_delta.whether_files_are_there", n=s.first_batch, key=part.key),)
    )


def _check(
    s: RestartContext, part: Range, log: DeltaLog, start: TablePosition, end: TablePosition | None
) -> Verdict:
    if is_set(s, part.key, "readChangeFeed", "readChangeData"):
        return _open_files(s, part)
    wanted = files_to_read(log, start, end, is_set(s, part.key, "skipChangeCommits"))
    if wanted is None:
        return _open_files(s, part)
    look = look_for_files(log, wanted, s.checkpoint.settings.input_files)
    if not look.gone:
        return Verdict() if wanted.is_whole and not look.unseen else _open_files(s, part)
    why = say("forecast_delta.files_gone", files=len(look.gone), file=look.gone[0], key=part.key, url=log.url)
    if end is None and look.before:
        if look.before >= (number(s, part.key, "maxFilesPerTrigger") or FILES_OF_A_BATCH):
            then = say("forecast_delta.later_batch_fails", why=why, files=look.before)
            return replace(_open_files(s, part), then=then)
        why = say("forecast_delta.after_files_before_it", why=why, files=look.before)
    failure = delta_failure(
        delta_error("file_gone"), "DELTA_FILES_GONE", why, part.evidence, "batch", "inferred"
    )
    passed = say("forecast_delta.whether_missing_files_are_passed", key=part.key)
    return replace(failure, not_checked=(passed,))
