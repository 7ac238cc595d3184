"""Which modules of the recovery kit the script of an option needs, and their checksum: a cell that was run stays
proven when another part of the kit changes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import core.recovery.kit

KIT = Path(core.recovery.kit.__file__).parent
STEPS: Mapping[str, tuple[str, ...]] = {
    "repair_files": ("repair_files",),
    "rewind": ("rewind",),
    "drop_state": ("drop_state",),
    "skip_batch": ("skip_batch",),
    "repartition": ("repartition",),
    "backup": ("backup",),
    "restore_backup": ("backup", "restore_backup"),
    "reset": ("reset_options", "reset_seeded", "reset_state"),
    "full_refresh": ("refresh",),
    "backup_and_backfill": ("refresh", "backfill"),
}
"""The modules with the steps of an option that has a script. The others of the kit are those that they import, and
what carries out every script."""


def modules_of(option: str) -> frozenset[str]:
    """The modules of the kit that the script of an option needs; none for an option without a script."""
    if option not in STEPS:
        return frozenset()
    found, wanted = set[str](), ["carrying_out", *STEPS[option]]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += _imported(name)
    return frozenset(found)


@cache
def kit_of(option: str) -> str:
    """The beginning of the checksum of these modules as they are; empty for an option without a script."""
    texts = [(KIT / f"{name}.py").read_text(encoding="utf-8") for name in sorted(modules_of(option))]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:12] if texts else ""


def _imported(name: str) -> list[str]:
    tree = ast.parse((KIT / f"{name}.py").read_text(encoding="utf-8"))
    froms = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    room = f"{core.recovery.kit.__name__}."
    return [module.removeprefix(room) for module in froms if module.startswith(room)]
