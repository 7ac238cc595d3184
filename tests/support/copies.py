"""Copies of checkpoints: of one that Spark may still be at work on, of one that Spark has to find its way in."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from pathlib import Path


def copy_of(checkpoint: Path, target: Path) -> Path:
    """A copy of all files that stay while it is made: Spark's maintenance goes on after a query has stopped, gives
    files their names and deletes old ones. An old unfinished write stays."""
    return Path(shutil.copytree(checkpoint, target, ignore=_being_written, copy_function=_copy_if_there))


def _being_written(directory: str, names: list[str]) -> set[str]:
    young = time.time() - 60
    found = set()
    for name in names:
        if name.startswith(".") and name.endswith(".tmp"):
            with contextlib.suppress(FileNotFoundError):
                if Path(directory, name).stat().st_mtime < young:
                    continue
            found.add(name)
    return found


def _copy_if_there(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


def with_its_own_schemas(root: Path) -> Path:
    """A copy of a sample of transformWithState in which Spark finds the schemas: it opens them at the absolute
    paths in the operator metadata, which name the place where the sample was written."""
    metadata = root / "state/0/_metadata/v2/0"
    first, text = metadata.read_text(encoding="utf-8").split("\n", 1)
    content = json.loads(text)
    for store in content["stateStoreInfo"]:
        store["stateSchemaFilePaths"] = [
            f"file:{root}/state/" + path.split("/state/")[1] for path in store["stateSchemaFilePaths"]
        ]
    metadata.write_text(f"{first}\n{json.dumps(content)}", encoding="utf-8")
    metadata.with_name(".0.crc").unlink()
    return root
