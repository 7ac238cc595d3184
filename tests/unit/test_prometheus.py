"""The metrics, the alert rules and the scrape of docs/monitoring with a real Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import prove_metrics


@pytest.fixture
def prometheus() -> Iterator[None]:
    """promtool and prometheus; a machine without them fails the test in one sentence."""
    try:
        prove_metrics.find_programs()
    except prove_metrics.ProofError as error:
        pytest.fail(str(error), pytrace=False)
    yield


@pytest.mark.usefixtures("prometheus")
def test_promtool_accepts_metrics_rules_and_scrape_and_plays_the_rules_through_time() -> None:
    prove_metrics.check_files()


@pytest.mark.usefixtures("prometheus")
def test_prometheus_scrapes_the_samples_and_an_alert_of_each_rule_fires(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prove_metrics.scrape(tmp_path)
    rules = (prove_metrics.MONITORING / "alerts.yml").read_text(encoding="utf-8")
    fired = set(re.findall(r"Spark\w+", capsys.readouterr().out))
    assert fired == set(re.findall(r"alert: (\w+)", rules))


def test_without_prometheus_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(prove_metrics.ProofError, match=r"prometheus was not found: run scripts/setup tests"):
        prove_metrics.find_programs()
