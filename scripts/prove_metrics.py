"""Metrics, alert rules and scrape of docs/monitoring against a real Prometheus; see scripts/prove-metrics.

In the rules that Prometheus loads here every ``for:`` is 0 s: how long a rule waits is what `promtool test
rules` plays through.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.app import free_port

PROJECT = Path(__file__).resolve().parents[1]
MONITORING = PROJECT / "docs" / "monitoring"
SAMPLES = PROJECT / "sample_checkpoints"
SECONDS = 240
LATER = "SparkCheckpointSurveyStopped"  # fires once nothing is served any more


class ProofError(Exception):
    """Something did not hold, or is missing."""


def main() -> int:
    """0 when everything held."""
    try:
        find_programs()
        check_files()
        with tempfile.TemporaryDirectory() as folder:
            scrape(Path(folder))
    except ProofError as error:
        sys.exit(f"FAILED: {error}")
    return 0


def find_programs() -> None:
    """Raises ProofError when Prometheus is not there."""
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            raise ProofError(
                f"{program} was not found: run scripts/setup tests, or"
                " apt-get install -y --no-install-recommends prometheus"
            )


def check_files() -> None:
    """promtool accepts metrics, rules and scrape, and plays the rules through time. Raises ProofError."""
    text = _run([sys.executable, "-m", "core", "metrics", str(SAMPLES)])
    _run(["promtool", "check", "metrics"], text)
    _said("promtool check metrics", f"{text.count(chr(10))} lines")
    _run(["promtool", "check", "rules", str(MONITORING / "alerts.yml")])
    _run(["promtool", "check", "config", str(MONITORING / "prometheus.yml")])
    _said("promtool check rules, check config", "no complaint")
    _run(["promtool", "test", "rules", str(MONITORING / "alerts.test.yml")])
    _said("promtool test rules", "every rule fires after its time")


def scrape(folder: Path) -> None:
    """A real Prometheus scrapes the samples and an alert of each rule fires. Raises ProofError."""
    rules = (MONITORING / "alerts.yml").read_text(encoding="utf-8")
    wanted = set(re.findall(r"alert: (\w+)", rules))
    (folder / "alerts.yml").write_text(re.sub(r"for: \w+", "for: 0s", rules), encoding="utf-8")
    ours, theirs = free_port(), free_port()
    config = (MONITORING / "prometheus.yml").read_text(encoding="utf-8")
    config = config.replace("60s", "1s").replace("127.0.0.1:9117", f"127.0.0.1:{ours}")
    (folder / "prometheus.yml").write_text(config, encoding="utf-8")
    metrics = [sys.executable, "-m", "core", "metrics", str(SAMPLES), str(folder / "gone")]
    prometheus = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
    ]
    address = f"http://127.0.0.1:{theirs}"
    with ExitStack() as running:
        running.enter_context(_running([*prometheus, f"--web.listen-address=127.0.0.1:{theirs}"]))
        with _running([*metrics, "--serve", str(ours), "--every", "5"]):
            _wait_for(address, wanted - {LATER})
        _wait_for(address, {LATER})


def _wait_for(address: str, wanted: set[str]) -> None:
    began = time.monotonic()
    firing: set[str] = set()
    while not wanted <= firing:
        if time.monotonic() - began > SECONDS:
            raise ProofError(f"after {SECONDS} s these have not fired: {sorted(wanted - firing)}")
        time.sleep(1)
        try:
            with urllib.request.urlopen(f"{address}/api/v1/alerts", timeout=10) as answer:
                alerts = json.load(answer)["data"]["alerts"]
        except OSError:
            continue
        firing |= {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}
    _said(f"fires within {time.monotonic() - began:.0f} s", ", ".join(sorted(wanted)))


@contextmanager
def _running(command: list[str]) -> Iterator[None]:
    with subprocess.Popen(
        command, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def _run(command: list[str], given: str | None = None) -> str:
    done = subprocess.run(command, cwd=PROJECT, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProofError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _said(what: str, result: str) -> None:
    print(f"ok  {what}: {result}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
