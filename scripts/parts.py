"""Fetch the jars that the tests and the sample maker need: Spark's Kafka connector, a Kafka broker, Delta's
two jars.

The list is `scripts/parts.txt`; the jars come from Maven Central through the Ivy that PySpark ships, so Java
and pip are all it takes. They are kept in `.parts/<part>/` beside Ivy's cache (`.parts/ivy/`), which git
ignores. Each jar is checked against its SHA-256 when it arrives and at every later call, which takes a tenth
of a second; an interrupted call is continued.

Java does not read https_proxy and no_proxy: they are passed on. DEFAULT_ARTIFACT_REPOSITORY names another
repository than Maven Central, as it does for Spark itself.

    python scripts/parts.py [part ...]       fetch what is missing (default: every part)
    python scripts/parts.py --check [part]   only say what is missing
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts import fetching

PROJECT = Path(__file__).resolve().parent.parent
PARTS = PROJECT / ".parts"
LIST = Path(__file__).with_name("parts.txt")
PASSWORD = b"changeit"  # Java wants one even for certificates, which are no secret
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


def is_right(path: Path, jar: Jar) -> bool:
    """Whether this is the jar that was asked for, to the last byte."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def missing_jars(names: Iterable[str]) -> list[Jar]:
    """What the named parts lack; a jar with another content is missing too."""
    parts = read_list()
    return [jar for name in names for jar in parts[name] if not is_right(jar.path, jar)]


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


def proxy_options() -> list[str]:
    """What tells Java about the proxy of the environment, unless it is told already."""
    address = os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY") or ""
    if not address or "proxyHost" in os.environ.get("JAVA_TOOL_OPTIONS", ""):
        return []
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    options = [f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 80}"]
    outside = [
        name.strip() for name in (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    ]
    hosts = [f"*{name}" if name.startswith(".") else name for name in outside if name]
    return [*options, f"-Dhttp.nonProxyHosts={'|'.join(hosts)}"] if hosts else options


def trust_options(scratch: Path) -> list[str]:
    """What makes Java trust the certificates that the environment names for other programs."""
    names = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    file = next((Path(os.environ[name]) for name in names if os.environ.get(name)), None)
    if file is None or not file.is_file():
        return []
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
    except ImportError:  # not in the app's environment, which needs no jars
        return []
    with warnings.catch_warnings(action="ignore"):  # some old root certificates are not quite to the letter
        found = x509.load_pem_x509_certificates(file.read_bytes())
    trusted = [pkcs12.PKCS12Certificate(one, b"%d" % number) for number, one in enumerate(found)]
    store = scratch / "trusted.p12"
    store.write_bytes(pkcs12.serialize_java_truststore(trusted, BestAvailableEncryption(PASSWORD)))
    print(f"parts: Java is told to trust the certificates of {file}", file=sys.stderr)
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD.decode()}"]


def fetch(wanted: list[Jar]) -> None:
    """Fetch these jars with one Ivy call per part and put the right ones in their place.

    Raises PartsError when one did not arrive or is not the one that was asked for.
    """
    PARTS.mkdir(exist_ok=True)
    for leftover in PARTS.glob("fetch-*"):
        shutil.rmtree(leftover)
    log: list[str] = []
    wrong: list[Jar] = []
    with tempfile.TemporaryDirectory(dir=PARTS, prefix="fetch-") as scratch_name:
        scratch = Path(scratch_name)
        # One call per part: in one module Ivy would keep only the newer of the two kafka-clients.
        for part in dict.fromkeys(jar.part for jar in wanted):
            of_part = [jar for jar in wanted if jar.part == part]
            log.append(retrieve(part, of_part, scratch))
            if "PKIX path building failed" in log[-1] and (options := trust_options(scratch)):
                log[-1] = retrieve(part, of_part, scratch, options)
            for jar in of_part:
                arrived = scratch / part / jar.path.name
                if is_right(arrived, jar):
                    jar.path.parent.mkdir(parents=True, exist_ok=True)
                    arrived.replace(jar.path)
                elif arrived.is_file():
                    wrong.append(jar)
    (PARTS / "ivy.log").write_text("\n".join(log), encoding="utf-8")
    for jar in wrong:  # or Ivy would hand out the same again
        shutil.rmtree(PARTS / "ivy" / jar.group / jar.artifact, ignore_errors=True)
    if wrong:
        raise PartsError(f"wrong SHA-256, not used: {', '.join(jar.coordinates for jar in wrong)}")
    lacking = [jar for jar in wanted if not jar.path.is_file()]
    if lacking:
        raise PartsError(reason("\n".join(log), lacking))


