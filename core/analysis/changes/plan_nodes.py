"""The nodes of Spark's JSON of a plan: one flat list, in which every node is followed by its children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]


def kind_of(told: Node) -> str:
    """The class of a node, without its package."""
    return str(told["class"]).rpartition(".")[2]


def is_place(value: Any) -> bool:
    """Children are named by their places."""
    if isinstance(value, list):
        return bool(value) and all(is_place(each) for each in value)
    return isinstance(value, int) and not isinstance(value, bool)


def number_of(told: Any) -> str:
    """The number of an expression id, or of a function's result; empty when there is none."""
    return str(told.get("id")) if isinstance(told, Mapping) else ""


def id_of(told: Node) -> str:
    """The expression id of a column."""
    return number_of(told.get("exprId"))


def ids_of(nodes: Iterable[Node]) -> set[str]:
    """The expression ids of the columns that are read."""
    return {id_of(each) for each in nodes if kind_of(each) == "AttributeReference"}


def object_of(told: Any) -> str:
    """``{"object": "...Inner$"}`` -> ``Inner``."""
    if isinstance(told, Mapping) and "object" in told:
        return str(told["object"]).rstrip("$").rpartition(".")[2].rpartition("$")[2]
    if isinstance(told, Mapping) and "product-class" in told:
        return str(told["product-class"]).rpartition(".")[2]
    return "" if told is None or isinstance(told, Mapping) else str(told)


def length_of(nodes: Sequence[Node], at: int = 0) -> int:
    """How many nodes one expression has."""
    left, end = 1, at
    while left:
        left += int(nodes[end].get("num-children", 0)) - 1
        end += 1
    return end - at


def children_of(nodes: Sequence[Node]) -> list[Sequence[Node]]:
    """The children of an expression."""
    found, at = [], 1
    for _ in range(int(nodes[0].get("num-children", 0))):
        size = length_of(nodes, at)
        found.append(nodes[at : at + size])
        at += size
    return found


def subtrees_of_kind(nodes: Sequence[Node], kind: str) -> list[Sequence[Node]]:
    """Every expression of a kind, wherever it stands."""
    return [nodes[at : at + length_of(nodes, at)] for at, each in enumerate(nodes) if kind_of(each) == kind]


def conjuncts_of(nodes: Sequence[Node]) -> list[Sequence[Node]]:
    """The parts of a condition that are joined by AND."""
    if not nodes:
        return []
    if kind_of(nodes[0]) != "And":
        return [nodes]
    return [part for child in children_of(nodes) for part in conjuncts_of(child)]
