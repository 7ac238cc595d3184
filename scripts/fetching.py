"""Run a program that downloads or installs: show how far it is, and say in one sentence why it failed.

Only the standard library, since this runs before anything is installed.

    python3 scripts/fetching.py LABEL COMMAND [ARGUMENT ...]     run a command so; LABEL stands before each
    line
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PROJECT = Path(__file__).resolve().parent.parent
SECONDS_BETWEEN_LINES = 10  # in a log; on a terminal one line is rewritten every second


@dataclass(frozen=True)
class Finished:
    """What a program left: its exit status (negative: the signal that ended it) and everything it printed."""

    status: int
    output: str


# ---------------------------------------------------------------- reasons

HOSTS = (
    r"host='([^']+)'",
    r"https?://(?:[^@/\s]*@)?([^/\s:'\"]+)",
    r"UnknownHostException: (\S+?)[):,\s]",
    r"Host (\S+) not found",
    r"resolv(?:e|ing) (?:host:? )?'?([^'\s)]+\.[^'\s)]+)",
)
NOT_FOUND_HOST = (
    r"Name or service not known|Temporary failure (?:in name resolution|resolving)|nodename nor servname|No"
    r" address associated|"
    r"UnknownHostException|Could(?:n't| not) resolve|Failed to resolve|Host \S+ not found"
)
NOT_TRUSTED = (
    r"CERTIFICATE_VERIFY_FAILED|certificate verif\w+ failed|certificate is NOT trusted|"
    r"SSL certificate problem|self.signed certificate"
)
SILENT = (
    r"timed out|Timeout was reached|did not answer|Network is unreachable|No route to"
    r" host|NoRouteToHostException"
)

# In this order: what a program prints at its end ("not found") often follows from what it printed before ("no
# such host"). {host} is the host of the matching line, {0} the first group that matched, {proxy} the proxy of
# the environment; {peer} is that proxy when there is one: connections go to it.
REASONS: tuple[tuple[str, str], ...] = (
    (r"No space left on device|enough free (?:disk )?space|Disk quota exceeded", "the disk is full"),
    (r"407\b.*[Pp]roxy|Proxy Authentication Required", "{proxy} asks for a name and a password"),
    (
        (
            r"PKIX path building failed|unable to find valid certification path|trustAnchors parameter must"
            r" be non-empty"
        ),
        (
            "Java does not trust the certificate of {host}: add your organization's certificate to Java's"
            " trust store, or name a trust store with JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=FILE"
        ),
    ),
    (
        r"invalid path: (\S+)",
        (
            "the file of trusted certificates {0} does not exist; PIP_CERT, REQUESTS_CA_BUNDLE or"
            " SSL_CERT_FILE names it"
        ),
    ),
    (
        NOT_TRUSTED,
        (
            "the certificate of {host} is not trusted: name the file with your organization's certificate in"
            " PIP_CERT (pip) or add it to the system's certificates"
        ),
    ),
    (
        r"Cannot connect to proxy|Unable to (?:tunnel|connect).* proxy|Could not connect to .*proxy",
        "{proxy} cannot be reached",
    ),
    (NOT_FOUND_HOST, "the host {host} was not found; check the network and the proxy settings"),
    (r"Connection refused|ConnectionRefusedError|connection refused", "{peer} refused the connection"),
    (SILENT, "{peer} did not answer; check the network and the proxy settings"),
    (
        r"Connection reset|Remote end closed|Connection broken|IncompleteRead|Premature EOF",
        "the connection to {host} broke off",
    ),
    (
        (
            r"\b(401|403|429|5\d\d) (?:Client|Server) Error|(?:HTTP response code:?|status:?|error)"
            r" (401|403|429|5\d\d)\b"
        ),
        "{host} answered {0}",
    ),
    (
        r"No matching distribution found for ([^\s(]+)",
        "the package index has no {0} for this Python and this machine",
    ),
    (
        r"Could not lock|Could not get lock|Unable to acquire the dpkg",
        "another program is installing packages: wait until it is done",
    ),
    (
        r"Unable to locate package (\S+)|has no installation candidate",
        "this system's package lists do not have it",
    ),
    (r"dpkg was interrupted", "an earlier installation was interrupted: run dpkg --configure -a as root"),
    (r"Failed (?:building|to build).* wheel for (\S+)|Failed to build (\S+)", "{0} could not be built"),
    (r"No module named '?([\w.]+)", "Python's module {0} is missing"),
    (r"\[Errno 13\]|Permission denied", "writing is not permitted: {line}"),
    (r"Read-only file system", "the file system is read-only: {line}"),
)


def proxy_of_environment() -> str:
    """The proxy for https without name and password, or nothing."""
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        value = os.environ.get(name, "")
        if value:
            parts = urlsplit(value if "://" in value else f"http://{value}")
            return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    return ""


def reason(output: str, host: str = "the server") -> str | None:
    """One sentence without its full stop about why a download failed; None when the output does not show it.

    `host` is named when the output names none.
    """
    proxy = proxy_of_environment()
    for pattern, sentence in REASONS:
        found = re.search(pattern, output)
        if found is None:
            continue
        line = output[output.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0].strip()
        named = next((match[1] for match in (re.search(where, line) for where in HOSTS) if match), host)
        group = next((group for group in found.groups() if group), "")
        by = f"the proxy {proxy}" if proxy else "the proxy"
        peer = by if proxy and named not in ("localhost", "127.0.0.1") else named
        return sentence.format(group, host=named, proxy=by, peer=peer, line=line[-160:])
    return None


def why(finished: Finished, host: str = "the server") -> str:
    """The reason as above; for an unknown one the last words of the program, as they are."""
    if finished.status < 0:
        return f"it was stopped by signal {-finished.status}"
    known = reason(finished.output, host)
    if known is not None:
        return known
    lines = [line.strip() for line in finished.output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|Error|error|E)\b", line)]
    return (errors or lines or [f"exit status {finished.status}"])[-1]


# --------------------------------------------------------------- progress


class Progress:
    """One line that is rewritten on a terminal; in a log a line every ten seconds."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.began = time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.last = self.began

    @property
    def seconds(self) -> int:
        return round(time.monotonic() - self.began)

    def show(self, state: str, *, now: bool = False) -> None:
        text = f"{self.label}: {state} ({self.seconds} s)"
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{text[:width]}", end="", file=sys.stderr, flush=True)
        elif now or time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def end(self, line: str = "") -> None:
        """Clear the line; `line` stays in its place."""
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr)
        if line:
            print(f"{self.label}: {line}", file=sys.stderr)
        sys.stderr.flush()


