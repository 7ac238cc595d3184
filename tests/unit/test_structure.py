"""The shape of the project: imports point one way, there is no circle, and docs/architecture.md draws the
folders as they are."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

# From the bottom to the top. A module imports rooms below its own, and modules of its own room.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("core/__init__.py", "core/errors.py", "core/messages"),
    ("core/settings.py",),
    ("core/storage",),
    ("core/sparklogs",),
    ("core/checkpoint",),
    ("core/connectors",),
    ("core/analysis",),
    ("core/recovery",),
    ("core/judgement.py",),
    ("core/survey",),
    ("core/spark",),
    ("core/rehearsal",),
    ("core/incident",),
    ("core/documents",),
    ("core/verbs",),
    ("core/cli.py", "core/__main__.py"),
    ("ui",),
    ("pages",),
    ("app.py",),
    ("server.py",),
)
SCREEN_LIBRARIES = ("streamlit", "plotly")
MAY_IMPORT_FSSPEC = "core/storage/"
# What runs in the worker process, or in a Spark of the user's own; nothing else may import these, or pyspark.
IN_THE_WORKER = tuple(
    f"core/spark/{name}.py"
    for name in ("worker", "scan", "survey_job", "datasource", "rehearsal_worker", "plan_worker")
)
# What scripts carry to where the query runs: it imports nothing of the project but itself, and PySpark only inside
# functions, which the app never calls.
KIT = "core/recovery/kit/"
MAY_IMPORT_SPARK = ("core/spark/", "core/rehearsal/", "core/documents/", "core/verbs/", "ui/")


def modules() -> list[Path]:
    """Every module of the product."""
    return [
        PROJECT / "app.py",
        PROJECT / "server.py",
        *(path for room in ("core", "ui", "pages") for path in sorted((PROJECT / room).rglob("*.py"))),
    ]


def name_of(path: Path) -> str:
    """``core/storage/door.py`` -> ``core.storage.door``; a package is its folder."""
    parts = path.relative_to(PROJECT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def by_name() -> dict[str, Path]:
    """The modules by their dotted name."""
    return {name_of(path): path for path in modules()}


@cache
def imports_of(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """What a module imports of the project: (dotted name, line, inside a function)."""
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in by_name() else node.module for name in below]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(name, node.lineno, id(node) in inside) for name in dict.fromkeys(names)]
    return tuple(found)


def arrows(path: Path) -> Iterator[tuple[Path, int]]:
    """The project's modules that a module imports."""
    for name, line, _ in imports_of(path):
        if name in by_name() and by_name()[name] != path:
            yield by_name()[name], line


def floor_of(path: Path) -> int:
    """On which floor a module stands."""
    relative = path.relative_to(PROJECT).as_posix()
    for at, rooms in enumerate(FLOORS):
        if any(relative == room or relative.startswith(room + "/") for room in rooms):
            return at
    raise AssertionError(
        f"{relative} stands in no room of FLOORS: give it one, here and in docs/architecture.md"
    )


def test_no_import_points_upward() -> None:
    upward = [
        f"{path.relative_to(PROJECT)}:{line} imports {other.relative_to(PROJECT)}"
        for path in modules()
        for other, line in arrows(path)
        if floor_of(other) > floor_of(path)
    ]
    assert not upward


def test_no_import_circle() -> None:
    graph = {path: {other for other, _ in arrows(path)} for path in modules()}
    done: set[Path] = set()

    def visit(path: Path, way: tuple[Path, ...]) -> None:
        if path in way:
            circle = [step.relative_to(PROJECT).as_posix() for step in (*way[way.index(path) :], path)]
            raise AssertionError(" -> ".join(circle))
        if path not in done:
            for other in sorted(graph[path]):
                visit(other, (*way, path))
            done.add(path)

    for path in sorted(graph):
        visit(path, ())


def test_no_import_of_the_project_is_hidden_inside_a_function() -> None:
    hidden = [
        f"{path.relative_to(PROJECT)}:{line} imports {name}"
        for path in modules()
        for name, line, is_inside in imports_of(path)
        if is_inside and name in by_name()
    ]
    assert not hidden


