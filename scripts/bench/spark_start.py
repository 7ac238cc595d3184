"""How long Spark takes to start for the app, with the archive of its classes and without, in one run.

    .venv/bin/python -m scripts.bench.spark_start [--rounds 5] [--write]

Both ways take turns: the app's worker process is started, and has answered its first job when it says that
it is ready. Wall seconds, for that is what somebody at a page waits for; quote the LOWEST ratio, on a quiet
machine. A first start of each way is not counted. ``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from core.settings import Settings
from core.spark.java import archive_of, stamp_of
from core.spark.process import WorkerProcess
from scripts.bench.table import machine, put


def seconds_to_ready(settings: Settings, place: Path) -> float:
    """One start, then its end."""
    began = time.perf_counter()
    process = WorkerProcess(settings, place / "worker", place)
    try:
        if not process.wait_ready(300):
            raise SystemExit("bench: Spark has not started after 300 s")
        return time.perf_counter() - began
    finally:
        process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args()
    stamp = stamp_of(archive_of())
    if not stamp.exists():
        raise SystemExit("bench: there is no archive; .venv/bin/python scripts/class_archive.py makes it")
    put_aside = stamp.with_suffix(".aside")
    settings, place = Settings(), Path(tempfile.mkdtemp(prefix="bench-"))
    rounds: list[tuple[float, float]] = []
    try:
        for _ in range(args.rounds + 1):
            stamp.replace(put_aside)  # without it the archive is not used
            try:
                without = seconds_to_ready(settings, place)
            finally:
                put_aside.replace(stamp)
            rounds.append((without, seconds_to_ready(settings, place)))
            print(f"without {rounds[-1][0]:6.2f} s   with {rounds[-1][1]:6.2f} s", flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    without, with_it = min(rounds[1:], key=lambda both: both[0] / both[1])
    mib = archive_of().stat().st_size / 1024**2
    lines = [
        "| start of Spark | without, s | with the archive, s | ratio (lowest of the rounds) |",
        "|---|---|---|---|",
        f"| `local[2]`, 1 GB | {without:.1f} | {with_it:.1f} | **{without / with_it:.1f}×** |",
        "",
        f"{args.rounds} rounds, Spark {version('pyspark')}, archive {mib:.0f} MiB. {machine()}",
    ]
    print("\n".join(lines))
    if args.write:
        put("spark start", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
