"""Runs every verb while one file or directory of the store fails, and compares the answers with the healthy
ones.

    scripts/fault_injection                                    all of it: some 40,000 runs
    scripts/fault_injection --share 0.05 --verbs forecast,resume
    scripts/fault_injection --places files-died-mid-batch --kinds denied,vanish
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.fault_plans import ERROR_TEXT, PLACES, Broken, Plan, place_of, plans, runs
from tests.support.faults import KINDS, FaultyStores
from tests.support.scratch import scratch_root


def main() -> int:
    """The command line of ``scripts/fault_injection``."""
    parser = argparse.ArgumentParser(
        prog="scripts/fault_injection", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--places", default=",".join(PLACES), help="which checkpoints (default: all 14)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which faults (default: all 7)")
    parser.add_argument("--verbs", default="", help="which verbs (default: all)")
    parser.add_argument("--share", type=float, default=1.0, help="a share of the runs (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="which share (default 1)")
    args = parser.parse_args()
    kinds = [kind for kind in KINDS if kind in args.kinds.split(",")]
    verbs = [verb for verb in args.verbs.split(",") if verb]
    done: Counter[str] = Counter()
    broken: list[Broken] = []
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="faults-", dir=scratch_root()) as below,
        FaultyStores().installed() as stores,
    ):
        error = Path(below) / "error.txt"
        error.write_text(ERROR_TEXT)
        wanted: list[Plan] = [
            plan
            for name in args.places.split(",")
            for plan in plans(place_of(name, Path(below)), error)
            if not verbs or plan.verb in verbs
        ]
        for plan in wanted:
            number, wrong = 0, len(broken)
            for found in runs(stores, plan, kinds, args.share, args.seed):
                number += 1
                if found is not None:
                    broken.append(found)
                    print(found)
            done[plan.verb] += number
            print(f"{plan}: {number} runs, {len(broken) - wrong} break the rule", flush=True)
    for verb, number in sorted(done.items()):
        print(f"{verb:<10} {number:>7,}")
    took = time.monotonic() - began
    print(f"{done.total():,} runs in {took:,.0f} s: {len(broken)} break the rule")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
