"""Spark's local file system without a process for each file (``java/LocalFiles.java``), for the Sparks of tests."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path

PARTS = Path(__file__).resolve().parents[2] / ".parts"
SOURCE = Path(__file__).with_name("java") / "LocalFiles.java"
SETTINGS = {
    "spark.hadoop.fs.file.impl": "tests.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "tests.LocalFiles$Context",
}


def settings() -> dict[str, str]:
    """The settings that put it in place of Hadoop's, where :func:`jars` are on the class path."""
    return dict(SETTINGS) if jars() else {}


@lru_cache(maxsize=1)
def jars() -> tuple[Path, ...]:
    """The jar with it, made when it is missing. Empty where there is no Java compiler (a runtime alone): then
    Spark's own is used, and the tests of Spark take about twice as long."""
    compiler = _compiler()
    if compiler is None:
        return ()
    import pyspark

    spark = Path(pyspark.__file__).parent / "jars"
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    jar = PARTS / f"local-files-{pyspark.__version__}-{digest}.jar"
    if not jar.exists():
        PARTS.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=PARTS) as place:
            classes, unfinished = Path(place) / "classes", Path(place) / jar.name
            to_java_17 = [
                "--release",
                "17",
                "-nowarn",
                "-Xlint:-options",
                "-cp",
                f"{spark}/*",
                "-d",
                str(classes),
            ]
            subprocess.run([compiler, *to_java_17, str(SOURCE)], check=True, capture_output=True)
            with zipfile.ZipFile(unfinished, "w") as made:
                for each in sorted(classes.rglob("*.class")):
                    made.write(each, each.relative_to(classes).as_posix())
            unfinished.replace(jar)
    return (jar,)


def _compiler() -> str | None:
    """The Java compiler of JAVA_HOME first, as Spark looks for Java."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "javac") if home else "javac")
