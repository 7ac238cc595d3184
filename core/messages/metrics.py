"""What the metrics mean, and what the command says that prints or serves them."""

from __future__ import annotations

HELP: dict[str, str] = {
    "spark_checkpoint_next_start": (
        "1 for what happens at the next start: fails, reruns, resumes, fresh_start; unused when a pipeline"
        " starts from another one, unknown when something that it needs could not be read, unreadable when"
        " nothing could."
    ),
    "spark_checkpoint_findings": "Findings of the check by severity: blocks_restart, data_risk, attention.",
    "spark_checkpoint_info": (
        "1, with the query id and the oldest Spark that can have written the checkpoint."
    ),
    "spark_checkpoint_source_info": "1 for each source of the query, by its position and kind.",
    "spark_checkpoint_is_temporary": (
        "1 when the place is gone with the session, the cluster or the next restart of the machine."
    ),
    "spark_checkpoint_newest_entry_timestamp_seconds": (
        "Unix time of the newest entry of the offset and commit log; its age is time() minus this."
    ),
    "spark_checkpoint_last_committed_batch": "Newest batch id of the commit log.",
    "spark_checkpoint_pending_batch": (
        "Batch id that is planned and not committed; absent when there is none."
    ),
    "spark_checkpoint_batches_per_hour": "Batches per hour, of the newest 50 batches.",
    "spark_checkpoint_batch_duration_seconds": "Median duration of the newest 50 batches.",
    "spark_checkpoint_watermark_lag_seconds": (
        "Watermark in force behind the clock of the newest batch; absent without a watermark."
    ),
    "spark_checkpoint_watermark_stalled_batches": (
        "For how many of the newest batches that were read the watermark has stood still."
    ),
    "spark_checkpoint_state_bytes": "Bytes of files of each stateful operator.",
    "spark_checkpoint_state_skew_ratio": (
        "How many times the median the largest partition has, of the most uneven store of each stateful"
        " operator."
    ),
    "spark_checkpoint_bytes": "Bytes by what they hold: logs, sources, state.",
    "spark_checkpoint_files": "Files of logs, sources and state.",
    "spark_checkpoint_not_read": (
        "How many files and directories could not be read: what follows from them has no sample."
    ),
    "spark_checkpoint_read_seconds": "How long it took to look into the checkpoint.",
    "spark_checkpoint_root_up": "1 when the root could be listed, 0 when not.",
    "spark_checkpoint_root_checkpoints": "Checkpoints that were found below the root.",
    "spark_checkpoint_root_is_complete": "0 when the search below the root stopped at a limit.",
    "spark_checkpoint_survey_timestamp_seconds": "Unix time at which the survey ended.",
    "spark_checkpoint_survey_duration_seconds": "How long the survey took.",
}
"""The help text of every metric, in the order in which they are given."""

SENTENCES: dict[str, str] = {
    "help_serve": "serve the metrics on this port of 127.0.0.1 until stopped, instead of printing them once",
    "help_every": "with --serve: seconds from the end of a survey to the next one (default {seconds})",
    "serving": (
        "Metrics of {roots:listed 5}: {url}, surveyed again every {seconds:counted second}. Ctrl-C stops."
    ),
    "port_taken": "Port {port} of 127.0.0.1 cannot be served: {reason}. Name another one with --serve.",
    "every_alone": "--every says how often --serve surveys; add --serve PORT",
    "no_port": "--serve takes a port from 1 to 65535, not {given}",
    "too_often": "--every has to be {least} or more, not {given}",
}
