"""The first start on machines that lack something, refuse something, or were interrupted.

The scripts run for real in a copy of the project without packages; what the system has is a directory with a
few of its programs, and programs of the same name as apt-get, dnf, sudo, java that note how they were called.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from scripts import fetching

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
TOOLS = (
    "sh cat chmod cksum cp cut date dirname env grep head ls mkdir mktemp mv printf rm sed sleep touch tr"
    " true uname"
)


class Machine:
    """A system of a few programs, and a copy of the project's scripts without anything set up."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "bin"
        self.project = place / "project"
        self.calls = place / "calls"
        self.bin.mkdir()
        self.calls.touch()
        shutil.copytree(
            PROJECT / "scripts", self.project / "scripts", ignore=shutil.ignore_patterns("__pycache__")
        )
        for name in ("requirements.txt", "requirements-dev.txt"):
            (self.project / name).touch()
        for tool in TOOLS.split():
            found = shutil.which(tool)
            assert found, tool
            (self.bin / tool).symlink_to(found)
        self.environment = {
            "PATH": str(self.bin),
            "HOME": str(place),
            "PIP_RETRIES": "0",
            "PIP_NO_CACHE_DIR": "1",
        }

    def program(self, name: str, *lines: str) -> Path:
        """A program of this name that notes its arguments and runs these lines of shell."""
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "\n".join(["#!/bin/sh", f'echo "{name} $*" >> "{self.calls}"', *lines, ""]), encoding="utf-8"
        )
        path.chmod(0o755)
        return path

    def python(self, name: str = "python3", *, without: str = "", makes: bool = True) -> Path:
        """This Python under a name; without a module until the file `installed` is there.

        With `makes` false the making of an environment is only noted.
        """
        real = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        lacks = (
            f'case "$*" in *{without}*) [ -e "{self.bin}/installed" ] || exit 1 ;; esac' if without else ""
        )
        notes = ""
        if not makes:
            made = "mkdir -p $2/bin; printf '#!/bin/sh\\n' > $2/bin/python; chmod +x $2/bin/python; exit 0"
            notes = f'case "$1" in *environment.py) echo "making $*" >> "{self.calls}"; {made} ;; esac'
        path = self.bin / name
        path.write_text(f'#!/bin/sh\n{lacks}\n{notes}\nexec "{real}" "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def user(self, number: int) -> None:
        """Who runs the scripts; sudo would ask for a password."""
        self.program("id", f"echo {number}")
        self.program("sudo", "echo 'sudo: a password is required' >&2; exit 1")

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", *command],
            cwd=self.project,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def called(self, name: str) -> list[str]:
        return [
            line
            for line in self.calls.read_text(encoding="utf-8").splitlines()
            if line.startswith(f"{name} ")
        ]

    def is_set_up(self) -> bool:
        return (self.project / ".venv" / ".stamp-app").exists() and (
            self.project / ".venv" / "bin" / "pip"
        ).exists()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that the scripts made, to be copied: making one takes seconds."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.python()
    machine.user(0)
    assert machine.run("scripts/setup").returncode == 0
    assert machine.is_set_up()
    return machine.project / ".venv"


@pytest.fixture
def ready(machine: Machine, environment: Path) -> Machine:
    """A machine on which everything is set up for an empty list of requirements."""
    machine.user(0)
    machine.python()
    shutil.copytree(environment, machine.project / ".venv", symlinks=True)
    return machine


# ------------------------------------------------------- what the system lacks


def test_the_venv_package_is_installed_where_that_is_allowed(machine: Machine) -> None:
    machine.user(0)
    machine.python(without="ensurepip", makes=False)
    machine.program("apt-cache", "echo '  Candidate: 1'")
    machine.program("apt-get", f'case "$*" in *install*) : > "{machine.bin}/installed" ;; esac')
    done = machine.run("scripts/setup")
    assert done.returncode == 0, done.stderr
    number = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert (
        "setup: installing python3-venv with apt-get, because python3 "
        f"(Python {number}) cannot make virtual environments: its venv package is missing\n" in done.stderr
    )
    assert [call.split()[1] for call in machine.called("apt-get")] == ["update", "install"]
    assert machine.called("apt-get")[1].endswith(" python3-venv")
    (made,) = machine.called("making")
    assert made.split()[2:4] == [str(machine.project / ".venv"), ".stamp-app"]


def test_the_second_call_installs_nothing_and_says_nothing(ready: Machine) -> None:
    ready.program("python3", "exit 1")
    done = ready.run("scripts/setup")
    assert (done.returncode, done.stderr) == (0, "")


def test_where_nothing_may_be_installed_one_sentence_says_the_command(machine: Machine) -> None:
    machine.user(1000)
    machine.python(without="ensurepip", makes=False)
    machine.program("apt-cache", "echo '  Candidate: 1'")
    machine.program("apt-get")
    done = machine.run("scripts/setup")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("install it with: sudo apt-get install -y python3-venv\n")
    assert machine.called("apt-get") == []
    assert not (machine.project / ".venv").exists()


def test_sudo_is_used_when_it_asks_no_password(machine: Machine) -> None:
    machine.user(1000)
    machine.program("sudo", 'shift; exec "$@"')
    machine.python(without="ensurepip", makes=False)
    machine.program("apt-cache", "echo '  Candidate: 1'")
    machine.program("apt-get", f'case "$*" in *install*) : > "{machine.bin}/installed" ;; esac')
    done = machine.run("scripts/setup")
    assert done.returncode == 0, done.stderr
    assert any("apt-get install" in call for call in machine.called("sudo"))


def test_a_package_that_is_only_mentioned_is_not_chosen(machine: Machine) -> None:
    machine.user(0)
    machine.program("apt-get")
    machine.program(
        "apt-cache", 'case "$*" in *3.11*) echo "  Candidate: 1" ;; *) echo "  Candidate: (none)" ;; esac'
    )
    assert machine.run("scripts/setup").returncode == 1
    assert machine.called("apt-get")[-1].endswith(" python3.11-venv")


def test_a_missing_python_is_installed_with_dnf(machine: Machine) -> None:
    machine.user(0)
    machine.program(
        "dnf",
        'case "$*" in *list*3.13*) exit 1 ;; *install*) mv "$0.python" "$(dirname "$0")/python3.12" ;; esac',
    )
    machine.python("dnf.python", makes=False)
    done = machine.run("scripts/setup")
    assert done.returncode == 0, done.stderr
    assert (
        "setup: installing python3.12 with dnf, because Python 3.11, 3.12 or 3.13 was not found\n"
        in done.stderr
    )
    assert machine.called("dnf")[-1] == "dnf install -y python3.12"


def test_a_python_that_is_too_old_counts_as_missing(machine: Machine) -> None:
    machine.user(1000)
    machine.program("python3", "exit 1")
    machine.program("brew")
    machine.bin.joinpath("sudo").unlink()
    done = machine.run("scripts/setup")
    assert done.returncode == 1
    assert "installing python@3.13 with brew, because Python 3.11, 3.12 or 3.13 was not found" in done.stderr
    assert machine.called("brew")[-1] == "brew install python@3.13"
    assert "name one with PYTHON=/path/to/python3" in done.stderr


def test_without_a_package_manager_that_is_known(machine: Machine) -> None:
    machine.user(0)
    done = machine.run("scripts/setup")
    assert done.returncode == 1
    assert (
        done.stderr
        == "setup: Python 3.11, 3.12 or 3.13 was not found; install it with this system's package manager.\n"
    )


def test_why_apt_get_failed_is_said(machine: Machine) -> None:
    machine.user(0)
    machine.python(without="ensurepip", makes=False)
    machine.program("apt-cache", "exit 1")
    machine.program(
        "apt-get",
        'echo "Err:1 http://deb.example.org/debian bookworm InRelease\n  Temporary failure resolving'
        " 'deb.example.org'\"",
        'case "$*" in *update*) echo "E: Failed to fetch'
        " http://deb.example.org/debian/dists/bookworm/InRelease  Temporary failure resolving"
        " 'deb.example.org'\" ;; esac",
        "exit 100",
    )
    done = machine.run("scripts/setup")
    assert done.returncode == 1
    assert "setup: apt-get update failed: the host deb.example.org was not found" in done.stderr


def test_what_a_killed_apt_get_left_is_finished_first(machine: Machine) -> None:
    machine.user(0)
    machine.python(without="ensurepip", makes=False)
    machine.program("apt-cache", "echo '  Candidate: 1'")
    machine.program("dpkg", '[ "$1" != --audit ] || echo "The following packages are only half configured"')
    machine.program("apt-get", f'case "$*" in *install*) : > "{machine.bin}/installed" ;; esac')
    assert machine.run("scripts/setup").returncode == 0
    assert machine.called("dpkg")[-1] == "dpkg --configure -a"


def test_the_library_that_playwrights_node_needs_is_installed(machine: Machine) -> None:
    machine.user(0)
    machine.python()
    machine.program("apt-cache", "echo '  Candidate: 1'")
    machine.program("apt-get", f'case "$*" in *install*) : > "{machine.bin}/atomic" ;; esac')
    machine.program(
        "driver/node",
        f'[ -e "{machine.bin}/atomic" ] || {{ echo "node: error while loading shared libraries:'
        ' libatomic.so.1" >&2; exit 127; }',
    )
    (machine.project / ".venv" / "bin").mkdir(parents=True)
    machine.program("../project/.venv/bin/python", f'echo "{machine.bin}"')
    call = "-c", ". scripts/setup-lib.sh; need_node", "scripts/x"
    done = machine.run(*call)
    assert done.returncode == 0, done.stderr
    assert "setup: installing libatomic1 with apt-get, because the Node inside Playwright" in done.stderr
    machine.user(1000)
    (machine.bin / "atomic").unlink()
    done = machine.run(*call)
    assert done.returncode == 1
    assert "install it with: sudo apt-get install -y libatomic1" in done.stderr


# --------------------------------------------------------- why a download failed


@contextlib.contextmanager
def server(tls: ssl.SSLContext | None = None, *, silent: bool = False) -> Iterator[int]:
    """A server on loopback; its port. It ends each connection, or says nothing at all."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                kept.append(connection)
                if silent:
                    continue
                with contextlib.suppress(OSError):
                    if tls is not None:
                        tls.wrap_socket(connection, server_side=True).close()
                    connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in kept:
            connection.close()


@pytest.fixture
def own_certificate(tmp_path: Path) -> ssl.SSLContext:
    """A server's certificate that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = (
        made.serial_number(1)
        .not_valid_before(now - datetime.timedelta(1))
        .not_valid_after(now + datetime.timedelta(1))
    )
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    pem = tmp_path / "own.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def needs_a_package(machine: Machine) -> None:
    (machine.project / "requirements.txt").write_text("some-package==1.0\n", encoding="utf-8")


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


