"""Two queries held against each other: each difference as a change that the judge answers.

A change of a name alone is none. What the two plans cannot show (Python code that reads files, tables that a
query joins with) is said as a remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.analysis.changes.asked import CHANGED, CHOICES, TRANSFORM, join_type_word, types_of
from core.analysis.changes.model import AskedChange, What, WrittenQuery
from core.analysis.changes.plan_nodes import Node
from core.analysis.changes.plan_reader import read_plan, read_sources
from core.analysis.changes.query_plan import PlanOperator, PlanSource, QueryPlan, Typed, Window
from core.analysis.forecast.versions import V43, Version
from core.checkpoint.sources.registry import kind_read_with
from core.messages import Sentence, say

PARTITIONS = "spark.sql.shuffle.partitions"
_STORES: Mapping[str, str] = {
    "spark.sql.streaming.stateStore.providerClass": "provider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "changelog",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "checkpoint_format",
    "spark.sql.streaming.aggregation.stateFormatVersion": "aggregation_format",
}
_SINKS: Mapping[str, str] = {
    **dict.fromkeys(("parquet", "json", "csv", "orc", "text", "xml", "avro"), "file"),
    "delta": "delta",
    "kafka": "kafka",
}
_TRIGGERS = {"availableNow": "available_now", "once": "available_now", "continuous": "continuous"}
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, as a change that can be asked about, with what it was and becomes in short."""

    asked: AskedChange
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class PlansCompared:
    """Two queries. ``refused``: what Spark would say against the new one at its start (condition, text),
    where
    it says nothing against the old one; ``remarks``: what is to be known beside the differences."""

    differences: tuple[Difference, ...]
    refused: tuple[str | None, str] | None
    remarks: tuple[Sentence, ...]
    sink: str | None


def compare_plans(
    old_told: Node, new_told: Node, spark: Version, written: WrittenQuery | None = None
) -> PlansCompared:
    """What differs between two lines of ``plan_worker``. ``spark`` is the version that will run the new
    query,
    ``written`` the query that wrote the checkpoint, which the old one should be."""
    was, becomes = read_sources(old_told), read_sources(new_told)
    old_tokens, new_tokens = _tokens(was, becomes)
    old, new = read_plan(old_told, old_tokens), read_plan(new_told, new_tokens)
    state = list(_state(old, new, spark))
    rows = _rows(old, new, is_state_same=not state)
    found = [*_sources(old, new, new_tokens), *state, *rows, *_around(old, new)]
    remarks = list(_fits(old, written) if written is not None else ())
    if old.writer.by != "start" or new.writer.by != "start":
        remarks.append(say("changes.files_no_writer"))
    remarks += _options(was, becomes)
    refused = new.refused if old.refused is None else None
    unique = {(each.asked.what, each.asked.value): each for each in reversed(found)}
    ordered = sorted(unique.values(), key=found.index)
    return PlansCompared(tuple(ordered), refused, tuple(remarks), _sink(old))


def _tokens(old: Sequence[PlanSource], new: Sequence[PlanSource]) -> tuple[list[str], list[str]]:
    """Names of the sources: the same for one that both queries have, wherever it stands."""
    left = dict(enumerate(old))
    made: dict[int, str] = {}
    ways = (
        lambda a, b: a.identity == b.identity,
        lambda a, b: (a.kind, a.place, a.servers) == (b.kind, b.place, b.servers),
    )
    for same in ways:
        for at, source in enumerate(new):
            if at in made:
                continue
            mates = [i for i in sorted(left, key=lambda i, at=at: abs(i - at)) if same(left[i], source)]  # type: ignore[misc]
            if mates:
                made[at] = f"s{mates[0]}"
                del left[mates[0]]
    for at in range(len(new)):
        if at not in made:
            made[at] = f"s{at}" if at in left else f"n{at}"
            left.pop(at, None)
    return [f"s{at}" for at in range(len(old))], [made[at] for at in range(len(new))]


def _made(what: What, value: str, old: object = "", new: object = "") -> Difference:
    return Difference(AskedChange(what, value), _short(old), _short(new))


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# ---------------------------------------------------------------- sources


