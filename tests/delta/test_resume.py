"""A new checkpoint at the position that resume gives with the table's log at hand, run on Delta and counted
row by row."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.sources.base import ResumePoint
from core.checkpoint.sources.registry import parse
from core.connectors.delta.log import DeltaLog
from core.recovery import resume_points
from core.recovery.resume_delta import OUT_OF_RANGE, done_files, filter_code, with_table
from tests.support.delta_proof import Case, Fact, held

pytestmark = pytest.mark.delta
Make = Callable[..., Case]


def asked(made: Case) -> tuple[ResumePoint, object, DeltaLog]:
    """The answer with the table, the offset behind it, and the log."""
    (source,) = resume_points(Checkpoint.open(str(made.checkpoint))).sources
    offset, log = parse(source.offset), DeltaLog.open(str(made.source))
    return with_table(source.point, offset, log), offset, log


def start_anew(made: Case, **options: Any) -> Fact:
    """A new, empty checkpoint with these options into the same sink."""
    shutil.rmtree(made.checkpoint)
    made.options = {"maxFilesPerTrigger": 1, **options}
    return made.restart()


@pytest.mark.parametrize(
    ("base", "options"), [("plain", {"startingVersion": "5"}), ("inside", None), ("snapshot", None)]
)
def test_an_exact_start_repeats_and_loses_nothing(
    case: Make, base: str, options: dict[str, str] | None
) -> None:
    made = case(base)
    point, _, _ = asked(made)
    assert point.exact and point.options is not None and (options is None or dict(point.options) == options)
    assert ("excludeRegex" in point.options) == (base != "plain") and (
        "startingVersion" in point.options
    ) == (base != "snapshot")
    fact = start_anew(made, **point.options)
    assert not fact.causes and fact.against(made.expected) == (0, 0)


@pytest.mark.parametrize("base", ["inside", "snapshot"])
def test_the_same_as_a_filter_repeats_and_loses_nothing(case: Make, base: str) -> None:
    made = case(base)
    point, offset, log = asked(made)
    names = done_files(offset, log)
    assert names and point.options is not None
    shutil.rmtree(made.checkpoint)
    code = filter_code(names).replace("\n", "\n    ")
    start = {key: value for key, value in point.options.items() if key == "startingVersion"}
    lines = [
        "def shape(df):",
        f"    {code}",
        "    return df.select('id')",
        "result = run(shape=shape, maxFilesPerTrigger=1, **args['start'])",
    ]
    answer = made.script("\n".join(lines), start=start)
    assert not answer["causes"] and held(made.sink) == tuple(made.expected)


def test_the_plain_starts_around_a_position_inside_a_commit_repeat_or_lose_what_is_said(case: Make) -> None:
    made = case("inside")
    (source,) = resume_points(Checkpoint.open(str(made.checkpoint))).sources
    assert (
        "first 2 files of version 2" in source.point.repeats
        and "other files of version 2" in source.point.skips
    )
    kept = made.place / "kept"
    shutil.copytree(made.sink, kept)
    assert start_anew(made, startingVersion=2).against(made.expected) == (0, 10)
    shutil.rmtree(made.sink)
    kept.rename(made.sink)
    assert start_anew(made, startingVersion=3).against(made.expected) == (10, 0)


def test_a_caught_up_query_gets_no_option_and_both_ways_that_are_named_work(case: Make) -> None:
    made = case("done")
    point, _, _ = asked(made)
    assert (
        not point.exact
        and point.options is None
        and point.seed == "transplant"
        and OUT_OF_RANGE in point.note
    )
    refused = start_anew(made, startingVersion=7)
    assert refused.condition == "DELTA_VERSION_NOT_FOUND"
    made.conf = {OUT_OF_RANGE: "true"}
    assert not start_anew(made, startingVersion=7).causes
    made.put(70, 80)
    fact = made.restart()
    assert not fact.causes and fact.against(range(80)) == (0, 0)


def test_a_version_that_is_gone_is_refused_and_the_nearest_start_loses_what_is_said(case: Make) -> None:
    made = case()
    made.clean(before=6)
    point, _, _ = asked(made)
    assert not point.exact and point.options is None and point.skips == "with startingVersion=6: version 5"
    assert start_anew(made, startingVersion=5).condition == "DELTA_VERSION_NOT_FOUND"
    assert start_anew(made, startingVersion=6).against(made.expected) == (10, 0)


def test_after_a_compaction_the_files_of_the_snapshot_are_no_longer_named(case: Make) -> None:
    made = case("snapshot")
    made.sql("OPTIMIZE {source}")
    point, _, _ = asked(made)
    assert not point.exact and "no longer in the table" in point.note and point.seed == "transplant"


def test_a_snapshot_that_cannot_be_rebuilt_names_no_files(case: Make) -> None:
    made = case("snapshot")
    made.clean(before=3)
    point, _, _ = asked(made)
    assert not point.exact and "can no longer rebuild" in point.note and point.seed is None


def test_another_table_is_refused(case: Make) -> None:
    made = case()
    made.sql("CREATE OR REPLACE TABLE {source} USING delta AS SELECT id, id AS seq FROM range(5)")
    point, _, _ = asked(made)
    assert not point.exact and "has another id" in point.note


def test_an_older_copy_is_refused(case: Make) -> None:
    made = case()
    made.cut(after=2)
    point, _, _ = asked(made)
    assert not point.exact and "an older copy" in point.note
