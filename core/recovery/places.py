"""Where a recovery reads and writes: the old checkpoint and the new one, as Spark names them."""

from __future__ import annotations

from typing import Literal

from core.checkpoint.pipeline_flow import pipeline_flow
from core.recovery.context import RecoveryContext
from core.recovery.recipe import Recipe
from core.recovery.repairs import repair_of

Platform = Literal["pyspark", "databricks", "lakeflow"]


def platform_of(context: RecoveryContext) -> Platform:
    """Where the first piece of code runs; a pipeline table decides where no platform was answered."""
    wanted = context.answers.get("platform")
    if wanted == "databricks" and context.sink != "lakeflow_table":
        return "databricks"
    return "lakeflow" if wanted == "lakeflow" or context.sink == "lakeflow_table" else "pyspark"


def old_checkpoint(context: RecoveryContext, platform: Platform) -> str | None:
    """The location of the checkpoint; None where only this process can read it."""
    return context.url if platform == "databricks" and context.spark_path is not None else context.spark_path


def new_checkpoint(context: RecoveryContext, made: Recipe, platform: Platform) -> str | None:
    """What an option writes: the answer, else a name beside the old checkpoint; None when neither is known.
    For a backup the place of the copy, for a plain restart the checkpoint itself. The flow of a declarative
    pipeline takes its checkpoint by number: the next one."""
    place, repair = old_checkpoint(context, platform), repair_of(made.option)
    if made.option == "restart":
        return place
    flow = pipeline_flow(place)
    if flow is not None and made.option != "backup":
        return context.answers.get("checkpoint_new") or flow.next_place
    if repair is not None:
        return context.answers.get(repair.place) or (place and f"{place}.{repair.suffix(context)}")
    if context.is_lost:  # nothing lies at its location, so that the query can stay as it is
        return context.answers.get("checkpoint_new") or place
    return context.answers.get("checkpoint_new") or beside(
        context, platform, "reset-after-batch" if made.option == "reset" else "refresh-after-batch"
    )


def new_output(context: RecoveryContext, made: Recipe) -> str | None:
    """The directory that the query writes to from now on, where a reset cannot use the old one, or a full
    refresh must not rename it (another query has written to it); None elsewhere, and where the old one is not
    known."""
    path = context.answers.get("sink_path")
    if path is None or not made.new_output:
        return None
    if made.method != "from_start":
        return path.rstrip("/") + after(context)
    if made.option != "full_refresh" or not context.earlier_batches:
        return None
    return f"{path.rstrip('/')}.refreshed-batch-{batch_name(context)}"


def beside(context: RecoveryContext, platform: Platform, what: str) -> str | None:
    """A name beside the old checkpoint that says after which batch it was made."""
    place = old_checkpoint(context, platform)
    return None if place is None else f"{place}.{what}-{batch_name(context)}"


def after(context: RecoveryContext) -> str:
    """The end of the name of a new output directory."""
    return f".after-batch-{batch_name(context)}"


def batch_name(context: RecoveryContext) -> str:
    """The last committed batch as a part of a name."""
    return str(context.last_committed if context.last_committed is not None else "none")