def _sources(old: QueryPlan, new: QueryPlan, tokens: Sequence[str]) -> Iterator[Difference]:
    if len(old.sources) != len(new.sources):
        yield _made("sources", str(len(new.sources)), len(old.sources), len(new.sources))
        return
    places = [f"s{at}" for at in range(len(old.sources))]
    if list(tokens) != places and sorted(tokens) == places:
        yield _made("source_order", "changed", _places(old.sources), _places(new.sources))
        pairs = [(old.sources[int(token[1:])], new.sources[at], at) for at, token in enumerate(tokens)]
    else:
        pairs = [(a, b, at) for at, (a, b) in enumerate(zip(old.sources, new.sources, strict=True))]
    for was, becomes, at in pairs:
        yield from _source(was, becomes, str(at))


def _places(sources: Iterable[PlanSource]) -> list[str]:
    return [f"{each.kind} {each.place}".strip() for each in sources]


def _source(was: PlanSource, becomes: PlanSource, key: str) -> Iterator[Difference]:
    if was.kind != becomes.kind:
        yield _made("source_kind", f"{key}={becomes.kind}", was.kind, becomes.kind)
        return
    if was.place != becomes.place:
        is_by_topic = kind_read_with(was.kind).takes_topics
        what: What = "subscription" if is_by_topic else "source_path"
        yield _made(what, f"{key}={becomes.place}", was.place, becomes.place)
    if was.servers != becomes.servers:
        yield _made("source_path", f"{key}={becomes.servers}", was.servers, becomes.servers)
    if was.limits != becomes.limits:
        yield _made("rate_limit", "changed", dict(was.limits), dict(becomes.limits))
    if was.columns != becomes.columns:
        before, after = dict(was.columns), dict(becomes.columns)
        same = all(after.get(name, kind) == kind for name, kind in before.items())
        changed = [f"{name}: {kind}" for name, kind in becomes.columns if before.get(name) != kind]
        yield _made("reader_schema", "more_columns" if same else "other_types", "", changed)


def _options(old: Sequence[PlanSource], new: Sequence[PlanSource]) -> Iterator[Sentence]:
    """Options of sources whose effect on a checkpoint is not known here."""
    if len(old) != len(new) or sorted(map(_key, old)) == sorted(map(_key, new)):
        return
    for at, (was, becomes) in enumerate(zip(old, new, strict=True)):
        if was.kind == becomes.kind and was.options != becomes.options:
            names = sorted({name for name, _ in set(was.options.items()) ^ set(becomes.options.items())})
            yield say("changes.files_options", key=at, names=names)


def _key(source: PlanSource) -> str:
    return repr(source.identity)


# ---------------------------------------------------------------- state


def _state(old: QueryPlan, new: QueryPlan, spark: Version) -> Iterator[Difference]:
    was, becomes = [each.name for each in old.operators], [each.name for each in new.operators]
    if was != becomes:
        yield _made("operators", ",".join(becomes) or "none", was, becomes)
        return
    for before, after in zip(old.operators, new.operators, strict=True):
        if before.name.startswith("symmetricHashJoin"):
            yield from _join(before, after)
        else:
            yield from _keys(before, after, spark)
        yield from _aggregates(before, after, spark)
        if before.output_mode != after.output_mode:
            yield _mode(str(before.output_mode), str(after.output_mode))
        if before.time_mode != after.time_mode:  # it is in the code of the function, too
            yield _made("state_schema", "time_mode", before.time_mode, after.time_mode)
        elif before.state_type != after.state_type:
            yield _made("state_schema", "types", before.state_type, after.state_type)
        elif before.code != after.code:  # the variables of transformWithState are declared in its code
            yield _made("state_schema", "processor" if before.name.startswith(TRANSFORM) else "code")
    yield from _watermarks(old, new)


def _keys(before: PlanOperator, after: PlanOperator, spark: Version) -> Iterator[Difference]:
    what: What = "dedup_columns" if before.name.startswith("dedupe") else "keys"
    was, becomes = [each.text for each in before.keys], [each.text for each in after.keys]
    if not _fit(_compared(before.keys), _compared(after.keys), spark):
        yield _made(what, "other_types", was, becomes)
        return
    for one, other in zip(before.windows, after.windows, strict=False):
        if one.length != other.length:
            yield _made("window", "length", _seconds(one), _seconds(other))
        elif one.slide != other.slide:
            yield _made("window", "slide", _seconds(one), _seconds(other))
        elif one.rest != other.rest:
            yield _made(what, "same_types", one.rest, other.rest)
    if was != becomes:
        yield _made(what, "same_types", was, becomes)


