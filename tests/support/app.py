"""Starts the app on a free port, as people start it, and ends it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 90


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class RunningApp:
    """A server that runs: ``address`` is ``http://127.0.0.1:<port>``, ``log`` the file its messages go to."""

    address: str
    log: Path

    def said(self) -> str:
        """The last messages of the server."""
        return self.log.read_text(errors="replace")[-4_000:]


@contextmanager
def running_app(
    roots: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[RunningApp]:
    """A fresh server. ``roots``: name -> location, default the samples."""
    port = free_port()
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CHECKPOINT_EXPLORER_", "STREAMLIT_"))
    }
    env |= dict(environment or {})
    if roots is not None:
        env["CHECKPOINT_EXPLORER_ROOTS"] = json.dumps(dict(roots))
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "server.py",
        "--server.headless",
        "true",
        "--server.port",
        str(port),
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        (Path(folder) / "server.log").open("w") as log,
        subprocess.Popen(command, cwd=PROJECT, env=env, stdout=log, stderr=subprocess.STDOUT) as server,
    ):
        app = RunningApp(f"http://127.0.0.1:{port}", Path(log.name))
        try:
            _wait_until_healthy(server, port, app)
            yield app
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_healthy(server: subprocess.Popen[bytes], port: int, app: RunningApp) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"The app ended while starting: {app.said()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
                if answer.read().decode().strip() == "ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"The app did not answer within {START_SECONDS} s.")
