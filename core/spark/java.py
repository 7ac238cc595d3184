"""How Java is started for the Spark of this app: its options, and the archive of Spark's classes.

Starting Spark is mostly reading classes from some 300 jars and checking them. Java can keep the classes of
one run as they are in memory (JDK 13 and later: ``-XX:ArchiveClassesAtExit``) and map them the next time.
An archive is made by ``scripts/class_archive.py`` when the environment is set up. Java itself compares it
with its own build and with the path, size and time of each jar, and goes on without it where they differ.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# A JVM for small jobs that lives for minutes: the first compiler and the serial collector halve its start.
# With the first compiler alone Java reserves 48 MB for code, which many questions fill.
FOR_SMALL_JOBS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
# One that does not fit is left out, without a warning on the standard output of whoever starts Java; so is
# one whose bytes have changed (its check costs less than can be measured).
_ONLY_IF_IT_FITS = "-Xshare:auto -XX:+VerifySharedSpaces -Xlog:cds*=off -Xlog:class+path=off"


def archive_of(python: str | Path = sys.executable) -> Path:
    """Where the archive lies for the Spark of this Python: in its environment, with the rights of its
    packages.

    Whoever could put another file there could change PySpark as well.
    """
    return Path(python).parent.parent / "share" / "checkpoint-explorer" / "spark-classes.jsa"


def java_options(directory: str | Path, python: str | Path | None = None) -> str:
    """The value of ``spark.driver.extraJavaOptions``: everything temporary below ``directory``, and the
    archive of the Spark of ``python`` (the running one when None) where there is one."""
    shared = archive_options(archive_of(python or sys.executable))
    return (
        f"{FOR_SMALL_JOBS} -XX:+ExitOnOutOfMemoryError{shared} -Djava.io.tmpdir={directory}"
        f" -Dderby.system.home={directory} -XX:ErrorFile={directory}/java.log"
    )


def archive_options(archive: Path) -> str:
    """What makes Java use it, after a blank; empty where it is not there or not whole, or where Spark,
    which splits options at blanks and quotes, would not leave its name whole."""
    if any(char in str(archive) for char in " \"'\\\t\n") or not _is_whole(archive):
        return ""
    return f" -XX:SharedArchiveFile={archive} {_ONLY_IF_IT_FITS}"


def stamp_of(archive: Path) -> Path:
    """The file beside it: ``{"size_bytes", "made_of"}``."""
    return archive.with_suffix(".json")


def _is_whole(archive: Path) -> bool:
    """Whether it has the size that it was made with: Java 17 dies of one that was cut (SIGBUS)."""
    try:
        stamp = json.loads(stamp_of(archive).read_bytes())
        return archive.is_file() and stamp["size_bytes"] == archive.stat().st_size
    except (OSError, ValueError, LookupError, TypeError):
        return False
