"""Look at the checkpoints of running queries again and again: forecast and check may say nothing worse than a
note.

Called by `scripts/prove-live`. Every tenth look decodes the state files as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.forecast.model import Level
from tests.support.live import QUERIES, Live, look, newest, running
from tests.support.scratch import scratch_root
from tests.support.spark import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTES, EVERY = 10.0, "200 milliseconds"
FEWEST_BATCHES_A_SECOND = 4.0
DEEP_EVERY = 10


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-live", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for each query")
    parser.add_argument("--every", default=EVERY, help="Spark's trigger")
    names = [live.name for live in QUERIES]
    parser.add_argument("queries", nargs="*", metavar="QUERY", help=f"one of {', '.join(names)}")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.queries) - set(names):
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    is_wrong = False
    with tempfile.TemporaryDirectory(prefix="live-", dir=scratch_root(), ignore_cleanup_errors=True) as place:
        session = start_session("live", scratch=Path(place) / "spark")
        for live in QUERIES:
            if not asked.queries or live.name in asked.queries:
                is_wrong |= watch(session, live, Path(place) / live.name, asked.minutes * 60, asked.every)
        stop_session(session)
    return int(is_wrong)


def watch(session: SparkSession, live: Live, root: Path, seconds: float, every: str) -> bool:
    """Whether anything was wrong in so many seconds."""
    said: Counter[str] = Counter()
    looks = 0
    with running(session, live, root, every) as query:
        began, first = time.monotonic(), newest(root)
        while time.monotonic() - began < seconds:
            level: Level = "deep" if looks % DEEP_EVERY == DEEP_EVERY - 1 else "normal"
            said.update(look(root, level))
            looks += 1
            if not query.isActive:
                raise RuntimeError(f"{live.name} ended: {query.exception()}")
        batches = newest(root) - first
        rate = batches / (time.monotonic() - began)
    print(f"{live.name}: {looks} looks at {batches} batches ({rate:.1f} a second), {said.total()} complaints")
    for text, times in said.most_common(20):
        print(f"  {times} x {text}")
    return bool(said) or rate < FEWEST_BATCHES_A_SECOND


if __name__ == "__main__":
    sys.exit(main())
