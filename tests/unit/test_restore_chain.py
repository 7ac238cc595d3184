"""Which versions can be rebuilt: each kind of damage by itself, for each kind of store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.restore_chain import CommittedIds, first_missing, rebuildable, restorable_versions
from core.checkpoint.state import StateContext, inventory
from core.storage import FileInfo

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)


def uid(partition: int, version: int, attempt: int = 0, store: int = 0) -> str:
    return f"{store:08x}-{attempt:04x}-4000-8000-{partition:04x}{version:08x}"


def files(
    names: Iterable[str], partitions: Iterable[int] = (0, 1), operator: int = 0, stores: Iterable[str] = ("",)
) -> dict[str, int]:
    """The same names in every partition (of every store); "{id}" becomes an id of the partition and version.
    Each file has 100 bytes."""
    found = {}
    for partition in partitions:
        for index, store in enumerate(stores):
            for name in names:
                version = int(name.split(".")[0].split("_")[0])
                below = f"{store}/" if store else ""
                full = name.replace("{id}", uid(partition, version, store=index)).replace(
                    "{other}", uid(partition, version, 9, index)
                )
                found[f"state/{operator}/{partition}/{below}{full}"] = 100
    return found


def written(path: str) -> int:
    version = re.match(r"[0-9]+", path.rpartition("/")[2])
    return 10_000 * int(version[0]) if version else 0


def operator_of(listing: Mapping[str, int], **context: object) -> OperatorState:
    """The one operator in the inventory of a listing {path: bytes}; two partitions and HDFS unless said
    otherwise.

    Files are written in the order of their versions, a checksum with its file; ``times`` names other times by
    path.
    """
    times = context.pop("times", {})
    said: dict[str, object] = {
        "provider_class": HDFS,
        "shuffle_partitions": 2,
        "last_committed_batch": 4,
        "newest_planned_batch": 4,
    }
    said |= context
    infos = [FileInfo(path, size, times.get(path, written(path))) for path, size in listing.items()]  # type: ignore[attr-defined]
    (operator,) = inventory(infos, StateContext(**said), 0).operators  # type: ignore[arg-type]
    return operator


def ids(batches: Iterable[int], partitions: int = 2, stores: int = 1, operator: str = "0") -> CommittedIds:
    """Commits whose ids are those of :func:`files`."""
    return CommittedIds(
        {
            b: {
                operator: tuple(
                    tuple(uid(p, b + 1, store=s) for s in range(stores)) for p in range(partitions)
                )
            }
            for b in batches
        }
    )


DELTAS = [f"{v}.delta" for v in range(1, 6)]
CHANGELOGS = [f"{v}.changelog" for v in range(1, 6)]
ZIPS = [f"{v}.zip" for v in range(1, 6)]
CHANGELOGS_2 = [f"{v}_{{id}}.changelog" for v in range(1, 6)]


# HDFS-backed


def test_deltas_from_the_first_rebuild_every_version() -> None:
    operator = operator_of(files(DELTAS))
    assert restorable_versions(operator) == (1, 2, 3, 4, 5)
    assert operator.restorable.newest_common_version == operator.restorable.needed_version == 5
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "certain"
    assert operator.restorable.not_checked == ("what the files contain",)


def test_a_missing_delta_breaks_its_partition_from_there_on() -> None:
    listing = files(DELTAS)
    del listing["state/0/1/3.delta"]
    operator = operator_of(listing)
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/3.delta"),)
    assert operator.restorable.newest_common_version == 2
    assert restorable_versions(operator) == (1, 2)


def test_a_snapshot_behind_a_missing_delta_makes_it_unnecessary() -> None:
    listing = files(DELTAS) | {"state/0/1/4.snapshot": 300}
    del listing["state/0/1/3.delta"]
    operator = operator_of(listing)
    assert operator.restorable.broken_partitions == ()
    assert restorable_versions(operator) == (1, 2, 4, 5)


def test_a_snapshot_alone_rebuilds_its_version() -> None:
    operator = operator_of(files(["5.snapshot"]))
    assert restorable_versions(operator) == (5,)


def test_a_snapshot_of_a_later_version_does_not_help() -> None:
    listing = files([*DELTAS, "6.snapshot"])
    del listing["state/0/0/5.delta"]
    operator = operator_of(listing, newest_planned_batch=5)
    assert operator.restorable.broken_partitions == (("0/0/default", "state/0/0/5.delta"),)


def test_purged_deltas_before_a_snapshot_are_fine() -> None:
    operator = operator_of(files(["3.delta", "4.delta", "4.snapshot", "5.delta"]))
    assert restorable_versions(operator) == (4, 5)
    assert operator.restorable.broken_partitions == ()


def test_a_missing_snapshot_in_a_purged_log_asks_for_the_first_delta() -> None:
    operator = operator_of(files(["3.delta", "4.delta", "5.delta"]))
    assert operator.restorable.newest_common_version is None
    assert operator.restorable.broken_partitions == (
        ("0/0/default", "state/0/0/1.delta"),
        ("0/1/default", "state/0/1/1.delta"),
    )


def test_an_empty_delta_is_as_bad_as_a_missing_one() -> None:
    operator = operator_of(files(DELTAS) | {"state/0/1/5.delta": 0})
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/5.delta (0 bytes)"),)
    (problem,) = operator.problems
    assert (problem.condition, problem.evidence.path) == ("empty", "state/0/1/5.delta")


def test_an_empty_snapshot_is_passed_over_when_the_deltas_are_there() -> None:
    operator = operator_of(files(DELTAS) | {"state/0/1/4.snapshot": 0})
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "inferred"  # Spark before 4.2 fails on it
    assert [problem.condition for problem in operator.problems] == ["empty"]


def test_a_missing_partition_is_broken_and_nothing_can_be_rebuilt() -> None:
    operator = operator_of(
        files(DELTAS, partitions=[0]) | files(DELTAS, partitions=[2]), shuffle_partitions=3
    )
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/"),)
    assert operator.restorable.newest_common_version is None
    assert restorable_versions(operator) == ()


def test_a_missing_last_partition_is_seen_by_the_number_in_the_conf() -> None:
    operator = operator_of(files(DELTAS), shuffle_partitions=3)
    assert operator.restorable.broken_partitions == (("0/2/default", "state/0/2/"),)


def test_a_gap_in_the_partitions_is_seen_without_the_conf() -> None:
    operator = operator_of(files(DELTAS, partitions=[0, 2]), shuffle_partitions=None)
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/"),)
    assert "how many partitions there should be" in operator.restorable.not_checked


def test_partitions_past_the_expected_number_are_not_asked_for_anything() -> None:
    operator = operator_of(files(DELTAS) | files(["1.delta"], partitions=[2, 3]))
    assert operator.restorable.broken_partitions == ()
    assert restorable_versions(operator) == (1, 2, 3, 4, 5)


def test_each_operator_is_judged_by_itself() -> None:
    listing = files(DELTAS) | files(DELTAS, operator=1)
    del listing["state/1/0/2.delta"]
    infos = [FileInfo(path, size, 1_000) for path, size in listing.items()]
    context = StateContext(
        provider_class=HDFS, shuffle_partitions=2, last_committed_batch=4, newest_planned_batch=4
    )
    first, second = inventory(infos, context, 0).operators
    assert first.restorable.broken_partitions == ()
    assert second.restorable.broken_partitions == (("1/0/default", "state/1/0/2.delta"),)


def test_state_of_the_pending_batch_is_no_trouble() -> None:
    listing = files([*DELTAS, "6.delta"], partitions=[0]) | files(DELTAS, partitions=[1])
    operator = operator_of(listing, newest_planned_batch=5)
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.newest_common_version == 5


def test_versions_of_an_abandoned_time_line_do_not_count_as_restorable() -> None:
    operator = operator_of(
        files([*DELTAS, "6.delta", "7.delta"]), last_committed_batch=2, newest_planned_batch=2
    )
    assert operator.restorable.needed_version == 3
    assert operator.restorable.newest_common_version == 3
    assert restorable_versions(operator) == (1, 2, 3, 4, 5, 6, 7)


def test_without_a_commit_no_version_is_needed() -> None:
    operator = operator_of(
        files(["1.delta"], partitions=[0]), last_committed_batch=None, newest_planned_batch=0
    )
    assert operator.restorable.needed_version is None
    assert operator.restorable.broken_partitions == ()


# RocksDB without changelog


def test_without_changelog_each_version_needs_its_own_zip() -> None:
    listing = files(ZIPS)
    del listing["state/0/1/5.zip"]
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/5.zip"),)
    assert operator.restorable.newest_common_version == 4


def test_without_changelog_an_older_missing_zip_does_not_matter() -> None:
    listing = files(ZIPS)
    del listing["state/0/1/4.zip"]
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == ()
    assert restorable_versions(operator) == (1, 2, 3, 5)
    assert "which .sst files a .zip needs" in operator.restorable.not_checked


def test_an_empty_zip_is_as_bad_as_a_missing_one() -> None:
    operator = operator_of(files(ZIPS) | {"state/0/0/5.zip": 0}, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == (("0/0/default", "state/0/0/5.zip (0 bytes)"),)


def test_ssts_without_a_zip_rebuild_nothing() -> None:
    listing = files(ZIPS, partitions=[0]) | {
        "state/0/1/SSTs/000008-713bb905-9ba4-4cdd-8eb0-9dbbdf60e075.sst": 900
    }
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/5.zip"),)


# RocksDB with changelog


def test_changelogs_from_the_first_need_no_zip() -> None:
    operator = operator_of(files(CHANGELOGS), provider_class=ROCKSDB)
    assert restorable_versions(operator) == (1, 2, 3, 4, 5)


def test_a_changelog_missing_in_the_chain_breaks_its_partition() -> None:
    listing = files([*CHANGELOGS, "2.zip"])
    del listing["state/0/0/4.changelog"]
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == (("0/0/default", "state/0/0/4.changelog"),)
    assert operator.restorable.newest_common_version == 3


def test_a_changelog_missing_before_the_newest_zip_does_not_matter() -> None:
    listing = files([*CHANGELOGS, "4.zip"])
    del listing["state/0/0/2.changelog"]
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == ()
    assert restorable_versions(operator) == (1, 4, 5)


def test_a_missing_zip_in_a_purged_changelog_breaks_its_partition() -> None:
    listing = files(["3.zip", "4.changelog", "5.changelog"])
    del listing["state/0/1/3.zip"]
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/1.changelog"),)


def test_after_changelogs_were_switched_off_the_missing_file_is_the_zip() -> None:
    listing = files(["1.changelog", "2.changelog", "3.zip", "4.zip", "5.zip"])
    del listing["state/0/1/5.zip"]
    operator = operator_of(listing, provider_class=ROCKSDB)
    assert operator.restorable.broken_partitions == (("0/1/default", "state/0/1/5.zip"),)
    assert restorable_versions(operator) == (1, 2, 3, 4)


# State checkpoint format 2


def test_committed_ids_name_the_files_of_format_2() -> None:
    operator = operator_of(
        files([*CHANGELOGS_2, "3_{id}.zip"]), provider_class=ROCKSDB, committed=ids(range(5))
    )
    assert operator.format_version == 2
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.newest_common_version == 5
    assert operator.restorable.certainty == "certain"
    assert "the lineage inside the changelogs" in operator.restorable.not_checked


def test_a_file_with_another_id_does_not_count() -> None:
    names = [*CHANGELOGS_2[:4], "3_{id}.zip", "5_{other}.changelog"]
    operator = operator_of(files(names), provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == (
        ("0/0/default", f"state/0/0/5_{uid(0, 5)}.changelog"),
        ("0/1/default", f"state/0/1/5_{uid(1, 5)}.changelog"),
    )
    assert operator.restorable.newest_common_version == 4


def test_a_zip_with_another_id_does_not_count() -> None:
    committed = ids(range(5))
    operator = operator_of(files(["5_{other}.zip"]), provider_class=ROCKSDB, committed=committed)
    missing = first_missing(operator, 0, "default", 5, committed)
    assert missing == f"state/0/0/5_{uid(0, 5)}.zip"


def test_a_missing_changelog_in_the_chain_of_format_2_is_named_with_its_id() -> None:
    listing = files([*CHANGELOGS_2, "2_{id}.zip"])
    del listing[f"state/0/1/4_{uid(1, 4)}.changelog"]
    operator = operator_of(listing, provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == (("0/1/default", f"state/0/1/4_{uid(1, 4)}.changelog"),)


def test_a_commit_rewritten_without_ids_makes_its_version_unreadable() -> None:
    committed = CommittedIds({**ids(range(4)).by_batch, 4: {}})
    operator = operator_of(files([*CHANGELOGS_2, "3_{id}.zip"]), provider_class=ROCKSDB, committed=committed)
    assert [name for name, _ in operator.restorable.broken_partitions] == ["0/0/default", "0/1/default"]
    assert operator.restorable.newest_common_version == 4


def test_an_attempt_that_was_not_committed_is_not_restorable_in_format_2() -> None:
    names = [*CHANGELOGS_2, "3_{id}.zip", "6_{id}.changelog"]
    operator = operator_of(
        files(names), provider_class=ROCKSDB, committed=ids(range(5)), newest_planned_batch=5
    )
    assert operator.restorable.newest_common_version == 5


def test_a_chain_of_format_2_back_to_the_empty_state_is_only_inferred() -> None:
    operator = operator_of(files(CHANGELOGS_2), provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "inferred"


def test_versions_whose_commit_is_purged_count_under_any_id_and_are_inferred() -> None:
    listing = files([*CHANGELOGS_2, "2_{other}.zip"])
    operator = operator_of(listing, provider_class=ROCKSDB, committed=ids([3, 4]))
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "inferred"


def test_the_ids_of_a_join_belong_to_its_stores_in_the_order_of_names() -> None:
    listing = files(["5_{id}.zip"], stores=JOIN_STORES)
    committed = ids(range(5), stores=4)
    assert (
        operator_of(listing, provider_class=ROCKSDB, committed=committed).restorable.broken_partitions == ()
    )
    swapped = CommittedIds(
        {4: {"0": tuple(tuple(reversed(stores)) for stores in committed.by_batch[4]["0"])}}
    )
    assert (
        len(operator_of(listing, provider_class=ROCKSDB, committed=swapped).restorable.broken_partitions) == 8
    )


def without_its_zip() -> dict[str, int]:
    """Changelogs from version 1 on and a zip of version 3, which is deleted in partition 1."""
    listing = files([*CHANGELOGS_2, "3_{id}.zip", "3_{id}.zip.crc"])
    del listing[f"state/0/1/3_{uid(1, 3)}.zip"]
    return listing


def test_in_format_2_a_deleted_zip_is_fatal_when_no_older_one_is_left() -> None:
    operator = operator_of(without_its_zip(), provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == (("0/1/default", f"state/0/1/3_{uid(1, 3)}.zip"),)
    assert operator.restorable.newest_common_version == 3
    assert operator.restorable.certainty == "inferred"


def test_in_format_2_a_changelog_written_before_the_upload_of_the_deleted_zip_does_not_need_it() -> None:
    times = {f"state/0/1/3_{uid(1, 3)}.zip.crc": 36_000}
    operator = operator_of(without_its_zip(), provider_class=ROCKSDB, committed=ids(range(5)), times=times)
    assert operator.restorable.newest_common_version == 4
    earlier = operator_of(
        without_its_zip(),
        provider_class=ROCKSDB,
        committed=ids(range(5)),
        times=times,
        last_committed_batch=3,
        newest_planned_batch=3,
    )
    assert earlier.restorable.broken_partitions == ()
    assert earlier.restorable.certainty == "inferred"


def test_in_format_2_a_ruined_zip_is_passed_over_and_the_chain_is_inferred() -> None:
    listing = files([*CHANGELOGS_2, "3_{id}.zip"]) | {f"state/0/1/3_{uid(1, 3)}.zip": 0}
    operator = operator_of(listing, provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "inferred"


def test_in_format_2_a_deleted_zip_is_passed_over_when_an_older_one_is_left() -> None:
    listing = files([*CHANGELOGS_2, "2_{id}.zip", "4_{id}.zip", "4_{id}.zip.crc"])
    del listing[f"state/0/1/4_{uid(1, 4)}.zip"]
    operator = operator_of(listing, provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "inferred"


def test_in_format_2_a_deleted_zip_of_an_attempt_that_was_not_committed_does_not_matter() -> None:
    listing = files([*CHANGELOGS_2, "2_{id}.zip", "4_{other}.zip.crc"])
    operator = operator_of(listing, provider_class=ROCKSDB, committed=ids(range(5)))
    assert operator.restorable.broken_partitions == ()
    assert operator.restorable.certainty == "certain"


# Joins


def test_a_store_missing_in_one_partition_of_a_join_is_broken() -> None:
    listing = {
        path: size
        for path, size in files(DELTAS, stores=JOIN_STORES).items()
        if "/1/right-keyToNumValues/" not in path
    }
    operator = operator_of(listing)
    assert operator.restorable.broken_partitions == (
        ("0/1/right-keyToNumValues", "state/0/1/right-keyToNumValues/"),
    )


def test_a_missing_delta_of_a_join_is_named_with_its_store() -> None:
    listing = files(DELTAS, stores=JOIN_STORES)
    del listing["state/0/0/left-keyWithIndexToValue/5.delta"]
    operator = operator_of(listing)
    assert operator.restorable.broken_partitions == (
        ("0/0/left-keyWithIndexToValue", "state/0/0/left-keyWithIndexToValue/5.delta"),
    )
    assert operator.restorable.newest_common_version == 4


# The rule itself


def can_load(version: int, full: frozenset[int], changes: frozenset[int]) -> bool:
    """Spark's own way: the newest full file up to the version, then every change after it."""
    start = max((v for v in full if v <= version), default=0)
    return all(v in changes for v in range(start + 1, version + 1))


