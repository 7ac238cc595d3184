"""Many checkpoints through Spark: the data source "checkpoint", the survey as a job, and where its rows are
kept."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # The data source.
    "no_packages": (
        "A Python worker of Spark ({python}) lacks what reads checkpoints: {packages:listed}. Install it"
        " there, or let PYSPARK_PYTHON of the workers name a Python that has it"
    ),
    "no_path": 'Name where the checkpoints lie: spark.read.format("checkpoint").load("s3://bucket/checkpoints")',
    "paths_text": "The option paths takes a JSON list of locations, not {given}",
    "view": "There is no view {given}; choose one of {views:listed}",
    "level": "There is no level {given}; choose one of {levels:listed}",
    "newest": "The option newest takes a number of batches from 1 to {most:number}, not {given}",
    "newest_of_view": "The option newest is for the views {views:listed}; the view {view} takes none",
    "level_of_view": "The option level is for the view survey; the view {view} takes none",
    "option": "There is no option {given}; a checkpoint is read with {options:listed}",
    "schema": "The view {view} has a schema of its own; read it without schema(...) and select the columns",
    # The survey as a job.
    "no_delta": (
        "This Spark has no Delta Lake, so nothing was surveyed. Give it the package"
        " (spark.jars.packages=io.delta:delta-spark_2.13:VERSION in its spark-defaults.conf, of a version"
        " that fits this Spark), or choose --format parquet"
    ),
    "task_failed": "Spark could not read this checkpoint; its task failed: {reason}. That is no damage.",
    "no_row": "Spark gave no row for this checkpoint. That is no damage.",
    "progress_starting": "Starting Spark",
    "progress": "{done:number} of {known:counted task}",
}
