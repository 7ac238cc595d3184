"""Who else has written to a Delta table. A refresh writes a new table from the sources of this query alone,
so what others wrote would not be in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from core.recovery.kit.query import OWN_WRITE, QueryRun
from core.recovery.kit.sink import KEEP_ROWS
from core.recovery.kit.words import first_line

WRITES = {
    "WRITE",
    "MERGE",
    "UPDATE",
    "DELETE",
    "STREAMING UPDATE",
    "COPY INTO",
    "TRUNCATE",
    "CLONE",
    "CONVERT",
}
CHANGED_ROWS = {
    "MERGE": ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"),
    "UPDATE": ("numUpdatedRows",),
    "DELETE": ("numDeletedRows",),
}
"""The metrics of an operation that say how many rows it changed; of any other numOutputRows."""


class Written(NamedTuple):
    """What one version of the table changed. ``rows`` None: not known. ``is_added``: it took no row away and
    changed none."""

    who: str
    version: int
    rows: int | None
    is_added: bool


class Others:
    """``written``: what others did that the table still has. ``unknown``: versions of which nobody can tell
    who wrote them. ``since``: the history begins there."""

    def __init__(self, run: QueryRun, checkpoint: str) -> None:
        self.run, self.checkpoint = run, checkpoint
        self.written: list[Written] = []
        self.unknown: list[int] = []
        self.since = 0
        self.why_not = ""
        if is_table(run):
            try:
                self._look([row.asDict() for row in history(run).collect()])
            except Exception as error:
                if run.sink == "delta":
                    raise
                self.why_not = first_line(error)  # Delta may not be set up for a sink of write_batch

    @property
    def changed(self) -> list[Written]:
        """Those that did not only add rows."""
        return [each for each in self.written if not each.is_added]

    @property
    def not_known(self) -> list[str]:
        """What of the history is not known, in words."""
        place, found = self.run.sink_path, []
        if self.why_not:
            found.append(f"who else wrote to {place}: {self.why_not}")
        if self.since:
            text = f"who wrote to {place} before version {self.since}: the history begins there"
            found.append(text)
        if self.unknown:
            text = f"whether this query wrote {versions(self.unknown)} of {place}: no batch ran at that time"
            found.append(text)
        return found

    def _look(self, commits: Sequence[Mapping[str, Any]]) -> None:
        run = self.run
        self.since = commits[0]["version"] if commits else 0
        applications = {} if run.sink == "delta" else self._applications(commits)
        own = self._own_id(commits, applications)
        times = None if run.sink in ("delta", "foreach_txn") else self._times()
        now: list[Written] = []
        at: dict[int, list[Written]] = {}
        for commit in commits:
            version, operation = commit["version"], commit["operation"]
            details, rows = commit["operationParameters"] or {}, changed_rows(commit)
            if operation == "RESTORE" and details.get("version") is not None:
                now = list(at.get(int(details["version"]), now))
            if is_whole(operation, details):
                now = []
            if operation not in KEEP_ROWS and (rows or (rows is None and is_write(operation))):
                who = self._writer(commit, applications.get(version, []), own)
                if who:
                    now = [*now, Written(who, version, rows, only_adds(commit))]
                elif times is not None and version not in applications and not in_a_batch(commit, times):
                    self.unknown.append(version)
            at[version] = now
        self.written = now

    def _applications(self, commits: Iterable[Mapping[str, Any]]) -> dict[int, list[str]]:
        """The transaction IDs of each version that has some, from its own file."""
        found = {}
        for commit in commits:
            if commit["operation"] in KEEP_ROWS or commit["operation"] == "STREAMING UPDATE":
                continue
            text = self.run.files.read(f"{self.run.sink_path}/_delta_log/{commit['version']:020d}.json")
            actions = [json.loads(line) for line in text.splitlines() if '"txn"' in line]
            named = [action["txn"]["appId"] for action in actions if "txn" in action]
            if named:
                found[commit["version"]] = named
        return found

    def _own_id(
        self, commits: Iterable[Mapping[str, Any]], applications: Mapping[int, list[str]]
    ) -> str | None:
        """Under which ID this query writes: the only one, where its own is not known or not there."""
        if self.run.sink == "delta":
            details = [commit["operationParameters"] or {} for commit in commits]
            named = {each["queryId"] for each in details if each.get("queryId")}
        else:
            named = {name for names in applications.values() for name in names}
        own = self.run.query_id
        if own in named or (own is not None and self.run.sink == "delta"):
            return own
        return named.pop() if len(named) == 1 else None

    def _writer(self, commit: Mapping[str, Any], applications: list[str], own: str | None) -> str:
        """Who else wrote a version; empty where this query did, or may have."""
        operation, details = commit["operation"], commit["operationParameters"] or {}
        if operation == "STREAMING UPDATE":
            query = details.get("queryId")
            return "" if self.run.sink == "delta" and query == own else f"query {query}"
        if applications:
            return "" if own in applications else f"application {', '.join(applications)}"
        if self.run.sink not in ("delta", "foreach_txn"):
            return ""
        return f"{operation} by {commit['userName']}" if commit["userName"] else str(operation)

    def _times(self) -> list[tuple[int, int]]:
        """From when to when each batch that the checkpoint still has ran."""
        if not self.checkpoint:
            return []
        files = self.run.files
        slack_ms = files.clock_slack_ms(self.run.sink_path, self.checkpoint)
        planned = files.times(f"{self.checkpoint}/offsets")
        committed = files.times(f"{self.checkpoint}/commits")
        never = max([*planned.values(), *committed.values()], default=0) + 10**12
        return [
            (began - slack_ms, committed.get(name, never) + slack_ms)
            for name, began in planned.items()
            if name.isdigit()
        ]


def is_table(run: QueryRun) -> bool:
    """Whether the output is a Delta table, whose history can be asked."""
    if not run.sink_path or run.sink not in ("delta", *OWN_WRITE):
        return False
    return bool(run.files.exists(f"{run.sink_path}/_delta_log"))


def history(run: QueryRun) -> Any:
    """The history of the table, oldest version first."""
    place = run.sink_path.replace("`", "``")
    return (
        run.spark.sql(f"DESCRIBE HISTORY delta.`{place}`")
        .selectExpr(
            "version",
            "operation",
            "operationParameters",
            "operationMetrics",
            "userName",
            "unix_millis(timestamp) as time_ms",
        )
        .orderBy("version")
    )


def changed_rows(commit: Mapping[str, Any]) -> int | None:
    """How many rows a version changed; None where it does not say."""
    metrics = commit["operationMetrics"] or {}
    names = CHANGED_ROWS.get(commit["operation"], ("numOutputRows",))
    counts = [int(metrics[name]) for name in names if str(metrics.get(name)).isdigit()]
    return sum(counts) if counts else None


def is_write(operation: str) -> bool:
    """Whether an operation changes rows."""
    return operation in WRITES or operation.endswith("AS SELECT")


def is_whole(operation: str, details: Mapping[str, Any]) -> bool:
    """Whether it replaced the whole table, with what others had written."""
    if operation in ("TRUNCATE", "CLONE") or "REPLACE TABLE" in operation:
        return True
    is_all = details.get("predicate") in (None, "", "[]")
    return is_all and (details.get("mode") == "Overwrite" or operation == "DELETE")


def only_adds(commit: Mapping[str, Any]) -> bool:
    """Whether it took no row away and changed none."""
    operation, details = commit["operation"], commit["operationParameters"] or {}
    metrics = commit["operationMetrics"] or {}
    if operation == "MERGE":
        return all(metrics.get(name) == "0" for name in CHANGED_ROWS["MERGE"][1:])
    if operation == "STREAMING UPDATE":
        return bool(details.get("outputMode") != "Complete")
    is_added = operation == "WRITE" and details.get("mode") == "Append"
    return is_added or operation in ("COPY INTO", "CREATE TABLE AS SELECT")


def in_a_batch(commit: Mapping[str, Any], times: Iterable[tuple[int, int]]) -> bool:
    """Whether a version was written while a batch ran."""
    return any(began <= commit["time_ms"] <= ended for began, ended in times)


def versions(numbers: list[int]) -> str:
    """Versions in words; the first of many."""
    shown = ", ".join(str(number) for number in numbers[:10])
    more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
    return f"{'version' if len(numbers) == 1 else 'versions'} {shown}{more}"


def in_words(written: Iterable[Written]) -> str:
    """Who wrote how many rows in which versions."""
    by_writer: dict[str, list[Written]] = {}
    for each in written:
        by_writer.setdefault(each.who, []).append(each)
    found = []
    for who, several in by_writer.items():
        counts = [each.rows for each in several]
        rows = "" if None in counts else f"{sum(count or 0 for count in counts)} rows in "
        found.append(f"{who} ({rows}{versions([each.version for each in several])})")
    return ", ".join(found)
