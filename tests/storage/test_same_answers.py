"""Every verb answers the same wherever a checkpoint lies: on the local disk, in memory, and on S3 by both
clients."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import fsspec
import pytest

from core.cli import main
from core.settings import PREFIX, get_settings
from core.storage.filesystems import forget
from scripts.compare_answers import differences
from tests.spark.cases import BEFORE_RELEASE
from tests.storage.conftest import BUCKET
from tests.support.build import PROJECT
from tests.support.s3 import KEY, REGION, SECRET, S3Server

pytestmark = pytest.mark.slow

SAMPLES = PROJECT / "sample_checkpoints"
CHOSEN = [
    "files-died-mid-batch",
    pytest.param("join-watermark-held-back", marks=BEFORE_RELEASE),
    "missing-delta-file",
    "transform-with-state-timers",
]
RUNS = [
    ["inspect", "--all"],
    ["forecast"],
    ["check", "--level", "deep"],
    ["resume"],
    ["recover"],
    ["changes"],
    ["state", "--replay"],
    ["report"],
    ["survey"],
    ["metrics"],
]
# The copies on the local disk and in memory will not last, which is a finding of its own.
COUNTS_FINDINGS = ("check", "report", "survey", "metrics")

# Times of files: a store gives its own, S3 in whole seconds.
OF_TIMES = re.compile(
    r"(_ms|_at|age|seconds|time|pace|duration|first|newest|samples|oldest|sentence|liveness)"
)


def may_differ(path: str) -> bool:
    """What depends on the kind of store: times of files, and how many requests were sent."""
    return ".read." in path or OF_TIMES.search(path.rsplit(".", 1)[-1]) is not None


def answers(place: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What every verb says about the checkpoint, without its place."""
    found: dict[str, Any] = {}
    for verb, *more in RUNS:
        status = main([verb, place, *more, "--json"])
        shown = capsys.readouterr()
        text = shown.out.replace(place, "LOCATION")
        found[verb] = {"exit_status": status, "answer": json.loads(text) if text else None}
        found[verb]["stderr"] = shown.err.replace(place, "LOCATION")
    return found


def local_copy(sample: str, target: Path) -> Path:
    """The sample with the times of now, without Hadoop's checksums, which an object store does not have."""
    now = time.time() // 1 - 60
    for path in sorted((SAMPLES / sample / "checkpoint").rglob("*")):
        if path.is_file() and path.suffix != ".crc":
            place = target / sample / path.relative_to(SAMPLES / sample / "checkpoint")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
            os.utime(place, (now, now))
    return target / sample


@pytest.mark.parametrize("sample", CHOSEN)
def test_every_verb_answers_the_same_by_both_clients_of_s3_and_elsewhere(
    sample: str,
    s3_server: S3Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory = local_copy(sample, tmp_path)
    now_ns = time.time_ns()  # every answer is of this moment: "6 d 21 h ago" is an hour more soon enough
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    monkeypatch.setattr(time, "time", lambda: now_ns / 1e9)
    s3_server.upload(BUCKET, f"same/{sample}", directory)
    memory = fsspec.filesystem("memory")
    memory.put(str(directory), f"/same-{sample}", recursive=True)
    for name, value in (("ACCESS_KEY_ID", KEY), ("SECRET_ACCESS_KEY", SECRET), ("DEFAULT_REGION", REGION)):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    monkeypatch.setenv(PREFIX + "CONTENT_CACHE_BYTES", "0")
    found = {}
    for client in ("auto", "s3fs"):
        monkeypatch.setenv(PREFIX + "S3_CLIENT", client)
        get_settings.cache_clear()
        forget()
        found[client] = answers(f"s3://{BUCKET}/same/{sample}", capsys)
    found["local"] = answers(str(directory), capsys)
    found["memory"] = answers(f"memory://same-{sample}", capsys)
    get_settings.cache_clear()
    assert found["auto"]["inspect"]["exit_status"] in (0, 1), found["auto"]["inspect"]["stderr"]
    assert found["auto"]["inspect"]["answer"]
    assert [each for each in differences(found["s3fs"], found["auto"]) if "moment_ms" not in each.path] == []
    for other in ("local", "memory"):
        ours, theirs = (
            {verb: answer for verb, answer in found[which].items() if verb not in COUNTS_FINDINGS}
            for which in ("auto", other)
        )
        facts = [each for each in differences(theirs, ours) if each.sort == "fact"]
        assert [each.path for each in facts if not may_differ(each.path)] == []
