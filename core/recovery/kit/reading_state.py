"""Reading state with Spark's state reader, so that it writes nothing into the checkpoint that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from core.recovery.kit.starting import STATE_FORMAT_CONF
from core.recovery.kit.words import first_line

CHANGELOG_CONF = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


@contextmanager
def session_settings(spark: Any, wanted: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session, for as long as they are needed."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def reader_settings(state_format: int) -> dict[str, str]:
    """What the state reader has to find in the session. It goes by the format there, a query by its commits.
    With changelogs switched on, Spark 4.0 to 4.2 opens the state of a join for writing: it begins the next
    changelog in the checkpoint, and deletes it at the end (4.0.5, 4.2.0; not 4.3.0). Switched off, it reads
    the same rows."""
    settings = {CHANGELOG_CONF: "false"}
    if state_format > 1:
        settings[STATE_FORMAT_CONF] = str(state_format)
    return settings


def root_cause(error: Exception) -> str:
    """The first line of what made Spark fail; its own first line only says that a job was aborted."""
    cause: Any = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return first_line(error if cause is None else cause.toString()).rstrip(".")
