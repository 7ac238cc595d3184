"""Make every change of a query on real checkpoints with the Spark of this environment, and compare what
happens
with what `changes` had said: by the form, and by the two query files.

Called by `scripts/prove-changes`. Bases are made once; each change is started on a copy. Whether rows are
wrong is
worked out by Spark: the changed query as a batch over the same files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from core.analysis.changes import AskedChange, ChangesReport, compare_plans, judge_changes
from core.analysis.changes.model import Judged
from core.analysis.changes.written_query import read_written_query
from core.analysis.forecast.versions import V40, parse_version
from core.checkpoint import Checkpoint
from core.rehearsal.process import PLANNER, run_worker
from core.settings import DEFAULTS
from core.storage import parse_location
from scripts.changes_page import PROVEN as TABLE
from scripts.changes_page import changes_page
from tests.support.changed_queries import PROVEN, SILENT, Change, Changes, Happened
from tests.support.query_files import programs
from tests.support.scratch import scratch_root
from tests.support.spark import PROJECT, spark_version, start_session, stop_session

NAMES = {each.name.partition(": ")[2] for each in SILENT} | {"another carried column of the type"}
NULLABLE_SWAP = "two aggregates swapped"
SILENT_HERE = {"the aggregation removed"} if spark_version() < V40 else set()
"""Up to 3.5 Spark drops the state without a word."""
AT_ONCE = 40  # query files in one process


@dataclass(frozen=True)
class Row:
    """One change: what was said in both ways, and what happened."""

    name: str
    form: str
    files: str
    spark: str
    agrees: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when something that was said was not so."""
    parser = argparse.ArgumentParser(prog="scripts/prove-changes", description=__doc__)
    parser.add_argument("--only", help="only changes whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth change")
    parser.add_argument("--write", action="store_true", help="put the table into docs/changes.md")
    asked = parser.parse_args(arguments)
    release = version("pyspark")
    chosen = [each for each in PROVEN if asked.only is None or asked.only in each.name][:: asked.every]
    with tempfile.TemporaryDirectory(prefix="prove-changes-", dir=scratch_root()) as place:
        rows = run(Path(place), chosen, ".".join(release.split(".")[:2]))
    wrong = [row for row in rows if not row.agrees]
    print(f"\nSpark {release}: {len(rows)} changes, {len(rows) - len(wrong)} as said, {len(wrong)} not")
    if asked.write:
        known = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        before = {row["name"]: row for row in known.get(release, ())}
        known[release] = list((before | {row.name: asdict(row) for row in rows}).values())
        TABLE.write_text(json.dumps(known, indent=1) + "\n")
        (PROJECT / "docs/changes.md").write_text(changes_page())
    return int(bool(wrong))


def run(place: Path, chosen: Sequence[Change], spark: str) -> list[Row]:
    """One row for each change."""
    session = start_session(scratch=place / "spark")
    try:
        changes = Changes(session, place / "bases")
        for change in chosen:
            changes.checkpoint(change.base)
        told = plans(place / "plans", chosen, changes)
        rows = []
        for at, change in enumerate(chosen):
            ck = Checkpoint.open(parse_location(str(changes.checkpoint(change.base))), DEFAULTS)
            rules = parse_version(spark)
            assert rules is not None
            compared = compare_plans(told[f"{at}-old"], told[f"{at}-new"], rules, read_written_query(ck))
            by_files = judge_changes(ck, (), spark, compared=compared)
            asked = [AskedChange(what, value) for what, value in form(change, spark).items()]  # type: ignore[arg-type]
            by_form = judge_changes(ck, asked, spark, sink=change.written_to)
            rows.append(judged(change, by_form, by_files, changes.try_change(change)))
            print(line(rows[-1]), flush=True)
        return rows
    finally:
        stop_session(session, place / "spark")


