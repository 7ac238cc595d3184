"""Starts the app on a free port, as people start it, and ends it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 90


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(roots: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a fresh server, ``http://127.0.0.1:<port>``. ``roots``: name -> location, default the samples."""
    port = free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKPOINT_EXPLORER_", "STREAMLIT_"))}
    env |= dict(environment or {})
    if roots is not None:
        env["CHECKPOINT_EXPLORER_ROOTS"] = json.dumps(dict(roots))
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port", str(port)]
    with subprocess.Popen(command, cwd=PROJECT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            _wait_until_healthy(server, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_healthy(server: subprocess.Popen[str], port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            output = server.stdout.read() if server.stdout else ""
            raise RuntimeError(f"The app ended while starting: {output[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
                if answer.read().decode().strip() == "ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"The app did not answer within {START_SECONDS} s.")