def _seconds(window: Window) -> str:
    """``600 s every 300 s``."""
    if window.gap:
        return window.length
    length, slide = (int(each) / 1_000_000 for each in (window.length, window.slide))
    return f"{length:g} s" if length == slide else f"{length:g} s every {slide:g} s"


def _aggregates(before: PlanOperator, after: PlanOperator, spark: Version) -> Iterator[Difference]:
    was, becomes = before.aggregates, after.aggregates
    if [each.text for each in was] == [each.text for each in becomes]:
        return
    texts = [each.text for each in was], [each.text for each in becomes]
    functions = [each.function for each in was] == [each.function for each in becomes]
    what: What = "expressions" if functions else "aggregates"
    buffers = [[column for each in side for column in each.buffer] for side in (was, becomes)]
    fits = _fit(buffers[0], buffers[1], spark)
    yield _made(what, "same_types" if fits else "other_types", *texts)


def _compared(keys: Iterable[Typed]) -> list[tuple[str, bool]]:
    return [(each.type or "", each.nullable) for each in keys]


def _fit(was: Sequence[tuple[str, bool]], becomes: Sequence[tuple[str, bool]], spark: Version) -> bool:
    """Whether Spark takes the columns of the new state for those of the old: the same types in the same
    order,
    and, before 4.3, nothing that may be null where nothing could be. From 4.3 on all columns of the state may
    be null."""
    if [kind for kind, _ in was] != [kind for kind, _ in becomes]:
        return False
    return spark >= V43 or all(old or not new for (_, old), (_, new) in zip(was, becomes, strict=True))


def _join(before: PlanOperator, after: PlanOperator) -> Iterator[Difference]:
    was, becomes = [each.text for each in before.keys], [each.text for each in after.keys]
    if [each.type for each in before.keys] != [each.type for each in after.keys]:
        yield _made("keys", "other_types", was, becomes)
        return
    if was != becomes:
        yield _made("keys", "same_types", was, becomes)
    if _types(before) != _types(after):
        yield _made("projection", "before_state", _names(before), _names(after))
    elif before.carried != after.carried:
        yield _made("projection", "same_types", _names(before), _names(after))
    if before.join_type != after.join_type:
        value = join_type_word(str(after.join_type))
        is_carried = bool(before.carried and after.carried)
        if value == "left_semi" and is_carried:  # where it carries other columns, these were named above
            value = "left_semi_same_columns" if _types(before) == _types(after) else ""
        if value:
            word = value if value in CHOICES["join_type"] else CHANGED
            yield _made("join_type", word, before.join_type, after.join_type)
    if before.condition != after.condition:
        yield _made("join_interval", "changed", before.condition, after.condition)


def _types(operator: PlanOperator) -> list[str]:
    return [kind for _, kind in operator.carried]


def _names(operator: PlanOperator) -> list[str]:
    return [name for name, _ in operator.carried]


def _watermarks(old: QueryPlan, new: QueryPlan) -> Iterator[Difference]:
    was, becomes = old.watermarks, new.watermarks
    if len(becomes) > len(was):
        yield _made("watermark", "added", was, becomes)
    elif len(becomes) < len(was):
        yield _made("watermark", "removed", was, becomes)
    else:
        for (column, delay), (other, changed) in zip(was, becomes, strict=True):
            if column != other:
                yield _made("watermark", "column", column, other)
            if delay != changed:
                yield _made("watermark", "delay", f"{delay} ms", f"{changed} ms")


# ---------------------------------------------------------------- rows


