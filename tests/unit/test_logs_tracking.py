"""Which ids are missing, and telling asynchronous gaps from removed files."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.tracking import LISTED_MISSING, Tracking, track


def tracked(offsets: Iterable[int], commits: Iterable[int] | None = None, **facts: object) -> Tracking:
    offset_ids = sorted(offsets)
    return track(offset_ids, sorted(commits if commits is not None else offset_ids), **facts)  # type: ignore[arg-type]


def test_a_log_without_gaps_is_ordinary_and_nothing_is_missing() -> None:
    found = tracked(range(101, 202), range(101, 201))
    assert (found.mode, found.missing_offsets, found.missing_commits) == ("sync", (), ())


@pytest.mark.parametrize(
    "ids", [[0, 6, 11, 16, 21, 26], [0, 2, 5, 8], [0, 5, 11], [0, 1, 6, 10], [0, 2, 4, 6, 8, 10]]
)
def test_sparse_logs_with_the_same_ids_are_asynchronous_and_nothing_is_missing(ids: list[int]) -> None:
    found = tracked(ids)
    assert (found.mode, found.missing_offsets, found.missing_commits) == ("async", (), ())


def test_an_asynchronous_log_may_lack_its_last_commits() -> None:
    found = tracked([0, 1, 6, 10], [0, 1, 6])
    assert (found.mode, found.missing_commits) == ("async", ())


def test_one_batch_lost_from_both_logs_of_a_dense_log_is_missing() -> None:
    found = tracked(set(range(12)) - {5})
    assert (found.mode, found.certainty, found.missing_offsets, found.missing_commits) == (
        "sync",
        "inferred",
        (5,),
        (5,),
    )


def test_a_lost_offset_file_whose_commit_is_there_is_missing() -> None:
    found = tracked(set(range(12)) - {5}, range(12))
    assert (found.mode, found.missing_offsets, found.missing_commits) == ("sync", (5,), ())


def test_a_lost_commit_file_whose_offset_is_there_is_missing() -> None:
    found = tracked(range(12), set(range(11)) - {5})
    assert (found.mode, found.missing_offsets, found.missing_commits) == ("sync", (), (5,))


def test_a_file_removed_from_an_asynchronous_log_is_missing_and_its_gaps_are_not() -> None:
    found = tracked([0, 6, 16, 21, 26], [0, 6, 11, 16, 26])
    assert (found.mode, found.missing_offsets, found.missing_commits) == ("async", (11,), (21,))


def test_gaps_of_a_query_with_state_are_missing_files_for_certain() -> None:
    found = tracked([0, 29, 30], [29, 30], has_state=True)
    assert (found.mode, found.certainty, found.missing_offsets) == ("sync", "certain", tuple(range(1, 29)))


def test_gaps_of_a_spark_without_asynchronous_progress_are_missing_files() -> None:
    assert tracked([0, 6, 11, 16], too_old=True).mode == "sync"


def test_checksum_files_left_behind_show_that_the_batches_were_there() -> None:
    found = tracked([0, 1, 5, 6], traces=range(7))
    assert (found.mode, found.missing_offsets) == ("sync", (2, 3, 4))


def test_two_files_far_apart_do_not_tell_which_it_is() -> None:
    assert (tracked([0, 6]).mode, tracked([0, 6]).certainty) == ("async", "needs_input")


def test_many_small_gaps_from_both_logs_are_asynchronous() -> None:
    assert tracked(set(range(40)) - {4, 15, 26}).mode == "async"


def test_commits_ahead_of_the_offsets_make_no_gap() -> None:
    found = tracked(range(4), range(8))
    assert (found.mode, found.missing_offsets, found.missing_commits) == ("sync", (), ())


def test_a_stray_huge_id_does_not_make_a_huge_list() -> None:
    found = tracked([0, 1, 2, 3, 10**15], range(4), has_state=True)
    assert (len(found.missing_offsets), found.missing_offset_count) == (LISTED_MISSING, 10**15 - 4)


def test_empty_logs_have_nothing_missing() -> None:
    for offsets, commits in (([], []), ([], [3]), ([3], [])):
        found = tracked(offsets, commits)
        assert (found.mode, found.missing_offsets, found.missing_commits) == ("sync", (), ())


IDS = st.sets(st.integers(0, 60), max_size=20)


@given(IDS, IDS, st.booleans(), st.booleans())
def test_missing_ids_are_absent_ids_between_first_and_last(
    offsets: set[int], commits: set[int], has_state: bool, too_old: bool
) -> None:
    found = track(sorted(offsets), sorted(commits), has_state=has_state, too_old=too_old)
    for ids, missing, count in (
        (offsets, found.missing_offsets, found.missing_offset_count),
        (commits, found.missing_commits, found.missing_commit_count),
    ):
        assert len(missing) == count
        assert list(missing) == sorted(set(missing) - ids)
        assert all(min(ids) < i < max(ids) for i in missing)
        if found.mode == "sync" and ids:
            assert set(missing) == set(range(min(ids), max(ids))) - ids
