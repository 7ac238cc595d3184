"""The command line of ``scripts/fuzz``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from scripts import fuzzing
from scripts.fuzzing import Bases, run_case, run_cases
from scripts.fuzzing_pages import run_page_case
from tests.support.scratch import scratch_root


def main() -> int:
    """Runs cases, or one of them; 1 when one failed."""
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz", description=fuzzing.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="default 1")
    parser.add_argument("--case", type=int, help="run this case alone and show it")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="with --case: leave the checkpoint there")
    parser.add_argument("--pages", action="store_true", help="links to the pages instead of the verbs")
    args = parser.parse_args()
    run = run_page_case if args.pages else run_case
    if args.case is not None:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=scratch_root()) as below:
            place = args.keep or Path(below) / "case"
            failure = run(args.seed, args.case, Bases(Path(below) / "corpus"), place, shows=True)
        print(failure or "no failure")
        return int(failure is not None)
    number, failures = run_cases(args.seed, iter(range(10**9)), args.seconds, run)
    print(f"{number:,} cases, seed {args.seed}: {len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
