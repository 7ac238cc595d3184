"""Fetch the jars that the tests and the sample maker need: Spark's Kafka connector, a Kafka broker, Delta's
two jars.

The list is `scripts/parts.txt`; the jars come from Maven Central through the Ivy that PySpark ships, so Java
and pip are all it takes. They are kept in `.parts/<part>/` beside Ivy's cache (`.parts/ivy/`), which git
ignores. Each jar is checked against its SHA-256 when it arrives and by its presence later, so a second call
takes no time.

    python scripts/parts.py [part ...]       fetch what is missing (default: every part)
    python scripts/parts.py --check [part]   only say what is missing
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

PROJECT = Path(__file__).resolve().parent.parent
PARTS = PROJECT / ".parts"
LIST = Path(__file__).with_name("parts.txt")
TIME_LIMIT_SECONDS = 600  # one Ivy call; all 51 jars take half a minute on a good line


class PartsError(Exception):
    """One sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of parts.txt."""

    part: str
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def path(self) -> Path:
        return PARTS / self.part / f"{self.artifact}-{self.version}.jar"


def read_list(path: Path = LIST) -> dict[str, tuple[Jar, ...]]:
    """The jars of each part, in the order of the list."""
    parts: dict[str, list[Jar]] = {}
    part = ""
    for raw in path.read_text(encoding="utf-8").splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            part = line.strip("[]")
            parts[part] = []
            continue
        coordinates, sha256 = line.split()
        group, artifact, version = coordinates.split(":")
        parts[part].append(Jar(part, group, artifact, version, sha256))
    return {name: tuple(jars) for name, jars in parts.items()}


def missing_jars(names: Iterable[str]) -> list[Jar]:
    """What the named parts lack."""
    parts = read_list()
    return [jar for name in names for jar in parts[name] if not jar.path.is_file()]


def jar_paths(part: str) -> tuple[Path, ...]:
    """The paths of one part's jars. Raises PartsError when one is missing."""
    if missing_jars([part]):
        raise PartsError(f"the part {part} is missing: run scripts/setup tests")
    return tuple(jar.path for jar in read_list()[part])


def java() -> str:
    """The java command: JAVA_HOME first, as Spark does."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if found is None:
        raise PartsError("java was not found: install a Java runtime, version 17 or newer")
    return found


def ivy_jar() -> Path:
    """The Ivy inside the PySpark of the interpreter that runs this file."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise PartsError(f"pyspark is not installed for {sys.executable}: run scripts/setup first")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise PartsError(f"no ivy-*.jar beside {spec.origin}")
    return found[-1]


def fetch(wanted: list[Jar]) -> None:
    """Fetch these jars with one Ivy call per part and put the right ones in their place.

    What did not arrive is simply still missing afterwards. Raises PartsError when a jar is not the one that
    was asked for.
    """
    PARTS.mkdir(exist_ok=True)
    log: list[str] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(dir=PARTS, prefix="fetch-") as scratch_name:
        scratch = Path(scratch_name)
        # One call per part: in one module Ivy would keep only the newer of the two kafka-clients.
        for part in dict.fromkeys(jar.part for jar in wanted):
            of_part = [jar for jar in wanted if jar.part == part]
            log.append(retrieve(part, of_part, scratch))
            for jar in of_part:
                arrived = scratch / part / jar.path.name
                if not arrived.is_file():
                    continue
                if hashlib.sha256(arrived.read_bytes()).hexdigest() != jar.sha256:
                    wrong.append(jar.coordinates)
                    continue
                jar.path.parent.mkdir(parents=True, exist_ok=True)
                arrived.replace(jar.path)
    (PARTS / "ivy.log").write_text("\n".join(log), encoding="utf-8")
    if wrong:
        raise PartsError(
            f"wrong SHA-256, not used: {', '.join(wrong)}. Delete {PARTS / 'ivy'} and try again."
        )


def retrieve(part: str, wanted: list[Jar], scratch: Path) -> str:
    """Let Ivy put the jars into `scratch/<part>/`; returns what it printed."""
    settings = scratch / "settings.xml"
    settings.write_text(
        f"<ivysettings><caches defaultCacheDir={quoteattr(str(PARTS / 'ivy'))}/><settings"
        ' defaultResolver="central"/><resolvers><ibiblio name="central"'
        ' m2compatible="true"/></resolvers></ivysettings>',
        encoding="utf-8",
    )
    dependencies = "".join(
        f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false"'
        ' conf="default->*"/>'
        for jar in wanted
    )
    module = scratch / f"{part}.xml"
    module.write_text(
        '<ivy-module version="2.0"><info organisation="checkpoint-explorer"'
        f' module="{part}"/><configurations><conf'
        f' name="default"/></configurations><dependencies>{dependencies}</dependencies></ivy-module>',
        encoding="utf-8",
    )
    command = [java(), "-jar", str(ivy_jar()), "-settings", str(settings), "-ivy", str(module)]
    # "bundle" matters: several jars are published with that type and would be left out.
    command += ["-retrieve", str(scratch / part / "[artifact]-[revision].[ext]"), "-types", "jar", "bundle"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{part}: Maven Central did not answer within {TIME_LIMIT_SECONDS} seconds"
    return done.stdout + done.stderr


def main(arguments: list[str] | None = None) -> int:
    parts = read_list()
    parser = argparse.ArgumentParser(description="Fetch the jars that the tests and the sample maker need.")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"default: all of {', '.join(parts)}")
    parser.add_argument("--check", action="store_true", help="fetch nothing, only say what is missing")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in parts]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}: choose from {', '.join(parts)}")
    names = options.parts or list(parts)
    lacking = missing_jars(names)
    if lacking and not options.check:
        print(
            f"parts: fetching {len(lacking)} jars ({', '.join(dict.fromkeys(jar.part for jar in lacking))})",
            file=sys.stderr,
        )
        try:
            fetch(lacking)
        except PartsError as problem:
            print(f"parts: {problem}", file=sys.stderr)
            return 1
        lacking = missing_jars(names)
    for name in dict.fromkeys(jar.part for jar in lacking):
        absent = [jar.coordinates for jar in lacking if jar.part == name]
        some = ", ".join(absent[:3]) + (" ..." if len(absent) > 3 else "")
        print(f"parts: {name} is missing, {len(absent)} of {len(parts[name])} jars: {some}", file=sys.stderr)
    if lacking and not options.check:
        print(
            "parts: they could not be fetched from Maven Central; what it answered is in"
            f" {PARTS / 'ivy.log'}",
            file=sys.stderr,
        )
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
