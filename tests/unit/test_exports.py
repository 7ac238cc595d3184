"""The public names of the rooms: ``__all__`` of a package is what others use, and nothing else is imported
from the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(
    ".".join(path.parent.relative_to(PROJECT).parts) for path in (PROJECT / "core").rglob("__init__.py")
)
# Packages of which only the modules are used; their ``__init__`` offers no name. The list may only shrink.
ONLY_MODULES = {
    "core.analysis",
    "core.checkpoint.sources",
    "core.checkpoint.state_content",
    "core.connectors.delta",
    "core.connectors.kafka",
    "core.documents",
}
# Whose ``__init__`` defines what it offers and needs no list.
WITH_OWN_NAMES = {"core", "core.verbs"}
LISTED = sorted(
    name
    for name in PACKAGES
    if name not in ONLY_MODULES | WITH_OWN_NAMES and name != "core.recovery.templates"
)
MOST_NAMES = 25  # a list that nobody can keep in mind is no list


@cache
def outside(package: str) -> dict[str, set[tuple[str, str]]]:
    """What modules outside ``package`` import from it: module of the package -> (name, importing file)."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path, nodes in IMPORTS.items():
        place = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
        if place == package or place.startswith(package + "."):
            continue
        for node in nodes:
            if node.module == package or str(node.module).startswith(package + "."):
                importer = str(path.relative_to(PROJECT))
                found[str(node.module)] |= {(alias.name, importer) for alias in node.names}
    return found


def imports(path: Path) -> list[ast.ImportFrom]:
    """What a file imports from other rooms by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level]


IMPORTS = {
    path: imports(path)
    for path in (
        *(
            path
            for folder in ("core", "ui", "pages", "scripts", "tests")
            for path in sorted((PROJECT / folder).rglob("*.py"))
        ),
        PROJECT / "app.py",
        PROJECT / "server.py",
    )
}


def listed(package: str) -> list[str]:
    """``__all__`` of a package."""
    names: list[str] = import_module(package).__all__
    return list(names)


@pytest.mark.parametrize("package", LISTED)
def test_every_public_package_has_a_short_list_of_names_that_exist(package: str) -> None:
    names = listed(package)
    assert names and len(names) <= MOST_NAMES and len(set(names)) == len(names)
    missing = [name for name in names if not hasattr(import_module(package), name)]
    assert missing == []


@pytest.mark.parametrize("package", LISTED)
def test_every_listed_name_is_used_outside(package: str) -> None:
    used = {name for names in outside(package).values() for name, _ in names}
    assert [name for name in listed(package) if name not in used] == []


@pytest.mark.parametrize("package", LISTED)
def test_nothing_else_is_imported_from_the_package(package: str) -> None:
    """Its modules may be named one by one; the package itself gives what it lists."""
    names = set(listed(package))
    others = {
        (name, place)
        for name, place in outside(package).get(package, set())
        if name not in names and find_spec(f"{package}.{name}") is None
    }
    assert others == set()


@pytest.mark.parametrize("package", sorted(ONLY_MODULES))
def test_packages_of_modules_offer_no_name(package: str) -> None:
    assert not hasattr(import_module(package), "__all__"), "take it out of ONLY_MODULES"
    taken = {
        name for name, _ in outside(package).get(package, set()) if find_spec(f"{package}.{name}") is None
    }
    assert taken == set()