def test_core_knows_no_screen_and_only_storage_knows_fsspec() -> None:
    for path in modules():
        relative = path.relative_to(PROJECT).as_posix()
        for name, line, _ in imports_of(path):
            top = name.partition(".")[0]
            assert not (relative.startswith("core/") and top in SCREEN_LIBRARIES), (
                f"{relative}:{line} imports {name}"
            )
            if top in ("fsspec", "s3fs", "aiobotocore", "botocore"):
                assert relative.startswith(MAY_IMPORT_FSSPEC), f"{relative}:{line} imports {name}"


def test_only_the_worker_process_imports_pyspark() -> None:
    for path in modules():
        relative = path.relative_to(PROJECT).as_posix()
        for name, line, is_inside in imports_of(path):
            if name.partition(".")[0] in ("pyspark", "py4j"):
                allowed = relative in IN_THE_WORKER or (relative.startswith(KIT) and is_inside)
                assert allowed, f"{relative}:{line} imports {name}"
            other = by_name().get(name)
            if other is None:
                continue
            imported = other.relative_to(PROJECT).as_posix()
            if imported in IN_THE_WORKER:
                assert relative in IN_THE_WORKER, f"{relative}:{line} imports {name} into the app's process"
            if imported.startswith("core/spark/"):
                assert relative.startswith(MAY_IMPORT_SPARK), f"{relative}:{line} imports {name}"


def test_the_kit_imports_only_itself_and_the_standard_library() -> None:
    for path in sorted((PROJECT / KIT).glob("*.py")):
        for name, line, is_inside in imports_of(path):
            own, top = name.startswith("core.recovery.kit"), name.partition(".")[0]
            allowed = own or top in sys.stdlib_module_names or (is_inside and top == "pyspark")
            assert allowed, f"{path.name}:{line} imports {name}"


def drawn() -> set[str]:
    """The folders and modules that the tree of docs/architecture.md names."""
    page = (PROJECT / "docs" / "architecture.md").read_text()
    tree = re.search(r"```\n(app\.py.*?)```", page, re.DOTALL)
    assert tree is not None, "docs/architecture.md has no tree that begins with app.py"
    found, room = set(), ""
    for line in tree[1].splitlines():
        name = line.split()[0] if line.strip() else ""
        if not line.startswith(" ") and name:
            room = name if name.endswith("/") else ""
            found.add(name)
        elif line.startswith("  ") and not line.startswith("   ") and name:
            found.add(room + name)
    return found


def test_the_tree_of_the_architecture_page_is_the_tree_of_the_folders() -> None:
    top = {
        path.name + "/"
        for path in PROJECT.iterdir()
        if path.is_dir() and not path.name.startswith((".", "__"))
    }
    top -= {
        name
        for name in top
        if name.rstrip("/") in {"build", "dist", "artifacts", "spark-warehouse"}
        or name.endswith(".egg-info/")
    }
    rooms = {
        f"core/{path.name}/"
        for path in (PROJECT / "core").iterdir()
        if path.is_dir() and not path.name.startswith("__")
    }
    files = {
        f"core/{path.name}" for path in (PROJECT / "core").glob("*.py") if not path.name.startswith("__")
    }
    wanted = top | rooms | files | {"app.py", "server.py"}
    assert wanted - drawn() == set(), "not drawn"
    assert {name for name in drawn() if name.startswith("core/")} - wanted == {"core/"} - wanted, (
        "drawn and not there"
    )


@pytest.mark.parametrize("room", ["core", "ui", "pages"])
def test_module_names_say_what_is_inside(room: str) -> None:
    poetic = {
        "given",
        "found",
        "judged",
        "told",
        "walk",
        "looking",
        "look",
        "look_up",
        "where",
        "plain",
        "noted",
        "opening",
        "choosing",
    }
    poetic |= {"answering", "ends", "misc", "utils", "helpers", "common"} - (
        {"ends"} if room == "pages" else set()
    )
    named = {path.stem for path in (PROJECT / room).rglob("*.py")}
    assert not named & poetic
