"""A script from its arguments to its exit status: the plan, a dry run, the run itself, a rehearsal."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.recovery.kit.ending import refused, stopped, verdict
from core.recovery.kit.files import Files
from core.recovery.kit.query import QueryRun
from core.recovery.kit.rehearsing import prepare_rehearsal
from core.recovery.kit.run import Run
from core.recovery.kit.words import KIT_VERSION, Refused, show

KIT_MARK = "# ==== "
"""How the line begins below which a script carries the kit."""


def carry_out(run: Run, execute: bool, is_stopped: bool) -> int:
    """Looks, and with ``execute`` does every step and verifies; gives the exit status."""
    run.is_stopped = is_stopped
    try:
        if not execute:
            run.look(run)
            show(
                "Every check that only reads has passed. Nothing was changed. Run the script with --execute "
                "to carry out the plan."
            )
            return 0
        checks = run.recover(run)
    except Refused as reason:
        return refused(reason, run.changed)
    except Exception as error:
        return stopped(run, error)
    show("Verification:")
    status = verdict(checks)
    if status == 3:
        show(run.ending_of_3)
        return status
    show(run.ending_of_5 if status == 5 else run.ending_of_0)
    if run.afterwards:
        show(run.afterwards)
    elif not run.rehearsed_in:
        show(f"From now on run the query with checkpointLocation {run.new_checkpoint!r}.")
    return status


def rehearse(run: Run, directory: str) -> int:
    """All steps, on copies of the checkpoint and of the output; for a repair, which only reads them, into a
    new directory in the place of NEW_CHECKPOINT."""

    def steps(files: Files, place: str) -> int:
        if isinstance(run, QueryRun):
            prepare_rehearsal(run, files, place)
            return carry_out(run, True, True)
        run.look(run)
        run.new_checkpoint = f"{place}/checkpoint"
        files.make(place)
        status = carry_out(run, True, True)
        if directory and status in (0, 5):
            show(f"To try a start: python -m core rehearse {run.new_checkpoint} --query FILE")
        return status

    return tried(run, run.originals(), directory, steps)


def tried(run: Run, originals: list[str], directory: str, steps: Callable[[Files, str], int]) -> int:
    """The status of ``steps``, which get the files and a new directory. Without a name the directory is a
    temporary one of this machine, and is removed; the originals are compared before and after."""
    files, watched = run.files, [each for each in originals if each]
    place = directory.rstrip("/") if directory else tempfile.mkdtemp(prefix="recovery-rehearsal-")
    try:
        if directory and files.exists(place):
            raise Refused(
                f"{place} exists already. Name a new directory, or none: then a temporary one is made."
            )
        if files.exists(run.record_place):
            raise Refused(
                f"{run.record_place} shows that this script has been carried out, or has begun: a rehearsal "
                "begins before that."
            )
        before = {each: files.stamps(each) for each in watched}
        run.rehearsed_in = place
        show(f"Rehearsal in {place}.")
        status = steps(files, place)
        changed = [each for each in watched if files.stamps(each) != before[each]]
    except Refused as reason:
        return refused(reason, [])
    except Exception as error:
        return stopped(run, error)
    finally:
        if not directory:
            shutil.rmtree(place, ignore_errors=True)
    if changed:
        show(f"Changed during the rehearsal, by this script or by somebody else: {', '.join(changed)}.")
        return 3
    show(f"This was a rehearsal: nothing has changed in {', '.join(watched)}.")
    show(f"The copies are in {directory}; remove them." if directory else "The copies are removed.")
    return status


def arguments_of(given: list[str] | None = None) -> argparse.Namespace:
    """The arguments of a script."""
    parser = argparse.ArgumentParser(description="Prints the plan; with --execute carries it out.")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--execute", action="store_true", help="carry out the steps; without it nothing is changed"
    )
    ways.add_argument(
        "--rehearse",
        nargs="?",
        const="",
        metavar="DIR",
        help="carry out the steps on copies (in a new directory DIR, which stays)",
    )
    parser.add_argument(
        "--query-is-stopped",
        action="store_true",
        help="you have stopped the old query and its automatic restarts",
    )
    return parser.parse_args(given)


def kit_of(script: str) -> tuple[str, str]:
    """The two parts of a script: its own lines with the line that marks the kit, and the kit."""
    own, mark, rest = script.partition(f"\n{KIT_MARK}")
    line, end, kit = rest.partition("\n")
    return f"{own}{mark}{line}{end}", kit


def check_kit(script: Mapping[str, Any]) -> None:
    """Says when the kit in this file is not the one that was handed out."""
    try:
        text = Path(script["__file__"]).read_text(encoding="utf-8")
    except (KeyError, OSError, ValueError):
        return  # not started from a file
    found = hashlib.sha256(kit_of(text)[1].encode()).hexdigest()
    if found != script["KIT_SHA256"]:
        show(f"The kit in this file is not kit {KIT_VERSION} as it was handed out: its SHA-256 is {found}.")


def run_of(script: Mapping[str, Any]) -> Run:
    """The run of a script, by what it has at its top."""
    return QueryRun(script) if "QUERY_FILE" in script else Run(script)


def main(script: Mapping[str, Any]) -> int:
    """Runs a script, whose values and steps these are; gives its exit status."""
    arguments = arguments_of()
    run = run_of(script)
    check_kit(script)
    for number, line in enumerate(run.plan, 1):
        show(f"{number}. {line}")
    if run.missing:
        show("Refused: fill in these values at the top of the script:")
        for line in run.missing:
            show(f"  {line}")
        return 4
    try:
        run.load()
        run.begin(run.session())
    except Refused as reason:
        return refused(reason, [])
    except Exception as error:
        return stopped(run, error)
    try:
        if arguments.rehearse is not None:
            return rehearse(run, arguments.rehearse)
        return carry_out(run, arguments.execute, arguments.query_is_stopped)
    finally:
        run.spark.stop()


if __name__ == "__main__":
    sys.exit(main(globals()))