def run(
    command: list[str],
    label: str,
    state_of: Callable[[str], str | None],
    *,
    first: str = "started",
    environment: dict[str, str] | None = None,
    time_limit: float | None = None,
) -> Finished:
    """Run a command without input and show its progress: `state_of` makes the state out of a line, or None.

    A download that is tried again is shown at once, with the reason.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        pass_fds=_locks,
    )
    assert process.stdout is not None
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        for raw in process.stdout:
            lines.put(raw)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    progress = Progress(label)
    state = first
    output: list[str] = []
    try:
        while True:
            with contextlib.suppress(queue.Empty):
                raw = lines.get(timeout=1)
                if raw is None:
                    break
                line = raw.decode("utf-8", "replace").rstrip()
                output.append(line)
                if "Retrying (" in line:
                    progress.show(f"trying again: {reason(line) or line}", now=True)
                state = state_of(line) or state
            progress.show(state)
            if time_limit is not None and progress.seconds > time_limit:
                process.kill()
                output.append(f"The server did not answer within {time_limit:.0f} seconds")
                time_limit = None
        process.wait()
    finally:
        if process.poll() is None:
            process.kill()
        progress.end()
    return Finished(process.returncode, "\n".join(output))


# ------------------------------------------------------------------- lock

_locks: tuple[int, ...] = ()


@contextlib.contextmanager
def locked(label: str, of: Path = PROJECT) -> Iterator[None]:
    """One installation of this at a time: into this folder, or of what a file of requirements names.

    The programs that are started inherit the lock: when this process is killed and its pip lives on, the next
    call waits for that pip.
    """
    global _locks
    handle = os.open(of, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{label}: waiting for another setup of this folder to finish", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        _locks = (handle,)
        yield
    finally:
        _locks = ()
        os.close(handle)


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    label, command = sys.argv[1], sys.argv[2:]
    try:
        done = run(command, label, lambda line: line.strip()[:100] or None)
    except OSError as problem:
        done = Finished(127, str(problem))
    except KeyboardInterrupt:
        return 130
    if done.status != 0:
        print(f"{label} failed: {why(done).rstrip('.')}.", file=sys.stderr)
    return 0 if done.status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