def form(change: Change, spark: str) -> dict[str, str]:
    """What somebody asks. Before 4.3 a count cannot be null and a sum can: swapped, their types differ."""
    is_swap = change.name.endswith(NULLABLE_SWAP) and spark != "4.3"
    return {"aggregates": "other_types"} if is_swap else dict(change.asked)


def plans(place: Path, chosen: Sequence[Change], changes: Changes) -> dict[str, Any]:
    """The plans of all query files, read by the process that `changes --old --new` starts."""
    place.mkdir()
    found: dict[str, Any] = {}
    runs: list[dict[str, object]] = []
    for at, change in enumerate(chosen):
        ck = changes.checkpoint(change.base)
        for name, text in zip(("old", "new"), programs(change, ck.parent, ck), strict=True):
            path = place / f"{at}_{name}.py"
            path.write_text(text)
            run = {"name": f"{at}-{name}", "query_file": str(path), "sources": [], "module": "__main__"}
            runs.append({**run, "write_batch": False, "location": str(ck), "conf": {}})
    settings = DEFAULTS.model_copy(update={"rehearsal_seconds": 600})
    for first in range(0, len(runs), AT_ONCE):
        directory = place / f"spark-{first}"
        directory.mkdir()
        some = runs[first : first + AT_ONCE]
        request = {
            "master": "local[2]",
            "remote": "",
            "memory": "1g",
            "is_here": True,
            "directory": str(directory),
            "all_directories": [],
            "conf": {"spark.sql.shuffle.partitions": "1"},
            "runs": some,
        }
        files = {str(each["name"]): str(each["query_file"]) for each in some}
        found |= run_worker(request, settings, directory, files, worker=PLANNER)[1]
    return found


def line(row: Row) -> str:
    """A row for the terminal."""
    mark = "ok   " if row.agrees else "WRONG"
    return f"{mark} {row.name} | form: {row.form} | files: {row.files} | Spark: {row.spark}"


def judged(change: Change, by_form: ChangesReport, by_files: ChangesReport, happened: Happened) -> Row:
    """Whether both ways said what happened."""
    form, files = worst_of(by_form), worst_of(by_files)
    return Row(
        change.name,
        in_words(form),
        in_words(files),
        really(happened),
        agrees(change, form, happened) and agrees(change, files, happened),
    )


def worst_of(report: ChangesReport) -> Judged | None:
    """The change that decides the outcome; None when nothing differs."""
    return next((each for each in report.changes if each.verdict == report.worst), None)


def agrees(change: Change, said: Judged | None, happened: Happened) -> bool:
    """Outcome, phase and condition are those that were said, and wrong rows were said to be wrong."""
    verdict = said.verdict if said is not None else "fine"
    if happened.error is not None:
        if said is None or verdict != "fails" or said.fails_at != happened.phase:
            return False
        if "without the check" in change.name:  # then it is another error, in the tasks
            return True
        if said.condition is None:
            return set(happened.conditions) <= {"STREAM_FAILED"}
        return said.condition in happened.conditions
    if happened.as_right is not None and (verdict == "silently_wrong") == happened.as_right:
        return False
    is_silent = change.name.partition(": ")[2] in (*NAMES, *SILENT_HERE)
    return verdict != "fails" and verdict != "unknown" and (verdict == "silently_wrong") == is_silent


def in_words(said: Judged | None) -> str:
    if said is None:
        return "fine (nothing differs)"
    words = said.verdict.replace("_", " ")
    if said.verdict == "fails":
        return f"{words} ({said.fails_at}, {said.condition or 'no condition'})"
    return words


def really(happened: Happened) -> str:
    if happened.error is not None:
        named = [each for each in happened.conditions if each != "STREAM_FAILED"]
        return f"fails ({happened.phase}, {named[0] if named else 'no condition'})"
    rows = {None: "", True: ", rows right", False: ", rows wrong"}[happened.as_right]
    return f"runs{rows}"


if __name__ == "__main__":
    sys.exit(main())
