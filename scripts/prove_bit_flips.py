"""Flip single bits in state files that the next start needs, ask the deep check, and start real Spark.

Called by `scripts/prove-bit-flips`. A start that ends the JVM (a flipped bit taken for a length of gigabytes)
counts as one that fails; the next flip gets a new JVM.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.bit_flips import STORES, Flipping, Result, table
from tests.support.scratch import scratch_root
from tests.support.spark import SMALL_JOBS, start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EACH, SEED = 8, 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-bit-flips", description=__doc__)
    parser.add_argument("--each", type=int, default=EACH, metavar="N", help="so many flips per store")
    parser.add_argument("--seed", type=int, default=SEED)
    names = [store.name for store in STORES]
    parser.add_argument("stores", nargs="*", metavar="STORE", help=f"one of {', '.join(names)}")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.stores) - set(names):
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    results: list[Result] = []
    with tempfile.TemporaryDirectory(
        prefix="bit-flips-", dir=scratch_root(), ignore_cleanup_errors=True
    ) as place:
        session = new_session(Path(place))
        flipping = Flipping(session, Path(place) / "work", lambda: again(Path(place)))
        for store in STORES:
            if asked.stores and store.name not in asked.stores:
                continue
            for result in flipping.results(store, asked.each, asked.seed):
                results.append(result)
                print(result, flush=True)
        stop_session(flipping.session)
    print(f"\n{table(results)}")
    return int(any(result.is_missed or result.is_false_alarm for result in results))


def new_session(place: Path) -> SparkSession:
    """A session of its own; most of its starts are meant to fail, so it logs nothing."""
    options = f"{SMALL_JOBS} -Djava.io.tmpdir={place} -Dderby.system.home={place}"
    session = start_session("bit-flips", scratch=place, extra={"spark.driver.extraJavaOptions": options})
    session.sparkContext.setLogLevel("OFF")
    return session


def again(place: Path) -> SparkSession:
    """A session in a new JVM, after the other one has ended."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with contextlib.suppress(Exception):
        SparkContext._active_spark_context._gateway.shutdown()  # type: ignore[union-attr]
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    return new_session(place)


if __name__ == "__main__":
    sys.exit(main())