def reason(output: str, lacking: list[Jar]) -> str:
    """One sentence about why these jars did not arrive."""
    host = urlsplit(repository()).hostname or "Maven Central"
    known = fetching.reason(output, host)
    absent = dict.fromkeys(re.findall(r":: (\S+): not found", output))
    if known is None and absent:
        return (
            f"{host} does not have {', '.join(name.replace('#', ':').replace(';', ':') for name in absent)}"
        )
    names = ", ".join(jar.coordinates for jar in lacking[:3]) + (" ..." if len(lacking) > 3 else "")
    last = next(
        (line.strip() for line in reversed(output.splitlines()) if line.strip()), "Ivy printed nothing"
    )
    return (
        f"{len(lacking)} jars could not be fetched from {host} ({names}): {known or last}. "
        "Run the same command again: it continues from here"
    )


def repository() -> str:
    """The address of the Maven repository."""
    return os.environ.get("DEFAULT_ARTIFACT_REPOSITORY") or "https://repo1.maven.org/maven2/"


def retrieve(part: str, wanted: list[Jar], scratch: Path, options: Iterable[str] = ()) -> str:
    """Let Ivy put the jars into `scratch/<part>/`; returns what it printed."""
    settings = scratch / "settings.xml"
    settings.write_text(
        f"<ivysettings><caches defaultCacheDir={quoteattr(str(PARTS / 'ivy'))}/><settings"
        ' defaultResolver="central"/><resolvers><ibiblio name="central" m2compatible="true"'
        f" root={quoteattr(repository())}/></resolvers></ivysettings>",
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
    command = [
        java(),
        *proxy_options(),
        *options,
        "-jar",
        str(ivy_jar()),
        "-settings",
        str(settings),
        "-ivy",
        str(module),
    ]
    # "bundle" matters: several jars are published with that type and would be left out.
    command += ["-retrieve", str(scratch / part / "[artifact]-[revision].[ext]"), "-types", "jar", "bundle"]
    arriving: list[str] = []

    def state(line: str) -> str | None:
        if line.startswith("downloading "):
            arriving.append(line.split()[1].rpartition("/")[2])
            return f"{part}, jar {len(arriving)} of {len(wanted)}: {arriving[-1]}"
        found = line.strip().removeprefix("found ")
        return (
            f"{part}, found {found.partition(';')[0].replace('#', ':')}"
            if line.startswith("\tfound ")
            else None
        )

    return fetching.run(
        command, "parts", state, first=f"{part}, asking for {len(wanted)} jars", time_limit=TIME_LIMIT_SECONDS
    ).output


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
    with fetching.locked("parts") if not options.check else contextlib.nullcontext():
        lacking = missing_jars(names)
        if lacking and not options.check:
            print(
                f"parts: fetching {len(lacking)} jars"
                f" ({', '.join(dict.fromkeys(jar.part for jar in lacking))})",
                file=sys.stderr,
            )
            try:
                fetch(lacking)
            except PartsError as problem:
                print(f"parts: {problem}.", file=sys.stderr)
                return 1
            except OSError as problem:
                print(f"parts: {fetching.reason(str(problem)) or problem}.", file=sys.stderr)
                return 1
            except KeyboardInterrupt:
                print("parts: stopped. Run the same command again: it continues from here.", file=sys.stderr)
                return 130
            return 0
    for name in dict.fromkeys(jar.part for jar in lacking):
        absent = [jar.coordinates for jar in lacking if jar.part == name]
        some = ", ".join(absent[:3]) + (" ..." if len(absent) > 3 else "")
        print(f"parts: {name} is missing, {len(absent)} of {len(parts[name])} jars: {some}", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
