"""The kit as the one text that every script carries, its version and its checksum.

The modules of ``core/recovery/kit`` are joined in a fixed order, as they are: their docstrings become
headings, their imports stand once at the beginning, and imports of one another are left out.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from functools import cache
from pathlib import Path

from core.messages import say
from core.recovery.kit import KIT_MARK, KIT_VERSION

_ROOM = "core.recovery.kit"
_ORDER = (
    "words",
    "files",
    "session",
    "run",
    "sink",
    "copying",
    "starting",
    "older_files",
    "reading_state",
    "placement",
    "read_again",
    "drop_state",
    "repair_files",
    "backup",
    "restore_backup",
    "skip_batch",
    "rewind",
    "repartition",
    "query",
    "others",
    "counting",
    "kafka",
    "new_checkpoint",
    "resets",
    "reset_options",
    "reset_seeded",
    "reset_state",
    "refresh",
    "backfill",
    "rehearsing",
    "ending",
    "carrying_out",
)
"""A module stands after those that it imports."""


@cache
def kit_text() -> str:
    """The kit as one module; the same text for everybody."""
    plain: set[str] = set()
    named: dict[str, set[str]] = defaultdict(set)
    parts = []
    for name in _ORDER:
        source = (Path(__file__).parent / "kit" / f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        lines = source.splitlines()
        heading = ast.get_docstring(tree) or ""
        for node in tree.body[:1] + [each for each in tree.body if _is_import(each)]:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
            if isinstance(node, ast.Import):
                plain |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not _is_own(node):
                named[str(node.module)] |= {alias.name for alias in node.names}
        comment = "\n".join(f"# {line}".rstrip() for line in heading.splitlines())
        body = "\n".join(lines).strip()
        parts.append(f"# ---------------- {name}\n{comment}\n\n{body}\n")
    imports = [f"import {name}" for name in sorted(plain)]
    imports += [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(named.items())]
    return "\n".join(imports) + "\n\n" + "\n\n".join(parts)


@cache
def kit_sha256() -> str:
    """The checksum of the kit, as a script has it at its top."""
    return hashlib.sha256(kit_text().encode()).hexdigest()


def with_kit(script: str) -> str:
    """The one file that runs: the lines of a script, the line that marks the kit, and the kit."""
    mark = f"{KIT_MARK}{say('recovery_code.kit_below', version=KIT_VERSION)} ".ljust(110, "=")
    return f"{script.rstrip()}\n\n\n{mark}\n{kit_text()}"


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_own(node: ast.ImportFrom) -> bool:
    """Whether it names another module of the kit, or only says how annotations are read."""
    return node.module == "__future__" or str(node.module).startswith(_ROOM)
