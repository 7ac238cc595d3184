"""Changes of the sources: their number, kind, order and place, and what Kafka subscribes to.

The checkpoint knows sources by their position in the plan; only named sources (4.3) by their names.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from core.analysis.changes.context import ChangeContext
from core.analysis.changes.model import AskedChange, Judged, WrittenSource
from core.analysis.forecast import Query
from core.checkpoint.state_names import plain_number
from core.messages import say

_KEYED = re.compile(r"(?P<key>[A-Za-z0-9_]+)=(?P<value>.*)", re.DOTALL)


def number(c: ChangeContext, asked: AskedChange) -> Judged:
    """How many sources the query has: the forecast answers."""
    now = len(c.query.sources)
    wanted = plain_number(asked.value)
    if wanted is None:
        wanted = max(1, now - 1) if asked.value == "removed" else now + 1
    if wanted == now:
        return c.judged(asked, "same_value")
    if not c.has_run or not now:
        return c.judged(asked, "nothing_ran")
    answer = c.forecast(Query(sources=wanted, new_data="yes"))
    remark = say("changes.named_added" if wanted > now else "changes.named_removed")
    return c.from_forecast(asked, answer, remark, recipe="reset", action="reset")


def kind(c: ChangeContext, asked: AskedChange) -> Judged:
    """A source of another kind in the place of one."""
    source, value = _source(c, asked)
    if source is None:
        return c.judged(asked, "nothing_ran")
    if value == source.kind:
        return c.judged(asked, "same_value")
    rule = "source_kind_named" if source.is_named else "source_kind"
    return c.judged(asked, rule, key=source.key, kind=source.label)


def order(c: ChangeContext, asked: AskedChange) -> Judged:
    """Two sources change places in the plan."""
    sources = c.query.sources
    if len(sources) < 2:
        return c.judged(asked, "order_one")
    if c.query.is_named:
        return c.judged(asked, "order_named")
    labels = [f"{source.key}: {source.label}" for source in sources]
    kinds = {source.kind for source in sources}
    if len(kinds) > 1:
        return c.judged(asked, "order_kinds", sources=labels)
    own_log = any(each.kind.has_own_log for each in c.ck.sources)
    places = {source.place for source in sources}
    if own_log:
        return c.judged(asked, "order_files", sources=labels)
    if sources[0].topics and len(places) > 1:
        return c.judged(asked, "order_topics", sources=labels)
    if any(each.kind.asks == "table" for each in c.ck.sources) and len(places) > 1:
        return c.judged(asked, "order_tables", sources=labels)
    return c.judged(asked, "order_like", sources=labels)


def path(c: ChangeContext, asked: AskedChange) -> Judged:
    """A source reads another directory, table or cluster."""
    source, value = _source(c, asked)
    if source is None:
        return c.judged(asked, "nothing_ran")
    asks = next(each.kind.asks for each in c.ck.sources if each.key == source.key)
    if asks == "directory":
        holds = value == "glob" or (bool(source.place) and all(_contains(value, at) for at in source.place))
        is_named = value not in ("", "other", "changed", "glob")
        rule = "path_contains" if holds else "path_moved"
        return c.judged(
            asked,
            rule,
            key=source.key,
            places=source.place,
            new=value if is_named else say("changes.another"),
        )
    rule = {"table": "path_table", "broker": "path_cluster"}.get(asks or "", "path_other")
    return c.judged(asked, rule, key=source.key, kind=source.label)


def subscription(c: ChangeContext, asked: AskedChange) -> Judged:
    """The topics that a Kafka source reads: the forecast answers."""
    readers = [source for source in c.query.sources if source.topics]
    if not readers:
        return c.judged(asked, "no_such_source")
    source, value = _source(c, asked)
    if source is None or not source.topics:
        source = readers[0]
    topics = tuple(sorted({name.strip() for name in value.split(",") if name.strip()}))
    if not topics or value == "changed":
        return c.judged(asked, "topics_needed", topics=source.topics, key=source.key)
    if topics == source.topics:
        return c.judged(asked, "same_value")
    answer = c.forecast(Query(topics={source.key: topics}, new_data="yes"))
    added = [name for name in topics if name not in source.topics]
    remark = say("changes.topics_added", topics=added) if added else None
    return c.from_forecast(asked, answer, remark, recipe="reset", action="reset")


def _source(c: ChangeContext, asked: AskedChange) -> tuple[WrittenSource | None, str]:
    """The source that is meant (``1=kafka``, or the first one) and the value without its key."""
    sources = c.query.sources
    match = _KEYED.fullmatch(asked.value)
    if match is not None:
        named = next((source for source in sources if source.key == match["key"]), None)
        if named is not None:
            return named, match["value"].strip()
    return (sources[0] if sources else None), asked.value


def _contains(pattern: str, directory: str) -> bool:
    """Whether a path or glob of a reader covers the files of a directory: its parts fit the first ones."""
    wanted, there = _parts(pattern), _parts(directory)
    return (
        bool(wanted)
        and len(wanted) <= len(there)
        and _scheme(pattern) in ("", _scheme(directory))
        and all(fnmatchcase(part, each) for each, part in zip(wanted, there, strict=False))
        and (len(wanted) == len(there) or any(sign in wanted[-1] for sign in "*?["))
    )


def _parts(text: str) -> list[str]:
    split = urlsplit(text)
    where = (split.netloc + split.path) if split.scheme else text
    return [unquote(part) for part in where.split("/") if part]


def _scheme(text: str) -> str:
    return urlsplit(text).scheme