COULD_NOT = "setup: pip could not install requirements.txt into .venv: "


def test_a_certificate_that_pip_does_not_trust_is_named(
    ready: Machine, own_certificate: ssl.SSLContext
) -> None:
    needs_a_package(ready)
    with server(own_certificate) as port:
        done = ready.run("scripts/setup", PIP_INDEX_URL=f"https://localhost:{port}/simple")
    assert done.returncode == 1
    assert last_line(done).startswith(
        f"{COULD_NOT}the certificate of localhost is not trusted: name the file with your"
    )


def test_a_host_that_does_not_exist_is_named(ready: Machine) -> None:
    needs_a_package(ready)
    done = ready.run("scripts/setup", PIP_INDEX_URL="https://packages.invalid/simple")
    assert done.returncode == 1
    assert last_line(done).startswith(
        f"{COULD_NOT}the host packages.invalid was not found; check the network"
    )
    assert last_line(done).endswith("Run the same command again: it continues from here.")


def test_a_proxy_that_does_not_answer_is_named_without_its_password(ready: Machine) -> None:
    needs_a_package(ready)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    proxy = f"http://me:hidden@127.0.0.1:{port}"
    done = ready.run("scripts/setup", https_proxy=proxy, PIP_INDEX_URL="https://packages.invalid/simple")
    assert done.returncode == 1
    assert last_line(done).startswith(f"{COULD_NOT}the proxy 127.0.0.1:{port} cannot be reached")
    assert "hidden" not in done.stderr


