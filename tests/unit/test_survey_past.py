"""What kept surveys know beyond the checkpoint: joined, put before it, never in its place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from core.analysis.past_batches import BatchTimes, batch_times, joined, no_batches, with_past
from core.analysis.timeline import STATUSES, UNKNOWN_MS, build_timeline
from core.checkpoint import Checkpoint
from core.cli import main
from core.settings import DEFAULTS, RootSettings, Settings
from core.survey.kept import KeptHistory, kept_histories
from tests.support.build import QUERY_ID, commit_text, kafka_offset, offset_text, write
from tests.support.spy import no_writes

START_MS = 1_795_176_000_000


def team(root: Path, ids: range, committed: range | None = None, query_id: str = QUERY_ID) -> Path:
    """A checkpoint that has these batches, one every ten seconds; what it had before is purged."""
    shutil.rmtree(root, ignore_errors=True)
    tree: dict[str, str | bytes] = {"metadata": f'{{"id":"{query_id}"}}'}
    for batch in ids:
        tree[f"offsets/{batch}"] = offset_text([kafka_offset(batch)], timestamp_ms=START_MS + batch * 10_000)
    for batch in ids if committed is None else committed:
        tree[f"commits/{batch}"] = commit_text()
    write(root, tree)
    for batch in ids:
        for log, after_ms in (("offsets", 5), ("commits", 1_500)):
            if (file := root / log / str(batch)).exists():
                moment = (START_MS + batch * 10_000 + after_ms) / 1000
                os.utime(file, (moment, moment))
    return root


def survey(root: Path, kept: Path) -> None:
    main(["survey", str(root), "--to", str(kept)])


def history(kept: Path, ck: Path, query_id: str | None = QUERY_ID, files: int = 3_000) -> KeptHistory:
    return kept_histories(Settings(history=str(kept), history_files=files), {str(ck): query_id})[str(ck)]


def ids_of(found: BatchTimes) -> list[int]:
    return list(found.batch_ids)


def test_batches_of_all_surveys_stand_before_those_of_the_checkpoint(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    for ids in (range(0, 100), range(80, 180), range(150, 250)):
        survey(team(ck, ids), kept)
    timeline = build_timeline(Checkpoint.open(str(team(ck, range(200, 300)))))
    with no_writes(kept):
        past = history(kept, ck)
    shown = with_past(timeline, past.batches)
    assert shown.batch_ids.tolist() == list(range(300))
    assert shown.from_history.tolist() == [True] * 200 + [False] * 100
    assert shown.removed_before == timeline.removed_before == 200
    assert np.array_equal(shown.gap_ms[200:], timeline.gap_ms)
    assert len(past.surveys) == 3 and past.trouble == ()


def test_a_batch_that_was_pending_counts_as_it_was_seen_with_its_commit(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    survey(team(ck, range(0, 11), committed=range(0, 10)), kept)
    survey(team(ck, range(5, 15)), kept)
    survey(team(ck, range(8, 13), committed=range(8, 12)), kept)
    found = history(kept, ck).batches
    assert ids_of(found) == list(range(15))
    assert {STATUSES[code] for code in found.status} == {"committed"}


def test_a_batch_that_was_never_seen_committed_is_not_pending_today(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    survey(team(ck, range(0, 6), committed=range(0, 5)), kept)
    timeline = with_past(
        build_timeline(Checkpoint.open(str(team(ck, range(20, 30))))), history(kept, ck).batches
    )
    assert timeline.count("pending") == 0 and timeline.count("superseded") == 1
    # Nobody surveyed batches 6 to 19: how long it was to the start of the next one is not known.
    assert timeline.gap_ms[timeline.row(5)] == UNKNOWN_MS


def test_what_the_checkpoint_has_is_never_replaced(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    survey(team(ck, range(0, 20)), kept)
    timeline = build_timeline(Checkpoint.open(str(team(ck, range(0, 12)))))  # rolled back
    assert with_past(timeline, history(kept, ck).batches) is timeline


def test_a_checkpoint_without_batches_shows_all_that_the_history_knows(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    survey(team(ck, range(0, 20)), kept)
    timeline = build_timeline(Checkpoint.open(str(team(ck, range(0)))))
    assert len(with_past(timeline, history(kept, ck).batches)) == 20


def test_another_query_in_the_same_directory_is_another_history(tmp_path: Path) -> None:
    ck, kept, other = tmp_path / "ck", tmp_path / "kept", "22222222-2222-4222-8222-222222222222"
    survey(team(ck, range(0, 20)), kept)
    survey(team(ck, range(0, 5), query_id=other), kept)
    assert ids_of(history(kept, ck, other).batches) == list(range(5))
    assert ids_of(history(kept, ck).batches) == list(range(20))
    assert len(history(kept, ck, None).surveys) == 2  # nobody knows which query it is


def test_files_that_are_no_surveys_are_named_and_cost_nothing_else(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    survey(team(ck, range(0, 5)), kept)
    whole = next(kept.glob("*.parquet")).read_bytes()
    parquet.write_table(parquet.read_table(kept).select(["path"]), kept / "other.parquet")
    (kept / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (kept / "empty.parquet").write_bytes(b"")
    (kept / "_temporary").mkdir()
    (kept / "_temporary" / "half.parquet").write_bytes(b"half")
    (kept / ".hidden.parquet").write_bytes(b"half")
    (kept / "_SUCCESS").write_bytes(b"")
    found = history(kept, ck)
    assert ids_of(found.batches) == list(range(5))
    (said,) = found.trouble
    assert said.startswith("3 files") and "cut.parquet" in said


def test_the_oldest_files_are_left_out(tmp_path: Path) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    for number, ids in enumerate((range(0, 5), range(5, 10), range(10, 15))):
        survey(team(ck, ids), kept)
        (newest,) = [file for file in kept.iterdir() if not file.name.startswith("old")]
        newest.rename(kept / f"old-{number}.parquet")
    found = history(kept, ck, files=2)
    assert len(found.surveys) == 2 and found.trouble[0].startswith("1 file of the history")


def test_a_place_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    found = history(tmp_path / "nothing", tmp_path / "ck")
    assert found.surveys == () and len(found.batches) == 0
    assert found.trouble[0].startswith("The history of surveys could not be read")
    assert kept_histories(DEFAULTS, {str(tmp_path): None}) == {}


@pytest.mark.parametrize("named", ["prod/kept", "{tmp}/kept"])
def test_a_server_reads_the_place_of_the_setting_inside_a_root_or_not(tmp_path: Path, named: str) -> None:
    ck, kept = tmp_path / "ck", tmp_path / "kept"
    survey(team(ck, range(0, 5)), kept)
    root = tmp_path if named.startswith("prod") else tmp_path / "elsewhere"
    settings = Settings(
        history=named.replace("{tmp}", str(tmp_path)),
        roots={"prod": RootSettings(url=str(root))},
        address="0.0.0.0",
        hosts="example.org",
    )
    assert ids_of(kept_histories(settings, {str(ck): QUERY_ID})[str(ck)].batches) == list(range(5))


def test_a_survey_keeps_the_newest_thousand(tmp_path: Path) -> None:
    timeline = build_timeline(Checkpoint.open(str(team(tmp_path / "ck", range(0, 1_200)))))
    kept = batch_times(timeline)
    assert (len(kept), kept.batch_ids[0]) == (1_000, 200)
    assert joined([kept, kept]) == kept and joined([]) == no_batches()
