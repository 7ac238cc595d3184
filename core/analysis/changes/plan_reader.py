"""Reads a query from Spark's analysed plan.

Every column is followed back to the columns of the sources, so that names, aliases and intermediate selects
do not matter: ``sum(2 * v)`` is the same text in whatever way a query arrives at it. What Spark's JSON of a
plan lacks is beside its nodes (``core.spark.plan_worker``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.analysis.changes.plan_nodes import (
    Node,
    children_of,
    conjuncts_of,
    id_of,
    ids_of,
    is_place,
    kind_of,
    number_of,
    object_of,
    subtrees_of_kind,
)
from core.analysis.changes.query_plan import (
    Aggregated,
    PlanOperator,
    PlanSource,
    PlanWriter,
    QueryPlan,
    Typed,
    Window,
)
from core.analysis.changes.written_query import type_text

Env = dict[str, str]

STATEFUL: Mapping[str, str] = {
    "Aggregate": "stateStoreSave",
    "Distinct": "stateStoreSave",
    "Deduplicate": "dedupe",
    "DeduplicateWithinWatermark": "dedupeWithinWatermark",
    "Join": "symmetricHashJoin",
    "GlobalLimit": "globalLimit",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithState": "transformWithStateExec",
    "TransformWithStateInPandas": "transformWithStateInPandasExec",
    "TransformWithStateInPySpark": "transformWithStateInPySparkExec",
}
"""Nodes of a plan over streams that keep state, with the names of their operators in a checkpoint."""
RELATIONS = ("StreamingRelation", "StreamingRelationV2")
_OWN_CODE = ("FlatMapGroups", "TransformWithState")
# Parts of a node that differ between two runs, or say how a value is shown and not what it is.
_NOT_COMPARED = frozenset(
    [
        "class",
        "num-children",
        "exprId",
        "resultId",
        "qualifier",
        "metadata",
        "explicitMetadata",
        "nonInheritableMetadataKeys",
        "timeZoneId",
        "evalContext",
        "evalMode",
        "nodeId",
        "jvmId",
        "product-class",
        "origin",
        "planId",
    ]
)
_PLAIN = frozenset(
    ("Project", "SubqueryAlias", "View", "Filter", "EventTimeWatermark", "Union", "Expand", "Join")
)
_LITERAL = re.compile(r"(?:^|[ (])(-?\d+)(?=[,)])")
_COLUMN = re.compile(r"\b[sn]\d+\.[^,()| ]+")
_RATES = frozenset(
    [
        "maxfilespertrigger",
        "maxbytespertrigger",
        "maxoffsetspertrigger",
        "minoffsetspertrigger",
        "maxtriggerdelay",
        "maxrecordsperfetch",
    ]
)


def read_sources(told: Node) -> tuple[PlanSource, ...]:
    """The sources of a query in the order of its plan."""
    return tuple(_source(node) for node in told["nodes"] if kind_of(node["json"]) in RELATIONS)


def read_plan(told: Node, tokens: Sequence[str]) -> QueryPlan:
    """The query of one line of ``plan_worker``. ``tokens``: a name for each source, the same in both queries
    for sources that are taken for the same."""
    reader = _Reader(told, tokens)
    top = reader.read()
    writer, refused = told["writer"], told["refused"]
    fields = told["schema"].get("fields") or []
    output = [reader.env_of(each) for each in top]
    columns = tuple(
        (str(each["name"]), type_text(each["type"]), text)
        for each, text in zip(fields, [*output, *[""] * len(fields)], strict=False)
    )
    return QueryPlan(
        sources=read_sources(told),
        operators=tuple(reader.operators),
        watermarks=tuple(reader.watermarks),
        filters_before=tuple(sorted(reader.filters[True])),
        filters_after=tuple(sorted(reader.filters[False])),
        others_before=tuple(sorted(reader.others[True])),
        others_after=tuple(sorted(reader.others[False])),
        columns=columns,
        conf=told["conf"],
        writer=PlanWriter(
            by=writer["by"],
            format=(writer["format"] or "").lower() or None,
            output_mode=(writer["output_mode"] or "").lower() or None,
            query_name=writer["query_name"],
            trigger=tuple(writer["trigger"] or ()),
            path=writer["table"] or writer["path"],
            topic=writer["topic"],
            servers=writer["servers"],
            partition_by=tuple(writer["partition_by"]),
            code=writer["code"],
        ),
        refused=None if refused is None else (refused["condition"], str(refused["text"])),
    )


def _source(node: Node) -> PlanSource:
    source, told = node["source"], node["json"]
    options = {str(key).lower(): str(value) for key, value in source["options"].items()}
    kind = str(source["kind"]).rpartition(".")[2].lower()
    place = next((options.pop(name) for name in ("path", "subscribe", "assign") if name in options), "")
    place = place or (f"pattern {options.pop('subscribepattern')}" if "subscribepattern" in options else "")
    servers = options.pop("kafka.bootstrap.servers", "")
    limits = {key: options.pop(key) for key in sorted(_RATES & set(options))}
    columns = tuple(
        (str(each[0]["name"]), type_text(each[0]["dataType"])) for each in told.get("output") or ()
    )
    return PlanSource(kind, place, servers, limits, options, columns)


@dataclass
class _Reader:
    """Goes through the nodes, which stand in preorder."""

    told: Node
    tokens: Sequence[str]
    operators: list[PlanOperator] = field(default_factory=list)
    watermarks: list[tuple[str, int]] = field(default_factory=list)
    filters: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []})
    others: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []})
    _at: int = 0
    _source_at: int = 0
    _joins: int = 0
    _env: Env = field(default_factory=dict)

    def read(self) -> list[str]:
        """The expression ids of the output of the whole plan."""
        self._env, output = self._node(is_below=False)
        return output

    def env_of(self, number: str) -> str:
        return self._env.get(number, "")

    def _node(self, *, is_below: bool) -> tuple[Env, list[str]]:
        node = self.told["nodes"][self._at]
        self._at += 1
        told, kind = node["json"], kind_of(node["json"])
        is_stateful = self._is_stateful(node, kind)
        place = len(self.operators)
        if is_stateful:  # its place is before those below it
            self.operators.append(PlanOperator(_name_of(node, kind)))
        below = is_below or is_stateful
        children = [self._node(is_below=below) for _ in range(int(told["num-children"]))]
        env: Env = {}
        for inside, _ in children:
            env.update(inside)
        output = [number for _, each in children for number in each]
        if kind in RELATIONS:
            token = self.tokens[self._source_at]
            self._source_at += 1
            output = []
            for each in told["output"]:
                output.append(id_of(each[0]))
                env[output[-1]] = f"{token}.{each[0]['name']}"
            return env, output
        if is_stateful:
            self.operators[place] = self._operator(node, kind, env, children)
        self._remember(node, kind, env, is_below)
        return env, self._output(node, kind, env, output, children)

    def _is_stateful(self, node: Node, kind: str) -> bool:
        if kind not in STATEFUL or not node["streaming"]:
            return False
        if kind != "Join":
            return True
        depth, at, streams = int(node["json"]["num-children"]), self._at, 0
        for _ in range(depth):
            streams += bool(self.told["nodes"][at]["streaming"])
            at = self._after(at)
        return streams == 2

    def _after(self, at: int) -> int:
        """The node after this one and all below it."""
        left = 1
        while left:
            left += int(self.told["nodes"][at]["json"]["num-children"]) - 1
            at += 1
        return at

    def _output(
        self, node: Node, kind: str, env: Env, output: list[str], children: list[tuple[Env, list[str]]]
    ) -> list[str]:
        told = node["json"]
        if kind == "Project":
            return self._named(told["projectList"], env)
        if kind == "Aggregate":
            return self._named(told["aggregateExpressions"], env)
        if kind == "Union" and children:
            first = children[0][1]
            for at, number in enumerate(first):
                parts = sorted({each[0].get(each[1][at], "") for each in children if at < len(each[1])})
                env[number] = parts[0] if len(parts) == 1 else f"union({' | '.join(parts)})"
            return first
        if kind == "Expand":
            made = [id_of(each[0]) for each in told["output"]]
            for at, number in enumerate(made):
                ways = {self._text(way[at], env) for way in told["projections"]}
                env.setdefault(number, " | ".join(sorted(ways)))
            return made
        return self._made(told, kind, env, output)

    def _made(self, told: Node, kind: str, env: Env, output: list[str]) -> list[str]:
        """The output of any other node: what its child has, and new columns by what the node is."""
        names = ("outputAttrs", "output", "generatorOutput", "windowExpressions", "outputObjAttr")
        fresh = [each for name in names if isinstance(told.get(name), list) for each in told[name]]
        numbers = []
        own = self._own(told, env) if fresh else ""
        for at, each in enumerate(fresh):
            nodes = each if isinstance(each, list) else [each]
            if not nodes or not isinstance(nodes[0], dict):
                continue
            number = id_of(nodes[0])
            text = self._text(nodes, env) if kind_of(nodes[0]) == "Alias" else f"{kind}({own})#{at}"
            if number and number not in env:
                env[number] = text
            numbers.append(number)
        if not numbers:
            return output
        is_added = "generatorOutput" in told or "windowExpressions" in told
        return [*output, *numbers] if is_added else numbers

    def _named(self, expressions: Sequence[Any], env: Env) -> list[str]:
        texts = [(id_of(each[0]), self._text(each, env)) for each in expressions]
        for number, text in texts:
            env[number] = text
        return [number for number, _ in texts]

    def _remember(self, node: Node, kind: str, env: Env, is_below: bool) -> None:
        told = node["json"]
        if kind == "EventTimeWatermark":
            column = self._text(told["eventTime"], env)
            self.watermarks.append((column, int(node["delay_ms"])))
        elif kind == "Filter":
            parts = self._conjuncts(told["condition"], env)
            self.filters[is_below] += [each for each in parts if not _is_of_a_window(each)]
        elif kind == "Union":
            self.others[is_below].append(f"Union of {told['num-children']}")
        elif kind not in _PLAIN and not (kind in STATEFUL and node["streaming"]):
            self.others[is_below].append(f"{kind}({self._own(told, env)})")
        elif kind == "Join" and not self._both(node):
            condition = told.get("condition")
            text = " and ".join(sorted(self._conjuncts(condition, env))) if condition else ""
            self.others[is_below].append(f"Join({object_of(told.get('joinType'))}, {text})")

    def _both(self, node: Node) -> bool:
        at = self.told["nodes"].index(node)
        left = at + 1
        right = self._after(left)
        return all(self.told["nodes"][each]["streaming"] for each in (left, right))

    def _operator(
        self, node: Node, kind: str, env: Env, children: list[tuple[Env, list[str]]]
    ) -> PlanOperator:
        told = node["json"]
        if kind == "Aggregate":
            return self._aggregation(node, env)
        if kind in ("Deduplicate", "DeduplicateWithinWatermark"):
            keys = tuple(self._typed(each, env) for each in told["keys"])
            return PlanOperator(STATEFUL[kind], keys)
        if kind == "Join":
            return self._join(node, env, children)
        if kind.startswith(_OWN_CODE):
            grouping = told.get("groupingAttributes") or []
            given = node.get("arguments") or {}
            return PlanOperator(
                _name_of(node, kind),
                tuple(self._typed(each, env) for each in grouping),
                state_type=type_text(told["stateType"]) if told.get("stateType") else None,
                code=self._own({name: each for name, each in told.items() if name not in given}, env),
                output_mode=str(given.get("outputMode") or "").lower() or None,
                time_mode=given.get("timeMode") or None,
            )
        return PlanOperator(STATEFUL[kind], code=self._own(told, env))

    def _aggregation(self, node: Node, env: Env) -> PlanOperator:
        told = node["json"]
        keys = []
        windows = []
        for each, kind in zip(told["groupingExpressions"], node["keys"], strict=True):
            text = self._text(each, env)
            window = _window(text)
            if window is not None:
                windows.append(window)
            keys.append(
                Typed(text if window is None else "window", type_text(kind["type"]), kind["nullable"])
            )
        seen: dict[str, Aggregated] = {}
        buffers = iter(node["buffers"])
        for tree in told["aggregateExpressions"]:
            for function in subtrees_of_kind(tree, "AggregateExpression"):
                text = self._text(function, env)
                buffer = tuple((type_text(each["type"]), bool(each["nullable"])) for each in next(buffers))
                seen.setdefault(text, Aggregated(kind_of(function[1]), text, buffer))
        name = "sessionWindowStateStoreSaveExec" if any(each.gap for each in windows) else "stateStoreSave"
        return PlanOperator(name, tuple(keys), tuple(windows), tuple(seen.values()))

    def _join(self, node: Node, env: Env, children: list[tuple[Env, list[str]]]) -> PlanOperator:
        told = node["json"]
        sides = [set(each) for _, each in children]
        keys, rest = [], []
        for part in conjuncts_of(told.get("condition") or []):
            pair = children_of(part) if kind_of(part[0]) in ("EqualTo", "EqualNullSafe") else []
            used = [ids_of(each) for each in pair]
            if len(pair) == 2 and all(used) and used[0] <= sides[0] and used[1] <= sides[1]:
                keys.append(pair)
            elif len(pair) == 2 and all(used) and used[0] <= sides[1] and used[1] <= sides[0]:
                keys.append(pair[::-1])
            else:
                rest.append(self._text(part, env))
        both = [
            Typed(f"{left.text} = {self._text(pair[1], env)}", left.type, True)
            for pair in keys
            for left in [self._typed(pair[0], env)]
        ]
        carried: list[tuple[str, str]] = []
        if self._joins < len(self.told["carried"]):
            one = self.told["carried"][self._joins]
            carried = [
                (f"{side}.{each['name']}", type_text(each["type"]))
                for side in ("left", "right")
                for each in one[side]
            ]
        self._joins += 1
        return PlanOperator(
            "symmetricHashJoin",
            tuple(both),
            join_type=object_of(told.get("joinType")),
            condition=tuple(sorted(rest)),
            carried=tuple(carried),
        )

    # texts

    def _typed(self, nodes: Any, env: Env) -> Typed:
        flat = nodes if isinstance(nodes, list) else [nodes]
        known = flat[0].get("dataType")
        kind = type_text(known) if known is not None else None
        return Typed(self._text(flat, env), kind, bool(flat[0].get("nullable", True)))

    def _conjuncts(self, condition: Sequence[Node], env: Env) -> list[str]:
        return [self._text(part, env) for part in conjuncts_of(condition)]

    def _own(self, told: Node, env: Env) -> str:
        """What a node says of itself, without its children."""
        return ", ".join(
            f"{name}={self._value(value, env)}"
            for name, value in sorted(told.items())
            if name not in _NOT_COMPARED and name not in ("child", "left", "right", "children", "outputAttrs")
        )

    def _value(self, value: Any, env: Env) -> str:
        if isinstance(value, list) and value and isinstance(value[0], dict) and "class" in value[0]:
            return self._text(value, env)
        if isinstance(value, list):
            return f"[{', '.join(self._value(each, env) for each in value)}]"
        if isinstance(value, dict):
            return object_of(value) or type_text(value)
        return str(value)

    def _text(self, nodes: Sequence[Node], env: Env) -> str:
        text, _ = self._expression(nodes, 0, env)
        return text

    def _expression(self, nodes: Sequence[Node], at: int, env: Env) -> tuple[str, int]:
        """The text of the expression that begins at one of these nodes, and where the next one begins."""
        told, kind = nodes[at], kind_of(nodes[at])
        at += 1
        parts = []
        for _ in range(int(told.get("num-children", 0))):
            part, at = self._expression(nodes, at, env)
            parts.append(part)
        if kind == "AttributeReference":
            return env.get(id_of(told), f"?{told.get('name')}"), at
        if kind == "Literal":
            value = told.get("value")
            return (repr(value) if told.get("dataType") == "string" else str(value)), at
        if kind in ("Alias", "KnownNullable", "KnownNotNull", "AggregateExpression"):
            special = f" {told.get('isDistinct')}" if told.get("isDistinct") else ""
            return (f"{parts[0]}{special}" if parts else kind), at
        own = [
            f"{name}={self._value(value, env)}"
            for name, value in sorted(told.items())
            if name not in _NOT_COMPARED and not is_place(value) and not (name == "name" and kind == "Alias")
        ]
        if "resultId" in told:
            own.append(self.told["functions"].get(number_of(told["resultId"]), ""))
        return f"{kind}({', '.join([*own, *parts])})", at


def _name_of(node: Node, kind: str) -> str:
    """The name of an operator in a checkpoint. Since 4.1 one node stands for both forms of
    transformWithState in Python."""
    given = node.get("arguments") or {}
    is_pandas = "pandas" in str(given.get("userFacingDataType")).lower()
    return STATEFUL["TransformWithStateInPandas" if is_pandas else kind]


def _is_of_a_window(text: str) -> bool:
    """Filters that Spark adds for a time window."""
    return "PreciseTimestampConversion" in text or text.startswith("IsNotNull(")


def _window(text: str) -> Window | None:
    """Length and slide out of the expression that Spark makes of ``window``, the gap of
    ``session_window``."""
    if "CreateNamedStruct" not in text:
        return None
    one = text.split(" | ")[0]
    numbers = _LITERAL.findall(one)
    of = ", ".join(sorted(set(_COLUMN.findall(one))))
    if "PreciseTimestampConversion" in one and (found := one.partition("Remainder(")[2]) and numbers:
        length, slide = numbers[-1], _LITERAL.findall(_inside(found))[-1]
        rest = [of, *sorted(set(numbers) - {length, slide})]
        return Window(length, slide, ", ".join(rest))
    if "Add" in one:
        return Window(one, "", of, gap=True)
    return None


def _inside(text: str) -> str:
    """What stands before the bracket that closes an open one."""
    depth = 1
    for at, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if not depth:
            return text[:at]
    return text
