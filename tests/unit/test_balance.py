"""How evenly state is spread, and what the title says about it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.balance import Balance, Measure, balance, growth
from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.state import StateContext, inventory, state_inventory
from core.storage import FileInfo
from tests.support.build import SAMPLES, sample_names

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
ID = "713bb905-9ba4-4cdd-8eb0-9dbbdf60e075"
MEASURES: tuple[Measure, ...] = ("state", "kept", "written")
OTHER = "2d9d4dbd-7fc6-41a2-b185-823a12365b21"


def operator_of(listing: Mapping[str, int], **context: object) -> OperatorState:
    """The operator of a listing {path below state/0/: bytes}; batch 0 is committed, HDFS, as many partitions
    as there are."""
    partitions = {int(path.split("/")[0]) for path in listing}
    said: dict[str, object] = {"provider_class": HDFS, "shuffle_partitions": len(partitions), "codec": "lz4"}
    said |= {"last_committed_batch": 0, "newest_planned_batch": 0} | context
    times = {path: 1_000 + place for place, path in enumerate(listing)}
    infos = [FileInfo(f"state/0/{path}", size, times[path]) for path, size in listing.items()]
    (operator,) = inventory(infos, StateContext(**said), 0).operators  # type: ignore[arg-type]
    return operator


def sizes(result: Balance) -> list[tuple[int, int]]:
    return [(share.partition_id, share.size_bytes) for share in result.partitions]


# What is compared


def test_the_heaviest_partition_comes_first_and_the_median_is_of_all() -> None:
    result = balance(operator_of({"0/1.delta": 100, "1/1.delta": 1020, "2/1.delta": 120, "3/1.delta": 80}))
    assert sizes(result) == [(1, 1020), (2, 120), (0, 100), (3, 80)]
    assert result.median_bytes == 110
    assert result.max_over_median == pytest.approx(1020 / 110)
    assert result.total_bytes == 1320
    assert result.heaviest is not None
    assert result.heaviest.share == pytest.approx(1020 / 1320)
    assert result.version == 1


def test_equal_partitions_come_in_the_order_of_their_ids() -> None:
    assert [
        i
        for i, _ in sizes(
            balance(operator_of({f"{p}/1.delta": 100 for p in (3, 0, 11, 2)}, shuffle_partitions=12))
        )
    ] == [0, 2, 3, 11]


def test_hdfs_counts_the_newest_snapshot_and_the_deltas_after_it() -> None:
    files = {
        "0/1.delta": 100,
        "0/2.delta": 200,
        "0/2.snapshot": 1000,
        "0/3.delta": 300,
        "0/4.delta": 400,
        "0/5.delta": 500,
    }
    operator = operator_of(files, last_committed_batch=3, newest_planned_batch=4)
    assert sizes(balance(operator)) == [(0, 1700)]
    assert sizes(balance(operator, version=1)) == [(0, 100)]
    assert sizes(balance(operator, version=5)) == [(0, 2200)]


def test_rocksdb_counts_all_ssts_and_the_changelogs_after_the_newest_zip_but_no_zip() -> None:
    files = {"0/1.changelog": 90, "0/2.changelog": 91, "0/2.zip": 4000, "0/3.changelog": 92}
    files |= {f"0/SSTs/000008-{ID}.sst": 700, f"0/logs/000004-{ID}.log": 5}
    operator = operator_of(files, provider_class=ROCKSDB, last_committed_batch=2, newest_planned_batch=2)
    result = balance(operator)
    assert sizes(result) == [(0, 797)]
    assert any(".sst" in note for note in result.notes)


def test_kept_counts_every_version() -> None:
    files = {
        "0/1.delta": 100,
        "0/2.delta": 200,
        "0/2.snapshot": 1000,
        "0/_metadata/schema": 77,
        "0/2.delta.crc": 9,
    }
    result = balance(operator_of(files, last_committed_batch=1, newest_planned_batch=1), measure="kept")
    assert (sizes(result), result.version) == ([(0, 1300)], None)


def test_written_counts_the_files_of_one_version() -> None:
    files = {"0/1.delta": 100, "0/2.delta": 200, "0/2.snapshot": 1000, "0/3.delta": 7}
    result = balance(operator_of(files, last_committed_batch=1, newest_planned_batch=1), measure="written")
    assert (sizes(result), result.version) == ([(0, 1200)], 2)


def test_of_two_attempts_at_a_version_the_later_one_counts() -> None:
    files = {f"0/1_{ID}.changelog": 500, f"0/1_{OTHER}.changelog": 300}
    assert sizes(balance(operator_of(files, provider_class=ROCKSDB))) == [(0, 300)]


def test_without_a_commit_the_newest_version_is_compared() -> None:
    result = balance(operator_of({"0/1.delta": 100, "1/1.delta": 60}, last_committed_batch=None))
    assert (result.version, sizes(result)) == (1, [(0, 100), (1, 60)])


def test_stores_are_compared_by_themselves() -> None:
    operator = operator_of({"0/left-keyToNumValues/1.delta": 100, "0/right-keyToNumValues/1.delta": 900})
    assert sizes(balance(operator)) == [(0, 100)]
    result = balance(operator, "right-keyToNumValues")
    assert sizes(result) == [(0, 900)]
    assert result.title == "Partition 0 is the only one of operator 0, store right-keyToNumValues"


def test_an_unknown_store_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"Operator 0 has no store 'left'; its stores: default\."):
        balance(operator_of({"0/1.delta": 100}), "left")
    with pytest.raises(ValueError, match="no store"):
        growth(operator_of({"0/1.delta": 100}), "left")


# The title


def test_the_title_names_the_partition_its_share_and_the_median() -> None:
    listing = (
        {f"{p}/1.delta": 100 for p in range(20)}
        | {"17/1.delta": 1020}
        | {f"{p}/1.delta": 46 for p in (3, 5, 9)}
    )
    result = balance(operator_of(listing))
    assert (
        result.title
        == "Partition 17 holds 39 % of operator 0; 10.2 times the median; 3 of 20 partitions look empty"
    )
    assert result.empty == (3, 5, 9)


def test_when_most_partitions_look_empty_no_multiple_of_the_median_is_given() -> None:
    result = balance(operator_of({"0/1.delta": 46, "1/1.delta": 46, "2/1.delta": 900}))
    assert result.max_over_median is None
    assert result.title == "Partition 2 holds 100 % of operator 0; 2 of 3 partitions look empty"


def test_nearly_everything_is_not_called_everything() -> None:
    assert balance(operator_of({"0/1.delta": 100_000, "1/1.delta": 60})).title.startswith(
        "Partition 0 holds more than 99 % of operator 0;"
    )


def test_a_small_share_is_not_called_nothing() -> None:
    listing = {f"{p}/1.delta": 1000 for p in range(400)} | {"7/1.delta": 1600}
    title = balance(operator_of(listing)).title
    assert title == "Partition 7 holds 0.4 % of operator 0; 1.6 times the median"


def test_below_one_and_a_half_times_the_median_the_state_is_balanced() -> None:
    listing = {"0/1.delta": 1000, "1/1.delta": 1000, "2/1.delta": 1400}
    title = balance(operator_of(listing)).title
    assert title == "Balanced: the largest of 3 partitions of operator 0 is 1.4 times the median"
    uneven = balance(operator_of(listing | {"2/1.delta": 1600})).title
    assert uneven == "Partition 2 holds 44 % of operator 0; 1.6 times the median"


def test_missing_partitions_are_named_and_not_counted_as_empty() -> None:
    result = balance(operator_of({"0/1.delta": 100, "2/1.delta": 300}, shuffle_partitions=4))
    assert result.missing == (1, 3)
    assert result.median_bytes == 200
    assert (
        result.title == "Partition 2 holds 75 % of operator 0; 1.5 times the median; 2 partitions are missing"
    )


def test_partitions_past_the_expected_number_are_left_out_and_said() -> None:
    result = balance(
        operator_of({"0/1.delta": 100, "1/1.delta": 100, "2/1.delta": 9000}, shuffle_partitions=2)
    )
    assert (sizes(result), result.beyond) == ([(0, 100), (1, 100)], (2,))
    assert any(
        "1 partition directory beyond the expected number (2) is left out." in note for note in result.notes
    )


def test_all_partitions_empty_is_one_sentence() -> None:
    assert (
        balance(operator_of({"0/1.delta": 46, "1/1.delta": 46})).title
        == "All 2 partitions of operator 0 look empty"
    )
    assert balance(operator_of({"0/1.delta": 46})).title == "The only partition of operator 0 looks empty"


def test_an_operator_without_files_is_one_sentence() -> None:
    infos = [FileInfo("state/0/_metadata/metadata", 10, 1)]
    (operator,) = inventory(infos, StateContext(shuffle_partitions=None), 0).operators
    result = balance(operator)
    assert result.title == "No partition of operator 0 has any files"
    assert (result.partitions, result.heaviest, result.max_over_median) == ((), None, None)


def test_the_other_measures_say_what_they_compare() -> None:
    operator = operator_of({"0/1.delta": 100, "1/1.delta": 300})
    assert (
        balance(operator, measure="kept").title
        == "Partition 1 holds 75 % of the kept files of operator 0; 1.5 times the median"
    )
    written = balance(operator, measure="written").title
    assert written == "Partition 1 holds 75 % of the files of version 1 of operator 0; 1.5 times the median"


def test_every_balance_says_that_bytes_are_not_rows() -> None:
    assert balance(operator_of({"0/1.delta": 100})).notes[0] == "Bytes of compressed files, not rows."


# What looks empty


@pytest.mark.parametrize(
    ("codec", "size"), [("lz4", 46), ("zstd", 16), ("snappy", 26), ("lzf", 9), (None, 46)]
)
def test_a_partition_of_files_without_records_looks_empty_in_every_codec(
    codec: str | None, size: int
) -> None:
    files = {
        "0/1.delta": size,
        "0/1.snapshot": size,
        "0/2.delta": size,
        "1/1.delta": size + 36,
        "1/2.delta": size,
    }
    result = balance(operator_of(files, codec=codec, last_committed_batch=1, newest_planned_batch=1))
    assert result.empty == (0,)
    assert sizes(result) == [(1, size + 36), (0, 0)]


def test_an_empty_newest_delta_alone_does_not_make_a_partition_empty() -> None:
    result = balance(
        operator_of({"0/1.delta": 500, "0/2.delta": 46}, last_committed_batch=1, newest_planned_batch=1)
    )
    assert result.empty == ()


def test_with_an_unknown_codec_nothing_is_called_empty() -> None:
    result = balance(operator_of({"0/1.delta": 46, "1/1.delta": 46}, codec="brotli"))
    assert [share.looks_empty for share in result.partitions] == [None, None]
    assert "These sizes do not show whether a partition is empty." in result.notes


def test_rocksdb_without_any_sst_looks_empty_unless_changelogs_hold_something() -> None:
    files = {"0/1.zip": 3591, "1/1.zip": 4263, f"1/SSTs/000008-{ID}.sst": 1224}
    assert balance(operator_of(files, provider_class=ROCKSDB)).empty == (0,)
    files = {"0/1.changelog": 46, "1/1.changelog": 82, "2/1.changelog": 47}
    assert balance(operator_of(files, provider_class=ROCKSDB)).empty == (0, 2)


def test_changelogs_of_format_2_never_look_empty_because_they_list_earlier_versions() -> None:
    result = balance(
        operator_of({f"0/1_{ID}.changelog": 54, f"1/1_{ID}.changelog": 90}, provider_class=ROCKSDB)
    )
    assert [share.looks_empty for share in result.partitions] == [None, None]
    assert any("format 2" in note for note in result.notes)


# Growth


def test_growth_adds_up_each_version_over_the_partitions() -> None:
    files = {
        "0/1.delta": 10,
        "1/1.delta": 20,
        "0/2.delta": 30,
        "0/2.snapshot": 500,
        "1/2.delta": 40,
        "0/3.delta": 50,
    }
    result = growth(operator_of(files, last_committed_batch=1, newest_planned_batch=2))
    assert result.versions.tolist() == [1, 2, 3]
    assert result.change_bytes.tolist() == [30, 70, 50]
    assert result.full_bytes.tolist() == [0, 500, 0]
    assert result.partitions.tolist() == [2, 2, 1]
    assert result.unversioned_bytes == 0


def test_growth_of_rocksdb_without_changelog_says_what_names_cannot_tell() -> None:
    result = growth(operator_of({"0/1.zip": 4000, f"0/SSTs/000008-{ID}.sst": 900}, provider_class=ROCKSDB))
    assert (result.full_bytes.tolist(), result.unversioned_bytes) == ([4000], 900)
    assert any(".sst files carry no version" in note for note in result.notes)


def test_growth_leaves_out_partitions_past_the_expected_number() -> None:
    result = growth(operator_of({"0/1.delta": 10, "5/1.delta": 99}, shuffle_partitions=1))
    assert result.change_bytes.tolist() == [10]


# Whatever the sizes


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30))
def test_shares_add_up_to_one_and_the_order_is_descending(values: list[int]) -> None:
    result = balance(operator_of({f"{p}/1.delta": size for p, size in enumerate(values)}))
    ordered = [size for _, size in sizes(result)]
    assert ordered == sorted(ordered, reverse=True)
    assert result.total_bytes == sum(ordered)
    if result.total_bytes:
        assert sum(share.share for share in result.partitions) == pytest.approx(1)
    assert "\n" not in result.title


# Real samples


def test_the_hot_partition_of_the_sample_is_found_by_every_measure() -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"))
    (operator,) = state_inventory(ck).operators
    found = [balance(operator, measure=measure) for measure in MEASURES]
    assert len({result.heaviest.partition_id for result in found if result.heaviest is not None}) == 1
    assert all(result.max_over_median is not None and result.max_over_median >= 10 for result in found)


@pytest.mark.parametrize(
    "name", [name for name in sample_names() if (SAMPLES / name / "checkpoint" / "state").is_dir()]
)
def test_every_store_of_every_sample_has_a_balance_of_all_its_partitions(name: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"))
    for operator in state_inventory(ck).operators:
        for store in operator.stores:
            result = balance(operator, store)
            assert len(result.partitions) == operator.expected_partitions
            assert result.missing == ()
            assert growth(operator, store).versions.size