@pytest.mark.parametrize(("full_kind", "change_kind"), [("snapshot", "delta"), ("zip", "changelog")])
@given(full=st.frozensets(st.integers(1, 12)), changes=st.frozensets(st.integers(1, 12)))
def test_rebuildable_versions_are_those_that_spark_can_load(
    full_kind: str, change_kind: str, full: frozenset[int], changes: frozenset[int]
) -> None:
    found = [StateFile(f"{v}.{full_kind}", 0, 0, "default", full_kind, v, None, 10, None) for v in full]  # type: ignore[arg-type]
    found += [
        StateFile(f"{v}.{change_kind}", 0, 0, "default", change_kind, v, None, 10, None) for v in changes
    ]  # type: ignore[arg-type]
    partition = PartitionState(0, "default", tuple(found), 0, None, {})
    known = full | changes
    assert rebuildable(partition) == tuple(v for v in sorted(known) if can_load(v, full, changes))


@given(
    full=st.frozensets(st.integers(1, 8)), changes=st.frozensets(st.integers(1, 8)), version=st.integers(1, 8)
)
def test_a_version_has_a_missing_file_exactly_when_it_cannot_be_rebuilt(
    full: frozenset[int], changes: frozenset[int], version: int
) -> None:
    listing = {"state/0/0/_metadata/schema": 10, "state/0/1/1.delta": 10}
    listing |= {f"state/0/0/{v}.snapshot": 10 for v in full} | {f"state/0/0/{v}.delta": 10 for v in changes}
    operator = operator_of(listing)
    missing = first_missing(operator, 0, "default", version)
    assert (missing is None) == can_load(version, full, changes)
    assert missing is None or missing not in listing


def test_without_the_newest_changelog_and_any_zip_the_newest_changelog_is_named() -> None:
    """State checkpoint format 2: it tells the chain. Of deleted ones Spark's checksums are left."""
    found = operator_of(files(f"{v}_{{id}}.changelog.crc" for v in range(1, 6)), provider_class=ROCKSDB)
    assert first_missing(found, 0, "default", 5, ids(range(5))) == f"state/0/0/5_{uid(0, 5)}.changelog"