def _rows(old: QueryPlan, new: QueryPlan, *, is_state_same: bool) -> Iterator[Difference]:
    below, above = ("before_state", "after_state") if old.operators else ("changed", "changed")
    if [each.name for each in old.operators] != [each.name for each in new.operators]:
        return
    if old.filters_before != new.filters_before:
        yield _made("filter", below, *_apart(old.filters_before, new.filters_before))
    if old.filters_after != new.filters_after:
        yield _made("filter", above, *_apart(old.filters_after, new.filters_after))
    if old.others_before != new.others_before:
        yield _made("filter", below, *_apart(old.others_before, new.others_before))
    is_union = len(old.sources) != len(new.sources)
    if old.others_after != new.others_after and not is_union:
        yield _made("projection", above, *_apart(old.others_after, new.others_after))
    was = [(name, text) for name, _, text in old.columns]
    becomes = [(name, text) for name, _, text in new.columns]
    if was != becomes and not is_union:
        names = [name for name, _ in was], [name for name, _ in becomes]
        if names[0] != names[1]:
            yield _made("projection", above, *names)
        elif is_state_same:
            yield _made(
                "projection", above, *_apart([text for _, text in was], [text for _, text in becomes])
            )
    types = [kind for _, kind, _ in old.columns], [kind for _, kind, _ in new.columns]
    if types[0] != types[1] and len(types[0]) == len(types[1]):
        yield _made("output_types", "changed", *types)


def _apart(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    return [each for each in old if each not in new], [each for each in new if each not in old]


# ---------------------------------------------------------------- around


def _around(old: QueryPlan, new: QueryPlan) -> Iterator[Difference]:
    if old.conf.get(PARTITIONS) != new.conf.get(PARTITIONS):
        yield _made(
            "partitions", str(new.conf.get(PARTITIONS)), old.conf.get(PARTITIONS), new.conf.get(PARTITIONS)
        )
    for name, value in _STORES.items():
        was, becomes = old.conf.get(name), new.conf.get(name)
        if was != becomes:
            is_rocksdb = value == "provider" and "rocksdb" in str(becomes).lower()
            word = ("rocksdb" if is_rocksdb else "hdfs") if value == "provider" else value
            yield _made("provider", word, was, becomes)
    a, b = old.writer, new.writer
    if a.code is not None and b.code is not None and a.code != b.code:
        yield _made("foreach_code", "changed")
    if a.by != "start" or b.by != "start":
        return
    mode = (a.output_mode or "append"), (b.output_mode or "append")
    if mode[0] != mode[1]:
        yield _mode(*mode)
    if a.query_name != b.query_name:
        yield _made("query_name", "changed", a.query_name, b.query_name)
    if a.trigger != b.trigger:
        yield _made("trigger", _trigger(b.trigger), a.trigger, b.trigger)
    kinds = _sink(old), _sink(new)
    if kinds[0] != kinds[1]:
        yield _made("sink_kind", str(kinds[1]), *kinds)
        return
    if a.path != b.path or a.servers != b.servers:
        yield _made("sink_path", "changed", a.path or a.servers, b.path or b.servers)
    if a.topic != b.topic:
        yield _made("sink_topic", "changed", a.topic, b.topic)


def _mode(was: str, becomes: str) -> Difference:
    """What update mode leaves out depends on what was handed out before."""
    return _made("output_mode", f"update_after_{was}" if becomes == "update" else becomes, was, becomes)


def _trigger(given: Sequence[str]) -> str:
    name = given[0].partition("=")[0] if given else ""
    return _TRIGGERS.get(name, "processing_time")


def _sink(plan: QueryPlan) -> str | None:
    """The kind of sink in the words of ``--set sink=...``; None where the file does not start its query."""
    writer = plan.writer
    if writer.code is not None:
        return "foreach"
    if writer.by != "start":
        return None
    return _SINKS.get(writer.format or "parquet", "other")


def _fits(old: QueryPlan, written: WrittenQuery) -> Iterator[Sentence]:
    """Whether the old query can be the one that wrote the checkpoint."""
    if written.sources and len(written.sources) != len(old.sources):
        yield say("changes.files_not_sources", there=len(written.sources), here=len(old.sources))
    names = [each.name for each in written.operators]
    if None not in names and names != [each.name for each in old.operators]:
        there = names or [say("changes.files_none")]
        yield say(
            "changes.files_not_operators", there=there, here=[each.name for each in old.operators] or there
        )
        return
    for one, other in zip(written.operators, old.operators, strict=False):
        kinds = [each.type for each in other.keys]
        known = one.has_schema and one.keys and None not in kinds and kinds
        if known and types_of(one.keys) != [str(each).lower() for each in kinds]:
            yield say("changes.files_not_keys", id=one.id, there=types_of(one.keys), here=kinds)
