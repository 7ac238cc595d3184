"""Archives of Spark's classes for the Javas that tests start (``scripts/class_archive.py``), in ``.parts``.

``python -m tests.support.class_archives`` makes those that are missing: for the app, for the one session and the
scripts of recovery, and for the Spark that has Delta.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from core.spark.java import archive_options
from tests.support.local_files import PARTS

MAKER = PARTS.parent / "scripts" / "class_archive.py"


def archive_for(class_path: str, python: str = sys.executable) -> Path:
    """Where the archive lies for a class path before that of the PySpark of a Python."""
    digest = hashlib.sha256(class_path.encode()).hexdigest()[:12]
    return PARTS / f"classes-{Path(python).parent.parent.name.lstrip('.')}-{digest}.jsa"


def options(class_path: str, python: str = sys.executable) -> str:
    """Java's options for it; empty where it was not made."""
    return archive_options(archive_for(class_path, python))


def main() -> int:
    from tests.support import delta, local_files, spark

    session = spark.class_path(local_files.jars())
    wanted = [[sys.executable], [sys.executable, str(archive_for(session)), session]]
    if delta.is_there():
        python, classes = str(delta.PYTHON), delta.class_path()
        wanted.append([python, str(archive_for(classes, python)), classes])
    with ThreadPoolExecutor(2) as pool:  # one fills little more than a core
        list(pool.map(_make, wanted))
    return 0


def _make(command: list[str]) -> None:
    subprocess.run([command[0], str(MAKER), *command[1:]], check=True)


if __name__ == "__main__":
    sys.exit(main())
