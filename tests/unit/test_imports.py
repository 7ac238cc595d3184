"""What a verb imports: the libraries that take long to import only where something is asked of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.build import PROJECT, SAMPLES

HEAVY = {
    "aiobotocore",
    "aiohttp",
    "botocore",
    "confluent_kafka",
    "cramjam",
    "crc32c",
    "jinja2",
    "numpy",
    "pandas",
    "prometheus_client",
    "pyarrow",
    "pydantic_settings",
    "pyspark",
    "s3fs",
    "streamlit",
    "xxhash",
}
PROGRAM = """
import contextlib, io, sys
from core.cli import main
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    status = main(sys.argv[1:])
print(status, *sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize(
    "sample", ["files-stopped-cleanly", "windowed-aggregation-hot-partition", "kafka-topic-gained-partitions"]
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_inspect_imports_nothing_that_it_does_not_use(sample: str, options: tuple[str, ...]) -> None:
    place = SAMPLES / sample / "checkpoint"
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, "inspect", str(place), *options],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    status, *imported = answer.stdout.split()
    assert status == "0", answer.stderr
    assert "core" in imported and not HEAVY.intersection(imported)
