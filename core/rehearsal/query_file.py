"""The query file before it is run: that it is Python, and that it does not write or start a query by itself,
as far as its text shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from core.errors import QueryFileError
from core.messages import say

TRANSFORM = "transform"
LARGEST_BYTES = 5_000_000
_WRITES = frozenset({"writeStream", "write", "writeTo", "saveAsTable", "toTable", "awaitTermination"})


def check_query_file(path: Path, *, may_write: bool) -> None:
    """Raises QueryFileError, one sentence, for a file that cannot be rehearsed."""
    name, tree = str(path), _parsed(path)
    if may_write:
        return
    nodes = list(_run_without_being_asked(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in _WRITES:
            continue
        if node.attr != "write" or id(node) not in called:  # that of a file is called, Spark's is not
            raise QueryFileError(
                say("rehearse.query_writes", path=name, line=node.lineno, what=f".{node.attr}")
            )


def has_transform(path: Path) -> bool:
    """Whether the file leaves reading and starting to somebody else. Raises QueryFileError."""
    return any(TRANSFORM in _made_by(node) for node in _parsed(path).body)


def _made_by(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines, imports or assigns."""
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (each.asname or each.name for each in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    elif isinstance(node, ast.If | ast.Try):
        parts = [*node.body, *node.orelse, *(node.finalbody if isinstance(node, ast.Try) else ())]
        handled = node.handlers if isinstance(node, ast.Try) else ()
        for each in [*parts, *(inner for handler in handled for inner in handler.body)]:
            yield from _made_by(each)


def _parsed(path: Path) -> ast.Module:
    name = str(path)
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise QueryFileError(say("rehearse.query_not_python", path=name, reason=say("rehearse.too_long")))
        text = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise QueryFileError(say("rehearse.query_not_read", path=name, reason=reason)) from error
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        reason = say("rehearse.at_line", line=line) if line else type(error).__name__
        raise QueryFileError(say("rehearse.query_not_python", path=name, reason=reason)) from error


def _run_without_being_asked(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs at import, and the body of ``transform``."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == TRANSFORM:
                yield from ast.walk(node)
        elif isinstance(node, ast.ClassDef) or (isinstance(node, ast.If) and _is_main(node.test)):
            continue
        else:
            yield from ast.walk(node)


def _is_main(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return "__name__" in names
