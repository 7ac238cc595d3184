"""Is the error about the checkpoint that is open? By the query's id, and by the paths that the text names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.analysis.errors.model import Recognised, Statement
from core.analysis.errors.pasted_text import Pasted, read_pasted
from core.checkpoint import Checkpoint
from core.messages import say
from core.sparklogs.evidence import Evidence
from core.storage import Location

# What stands in a path behind the root of a checkpoint, the surest first. The last place where one fits is
# taken: a root may itself lie below a directory called state.
_TAILS = (
    re.compile(r"/(?:offsets|commits)(?:/\.?\d{1,19}(?:[._]\S{0,200})?)?$"),
    re.compile(r"/state(?:/\d{1,9}(?:/\S{0,500})?)?$"),
    re.compile(r"/sources(?:/[^/\s]{1,200}(?:/\S{0,300})?)?$"),
    re.compile(r"/metadata$"),
)
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]{0,20}):(/*)")
_ALIASES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "gcs": "gs"}
_FILES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Place:
    """What the text says about where it happened.

    ``paths``: paths of files of a checkpoint, relative to its root. ``root``: the root that the text names
    when it is not that of the open checkpoint. ``other_query``: the query id of the text when it is not that
    of the open checkpoint.
    """

    statements: tuple[Statement, ...]
    paths: tuple[str, ...]
    root: str | None
    other_query: str | None


def find_place(ck: Checkpoint, text: Pasted, main: Recognised) -> Place:
    """Compares the ids and paths of the text with the open checkpoint. Nothing is read."""
    statements = []
    other_query, same_query = None, False
    if text.query_ids and ck.query_id is not None:
        same_query = ck.query_id in text.query_ids
        other_query = None if same_query else text.query_ids[0]
        if same_query:
            statements.append(
                Statement(say("errors_lookup.same_query", query_id=ck.query_id), (Evidence("metadata"),))
            )
        else:
            statements.append(
                Statement(
                    say("errors_lookup.other_query", other=other_query, query_id=ck.query_id),
                    (Evidence("metadata"),),
                )
            )
    paths, roots = _split(ck.door.origin, [*_parameters(main), *text.paths])
    root = None
    if roots and _same_root(ck.door.origin) not in roots:
        root = roots[0]
        sentence = say(
            "errors_lookup.moved" if same_query else "errors_lookup.other_place",
            root=root,
            here=ck.door.origin.url,
        )
        statements.append(Statement(sentence, certainty="inferred"))
    return Place(tuple(statements), tuple(paths)[:_FILES_SHOWN], root, other_query)


def named_roots(text: str) -> tuple[str, ...]:
    """The roots of the checkpoints whose files a pasted text names, in order; for a text that no checkpoint
    is open for. Relative paths name none."""
    roots = (_root_and_tail(normal_path(path))[0] for path in read_pasted(text).paths)
    return tuple(dict.fromkeys(root for root in roots if root and (root[0] == "/" or "://" in root)))


def _parameters(main: Recognised) -> Iterable[str]:
    """Paths among the parameters come first: they are what the message is about."""
    for name, value in main.parameters.items():
        if "/" in value and " " not in value and name not in ("clazz", "localFile"):
            yield value


def _split(location: Location, candidates: Iterable[str]) -> tuple[list[str], list[str]]:
    """Relative paths and roots, each once and in order."""
    here = _same_root(location)
    paths: dict[str, None] = {}
    roots: dict[str, None] = {}
    for candidate in candidates:
        path = normal_path(candidate)
        if path == here:
            roots[here] = None
            continue
        if path.startswith(here + "/"):
            roots[here] = None
            tail = path[len(here) + 1 :]
        else:
            root, tail = _root_and_tail(path)
            if root is None:
                continue
            roots[root] = None
        if (
            tail and "_spark_metadata" not in tail and ".." not in tail.split("/")
        ):  # never a way out of the checkpoint
            paths[tail] = None
    return list(paths), list(roots)


def _root_and_tail(path: str) -> tuple[str | None, str]:
    if "/_spark_metadata/" in path or "/_delta_log/" in path:
        return None, ""
    for pattern in _TAILS:
        at = path.rfind("/")
        while at > 0:
            if pattern.match(path, at):
                return path[:at], path[at + 1 :]
            at = path.rfind("/", 0, at)
    return None, ""


def _same_root(location: Location) -> str:
    return normal_path(location.url)


def normal_path(text: str) -> str:
    """A path in one spelling: ``file:`` in front of a local path goes, ``s3a`` is ``s3``, no slash at the
    end."""
    match = _SCHEME.match(text)
    if match is None:
        return re.sub(r"/{2,}", "/", text).rstrip("/")
    scheme = match[1].lower()
    rest = text[match.end() :].rstrip("/")
    if scheme == "file":
        return "/" + re.sub(r"/{2,}", "/", rest)
    return f"{_ALIASES.get(scheme, scheme)}:{'//' if len(match[2]) >= 2 else '/'}{rest}"
