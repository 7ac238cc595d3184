"""Who else has written to the Delta table of a sink: a refresh writes a new table from the sources of this
query alone, so what others wrote would not be in it. Scripts ask the table's history the same again
(``core/recovery/kit/others.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.connectors.answers import TableCommit
from core.connectors.delta.log import DeltaLog
from core.messages import say

_WHOLE = ("overwrite", "replace", "clone")
_ADDING = ("WRITE", "COPY INTO", "STREAMING UPDATE", "MERGE", "CREATE TABLE AS SELECT")


@dataclass(frozen=True, slots=True)
class OtherWriter:
    """What somebody else did to the table. ``who``: a query or an application by its ID, or an operation.
    ``is_added``: it took no row away."""

    who: str
    versions: tuple[int, ...]
    is_added: bool

    @property
    def words(self) -> str:
        """For a person."""
        return say("sink.other_writer", who=self.who, versions=list(self.versions), n=len(self.versions))


def other_writers(log: DeltaLog, query_id: str | None, sink: str | None) -> tuple[OtherWriter, ...]:
    """Who else, of the versions that the table still rests on and that were read. ``sink``: "delta", or a way
    of foreachBatch, whose own writes name nobody unless it has a transaction ID."""
    commits = sorted(log.commits().commits, key=lambda commit: commit.version)
    own = _own_id(commits, query_id, sink)
    now: list[tuple[str, TableCommit]] = []
    at: dict[int, list[tuple[str, TableCommit]]] = {}
    for commit in commits:
        if commit.restored_to is not None:
            now = list(at.get(commit.restored_to, now))
        elif commit.kind != "restore" and (commit.adds or commit.removes):
            if commit.kind in _WHOLE and commit.operation != "WRITE":
                now = []
            who = _writer(commit, own, sink)
            now = [*now, (who, commit)] if who else now
        at[commit.version] = now
    found: dict[str, list[TableCommit]] = {}
    for who, commit in now:
        found.setdefault(who, []).append(commit)
    return tuple(
        OtherWriter(who, tuple(each.version for each in several), all(map(_only_adds, several)))
        for who, several in found.items()
    )


def _own_id(commits: Iterable[TableCommit], query_id: str | None, sink: str | None) -> str | None:
    """Under which ID this query writes: the only one, where its own is not known or not there."""
    if sink == "delta":
        named = {commit.query_id for commit in commits if commit.query_id is not None}
    else:
        named = {app for commit in commits if commit.query_id is None for app, _ in commit.transactions}
    if query_id in named or (query_id is not None and sink == "delta"):
        return query_id
    return named.pop() if len(named) == 1 else None


def _writer(commit: TableCommit, own: str | None, sink: str | None) -> str:
    """Who else wrote a version; empty where this query did, or may have."""
    if commit.query_id is not None:
        is_own = sink == "delta" and commit.query_id == own
        return "" if is_own else say("sink.other_query", query=commit.query_id)
    applications = [app for app, _ in commit.transactions]
    if own in applications:
        return ""
    if applications and sink != "delta":
        return say("sink.other_application", applications=applications)
    return (commit.operation or say("sink.other_unknown")) if sink in ("delta", "foreach_txn") else ""


def _only_adds(commit: TableCommit) -> bool:
    return not commit.removes and commit.operation in _ADDING