def test_a_package_that_the_index_does_not_have_is_named(ready: Machine) -> None:
    needs_a_package(ready)
    done = ready.run("scripts/setup", PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert last_line(done).startswith(
        f"{COULD_NOT}the package index has no some-package==1.0 for this Python and this machine"
    )


IVY = {
    "trust": (
        (
            "\tServer access error at url https://repo1.maven.org/maven2/a.pom"
            " (javax.net.ssl.SSLHandshakeException: PKIX path building failed:"
            " sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification"
            " path to requested target)"
        ),
        (
            "Java does not trust the certificate of repo1.maven.org: add your organization's certificate to"
            " Java's trust store, or"
        ),
    ),
    "host": (
        "\tHost repo1.maven.org not found. url=https://repo1.maven.org/maven2/a.pom",
        "the host repo1.maven.org was not found",
    ),
    "refused": (
        (
            "\tServer access error at url https://repo1.maven.org/maven2/a.pom (java.net.ConnectException:"
            " Connection refused)"
        ),
        "repo1.maven.org refused the connection",
    ),
    "proxy": (
        (
            "\tServer access error at url https://repo1.maven.org/maven2/a.pom (java.io.IOException: Unable"
            ' to tunnel through proxy. Proxy returns "HTTP/1.1 407 Proxy Authentication Required")'
        ),
        "the proxy asks for a name and a password",
    ),
    "space": ("java.io.IOException: No space left on device", "the disk is full"),
    "missing": (
        "\t\t:: io.delta#delta-storage;4.4.0: not found",
        "repo1.maven.org does not have io.delta:delta-storage:4.4.0.",
    ),
}


@pytest.mark.parametrize("case", IVY)
def test_why_jars_did_not_arrive_is_one_sentence(machine: Machine, case: str) -> None:
    words, expected = IVY[case]
    machine.program(
        "java",
        f"cat <<'END'\n:: problems summary ::\n{words}\n\t\t:: io.delta#delta-storage;4.4.0: not found\nEND",
        "exit 1",
    )
    done = subprocess.run(
        [sys.executable, "scripts/parts.py", "delta"],
        cwd=machine.project,
        env={"PATH": str(machine.bin)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert expected in last_line(done)
    assert "ivy.log" not in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_java_is_told_to_trust_what_other_programs_trust(
    machine: Machine, own_certificate: ssl.SSLContext
) -> None:
    machine.program(
        "java",
        'case "$*" in *trusted.p12*) cp "$(echo "$1" | cut -d= -f2)" "$0.p12" ;; esac',
        f"echo '{IVY['trust'][0].strip()}'",
    )
    named = machine.project.parent / "own.pem"
    done = subprocess.run(
        [sys.executable, "scripts/parts.py", "delta"],
        cwd=machine.project,
        env={"PATH": str(machine.bin), "SSL_CERT_FILE": str(named)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert f"parts: Java is told to trust the certificates of {named}\n" in done.stderr
    assert len(machine.called("java")) == 2
    store = pkcs12.load_pkcs12((machine.bin / "java.p12").read_bytes(), b"changeit")
    assert [one.certificate.subject.rfc4514_string() for one in store.additional_certs] == ["CN=localhost"]


def test_java_is_told_the_proxy_of_the_environment(machine: Machine) -> None:
    machine.program("java", "exit 1")
    subprocess.run(
        [sys.executable, "scripts/parts.py", "delta"],
        cwd=machine.project,
        env={
            "PATH": str(machine.bin),
            "https_proxy": "http://me:hidden@proxy.example:3128",
            "no_proxy": "localhost, .example",
        },
        capture_output=True,
        timeout=100,
        check=False,
    )
    (call,) = machine.called("java")
    assert (
        "-Dhttps.proxyHost=proxy.example -Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts=localhost|*.example -jar"
        in call
    )
    assert "hidden" not in call


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "the disk is full"),
        (
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt)",
            "another program is installing packages",
        ),
        ("ERROR: HTTP error 403 while getting https://files.example/a.whl", "files.example answered 403"),
        ("ERROR: Failed building wheel for pyspark", "pyspark could not be built"),
        (
            "ReadTimeoutError(\"HTTPSConnectionPool(host='files.example', port=443): Read timed out.\")",
            "files.example did not answer",
        ),
        ("OSError: [Errno 122] Disk quota exceeded", "the disk is full"),
        ("all is well", None),
    ],
)
def test_reasons(output: str, expected: str | None) -> None:
    said = fetching.reason(output)
    assert said is None if expected is None else str(said).startswith(expected)


# --------------------------------------------------------------- interrupted


def wheel(machine: Machine) -> dict[str, str]:
    """`some-package` 1.0 in a directory, and the settings that make pip take it from there."""
    wheels = machine.project.parent / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "some_package-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("some_package/__init__.py", "whole = True\n")
        archive.writestr(
            "some_package-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n"
        )
        archive.writestr(
            "some_package-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("some_package-1.0.dist-info/RECORD", "")
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


def imports(machine: Machine) -> bool:
    command = [
        str(machine.project / ".venv" / "bin" / "python"),
        "-c",
        "import some_package; assert some_package.whole",
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def until(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def start(machine: Machine, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """scripts/setup in a process group of its own, which ends at SIGINT as one of a terminal does.

    A shell lets what it starts with & ignore SIGINT, as scripts/test does with these tests, and what they
    start would ignore it too.
    """
    return subprocess.Popen(
        ["/bin/sh", "scripts/setup", *arguments],
        cwd=machine.project,
        env={**machine.environment, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_killed_while_the_environment_is_made(machine: Machine) -> None:
    machine.user(0)
    machine.python()
    needs_a_package(machine)
    settings = wheel(machine)
    running = start(machine, **settings)
    directory = machine.project / ".venv"
    until(lambda: (directory / "bin" / "python").exists())
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (directory / ".made").exists()
    done = machine.run("scripts/setup", **settings)
    assert done.returncode == 0, done.stderr
    assert machine.is_set_up()
    assert imports(machine)


def test_killed_while_pip_downloads(ready: Machine) -> None:
    needs_a_package(ready)
    with server(silent=True) as port:
        running = start(ready, PIP_INDEX_URL=f"http://127.0.0.1:{port}/simple")
        until(lambda: (ready.project / ".venv" / ".installing").exists())
        time.sleep(1)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert not ready.is_set_up()
    done = ready.run("scripts/setup", **wheel(ready))
    assert done.returncode == 0, done.stderr
    assert "continuing with .venv, which was interrupted" in done.stderr
    assert "making" not in done.stderr
    assert imports(ready)


def test_a_stop_ends_every_pip(ready: Machine) -> None:
    needs_a_package(ready)
    for name in ("requirements-dev.txt", "scripts/requirements-delta.txt", "scripts/requirements-spark.txt"):
        (ready.project / name).write_text("some-package==1.0\n", encoding="utf-8")
    names = (".venv", ".venv-delta", ".venv-spark-3.5.9")
    for name in names[1:]:  # the three pips begin at once
        shutil.copytree(ready.project / ".venv", ready.project / name, symlinks=True)
    with server(silent=True) as port:
        # One that gives up by itself, as pip does after 15 seconds, is not ended by the stop.
        waiting = {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple", "PIP_DEFAULT_TIMEOUT": "600"}
        running = start(ready, "tests", **waiting)
        until(lambda: all((ready.project / name / ".installing").exists() for name in names))
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        assert running.wait(timeout=60) == 130

        def is_ended() -> bool:
            try:
                os.killpg(running.pid, 0)
            except ProcessLookupError:
                return True
            return False

        until(is_ended, seconds=60)
    assert not ready.is_set_up()


def test_a_half_installed_package_is_installed_again(ready: Machine) -> None:
    (packages,) = (ready.project / ".venv" / "lib").glob("python*/site-packages")
    (packages / "some_package").mkdir()
    (packages / "some_package" / "__init__.py").write_text("wh", encoding="utf-8")
    (packages / "some_package-1.0.dist-info").mkdir()
    (packages / "some_package-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n"
    )
    (ready.project / ".venv" / ".installing").touch()
    needs_a_package(ready)
    done = ready.run("scripts/setup", **wheel(ready))
    assert done.returncode == 0, done.stderr
    assert "half-installed packages: 1" in done.stderr
    assert imports(ready)


def test_an_environment_whose_packages_are_being_changed_has_no_stamp(ready: Machine) -> None:
    (ready.project / "requirements.txt").write_text("some-package==1.0\n", encoding="utf-8")
    assert ready.run("scripts/setup", PIP_NO_INDEX="1").returncode == 1
    (ready.project / "requirements.txt").write_text("", encoding="utf-8")
    assert not ready.is_set_up()
    assert "installing requirements.txt" in ready.run("scripts/setup").stderr


def test_a_second_setup_waits_for_the_first(ready: Machine) -> None:
    needs_a_package(ready)
    settings = wheel(ready)
    handle = os.open(ready.project / "requirements.txt", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    threading.Timer(1, os.close, [handle]).start()
    done = ready.run("scripts/setup", **settings)
    assert done.returncode == 0, done.stderr
    assert "setup: waiting for another setup of this folder to finish" in done.stderr


# ---------------------------------------------------------------- scripts/test


@pytest.mark.parametrize(("failing", "status"), [("", 0), ("tests/pages", 3), ("tests/unit", 3)])
def test_fast_runs_what_needs_no_engine_and_says_what_is_left_out(
    machine: Machine, failing: str, status: int
) -> None:
    machine.user(1000)
    for name in ("apt-get", "java", "chromium", "dnf"):
        machine.program(name)
    for name in ("requirements.txt", "requirements-dev.txt"):
        (machine.project / name).touch()
    place = machine.project / ".venv"
    (place / "bin").mkdir(parents=True)
    failure = f'case "$*" in *{failing}*) exit 3 ;; esac' if failing else ""
    machine.program("../project/.venv/bin/python", failure)
    for name in ("ruff", "mypy"):
        machine.program(f"../project/.venv/bin/{name}")
    empty = subprocess.run(["cksum"], input=b"", capture_output=True, check=True).stdout
    (place / ".stamp-tests").write_bytes(empty)
    done = machine.run("scripts/test", "--fast", "-q")
    assert done.returncode == status, done.stderr
    left_out = "not (spark or kafka or delta or spark_3_5 or browser or prometheus or slow)"
    runs = [
        call.partition("-m pytest ")[2]
        for call in machine.called("../project/.venv/bin/python")
        if "-m pytest" in call
    ]
    assert sorted(runs) == [
        f"tests/pages tests/storage -m {left_out} -q",
        f"tests/unit -m {left_out} -q",
    ]
    assert "LEFT OUT by --fast: tests/spark, tests/kafka, tests/delta, tests/browser" in done.stderr
    assert not any(machine.called(name) for name in ("apt-get", "java", "chromium", "dnf"))
    assert not list(machine.project.glob(".venv-*")) and not (machine.project / ".parts").exists()


def test_prometheus_is_installed_without_the_exporter_that_debian_recommends(machine: Machine) -> None:
    machine.user(0)
    machine.python()
    machine.program("apt-cache", "echo '  Candidate: 1'")
    made = "; ".join(
        f'printf "#!/bin/sh\n" > "{machine.bin}/{name}"; chmod +x "{machine.bin}/{name}"'
        for name in ("prometheus", "promtool")
    )
    machine.program("apt-get", f'case "$*" in *install*) {made} ;; esac')
    call = "-c", ". scripts/setup-lib.sh; need_prometheus && need_prometheus", "scripts/x"
    done = machine.run(*call)
    assert done.returncode == 0, done.stderr
    assert "setup: installing prometheus with apt-get, because prometheus and promtool" in done.stderr
    (installed,) = [line for line in machine.called("apt-get") if "install" in line.split()]
    assert "--no-install-recommends" in installed and installed.endswith(" prometheus")
    machine.user(1000)
    (machine.bin / "promtool").unlink()
    done = machine.run(*call)
    assert done.returncode == 1
    assert "install it with: sudo apt-get install -y prometheus" in done.stderr
