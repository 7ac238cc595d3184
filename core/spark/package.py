"""The code of this project as one zip that Spark carries to its Python workers, and what it needs there."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path

from core import __version__

CORE = Path(__file__).resolve().parents[1]
NEEDED = (
    "numpy",
    "orjson",
    "pyarrow",
    "fsspec",
    "pydantic",
    "jinja2",
    "cramjam",
    "crc32c",
    "xxhash",
    "prometheus_client",
)
"""What the code imports for a survey; a worker that lacks one of them says so in one sentence."""

_TIME = (2020, 1, 1, 0, 0, 0)  # the same bytes for the same code, so that a second zip is no other one


@lru_cache(maxsize=1)
def code_zip() -> Path:
    """The zip, made once in a process and removed at its end. Its name tells its content: Spark refuses
    another file of a name that it already has."""
    place = Path(tempfile.mkdtemp(prefix="checkpoint-explorer-code-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    made = place / "code.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((*CORE.rglob("*.py"), *CORE.rglob("*.j2"))):
            entry = zipfile.ZipInfo(f"core/{path.relative_to(CORE).as_posix()}", _TIME)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()[:12]
    return made.rename(place / f"checkpoint_explorer-{__version__}-{digest}.zip")
