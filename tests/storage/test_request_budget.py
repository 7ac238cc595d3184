"""How many requests a look at a checkpoint costs: counted by the server, not by us, so the numbers do not
depend on the machine.

The budget (LIST, HEAD, GET): first view of 100 batches <= 4, 0, 201; of 20,000 batches <= 190, 0, 201; state
of K operators, P partitions and S stores <= 1 + K + K x P x pages, 0, K x (1 + S); refresh with nothing new
<= 3 and no GET; with n new batches <= 2n GETs. The small checkpoints are read from
moto; the large ones come from the generator and the slow server of ``scripts/bench``.
"""

from __future__ import annotations

import itertools
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial

import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.documents.rows import RowPart, RowsDocument
from core.settings import SAMPLES, Settings
from core.storage import Door, Location
from core.verbs import verb_named
from scripts.bench.large_checkpoint import Shape, write_listing
from scripts.bench.slow_s3 import SlowS3, serving
from tests.storage.conftest import BUCKET
from tests.support.s3 import S3Server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("s3_client")]

METADATA = '{{"batchWatermarkMs":0,"batchTimestampMs":{time},"conf":{{"spark.sql.shuffle.partitions":"12"}}}}'
OFFSET = "v1\n" + METADATA + '\n{{"topic-a":{{"0":{n},"1":{n}}}}}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


@pytest.fixture(autouse=True)
def emptied(s3_server: S3Server) -> Iterator[None]:
    yield
    s3_server.empty(BUCKET)


def logs(first: int, count: int) -> dict[str, bytes]:
    found = {
        f"offsets/{n}": OFFSET.format(time=1_795_176_000_000 + n, n=n).encode()
        for n in range(first, first + count)
    }
    return found | {f"commits/{n}": COMMIT.encode() for n in range(first, first + count)}


def state(operators: int, partitions: int, stores: tuple[str, ...], versions: int) -> dict[str, bytes]:
    found = {}
    for k in range(operators):
        operator = f'{{"operatorId":{k},"operatorName":"symmetricHashJoin"}}'
        found[f"state/{k}/_metadata/metadata"] = (
            f'v1\n{{"operatorInfo":{operator},"stateStoreInfo":[]}}'.encode()
        )
        for p in range(partitions):
            for store in stores:
                for v in range(1, versions + 1):
                    found["/".join(part for part in (f"state/{k}/{p}", store, f"{v}.delta") if part)] = (
                        b"delta"
                    )
    return found


def put(server: S3Server, prefix: str, files: dict[str, bytes]) -> Location:
    server.put_many(BUCKET, {f"{prefix}/{path}": content for path, content in files.items()})
    server.fail()
    server.stats()
    return server.location(f"s3://{BUCKET}/{prefix}")


def test_many_files_are_one_request_each_sent_side_by_side(s3_server: S3Server) -> None:
    location = put(s3_server, "budget-read", logs(0, 100))
    door = Door.open(location)
    listings = door.list(["", "offsets", "commits", "sources"])
    seen = s3_server.stats()
    assert (seen["list"], seen["head"], seen["get"]) == (4, 0, 0)
    files = [*listings["offsets"].files.values(), *listings["commits"].files.values()]
    assert len(door.read(files)) == 200
    seen = s3_server.stats()
    assert (seen["list"], seen["head"], seen["get"]) == (0, 0, 200)
    assert 2 <= seen["most_at_once"] <= 128
    door.read(files)
    assert s3_server.stats()["get"] == 0


def test_no_more_requests_are_sent_at_once_than_the_setting_says(s3_server: S3Server) -> None:
    location = put(s3_server, "budget-few", logs(0, 20))
    door = Door.open(location, Settings(concurrent_requests=3))
    assert len(door.read(door.list(["offsets"])["offsets"].files.values())) == 20
    assert 2 <= s3_server.stats()["most_at_once"] <= 3


def test_what_the_door_counts_is_what_the_server_saw(s3_server: S3Server) -> None:
    location = put(s3_server, "budget-count", logs(0, 10) | state(1, 5, ("",), 2))
    door = Door.open(location)
    tree = door.list([""], recursive=True)[""]
    door.read(tree.files.values())
    seen = s3_server.stats()
    assert (door.requests.list, door.requests.get, door.requests.head) == (
        seen["list"],
        seen["get"],
        seen["head"],
    )
    assert door.requests.bytes == sum(info.size_bytes for info in tree.files.values())


@pytest.mark.parametrize(
    ("operators", "partitions", "stores"), [(1, 12, ("",)), (2, 7, ("left", "right")), (3, 1, ("",))]
)
def test_a_tree_of_state_costs_one_listing_for_each_partition(
    s3_server: S3Server, operators: int, partitions: int, stores: tuple[str, ...]
) -> None:
    files = state(operators, partitions, stores, 3)
    location = put(s3_server, f"budget-state-{operators}", files)
    tree = Door.open(location).list(["state"], recursive=True)["state"]
    assert set(tree.files) == set(files)
    seen = s3_server.stats()
    assert seen["list"] <= 1 + operators + operators * partitions
    assert (seen["head"], seen["get"]) == (0, 0)


def test_a_long_log_is_not_listed_page_after_page(s3_small_pages: S3Server) -> None:
    # Ten names a page: 900 batches are here what 90,000 are on S3.
    location = put(
        s3_small_pages, "budget-long", {path: b"" for path in logs(0, 900) if path.startswith("offsets/")}
    )
    listing = Door.open(location).list(["offsets"])["offsets"]
    assert len(listing.files) == 900
    seen = s3_small_pages.stats()
    assert seen["list"] <= 90 * 1.9
    assert seen["most_at_once"] > 4


def test_the_first_view_of_a_checkpoint_is_within_its_budget(s3_server: S3Server) -> None:
    location = put(s3_server, "budget-first", {"metadata": b'{"id":"q"}'} | logs(20, 120))
    ck = Checkpoint.open(location, newest=100)
    assert len(ck.loaded_ids) == 100
    seen = s3_server.stats()
    assert seen["list"] <= 4
    assert seen["head"] == 0
    assert seen["get"] <= 2 * 100 + 1
    assert seen["write"] == 0


def test_a_refresh_is_within_its_budget(s3_server: S3Server) -> None:
    location = put(s3_server, "budget-refresh", {"metadata": b'{"id":"q"}'} | logs(0, 30))
    ck = Checkpoint.open(location)
    s3_server.stats()
    same = ck.refresh()
    seen = s3_server.stats()
    assert seen["list"] + seen["head"] <= 3
    assert seen["get"] == 0
    put(s3_server, "budget-refresh", logs(30, 3))
    newer = same.refresh()
    assert newer.last_committed_batch == 32
    seen = s3_server.stats()
    assert seen["list"] + seen["head"] <= 3
    assert seen["get"] <= 2 * 3


def test_the_state_of_a_checkpoint_is_within_its_budget(s3_server: S3Server) -> None:
    operators, partitions, stores = 2, 12, ("left-keyToNumValues", "right-keyToNumValues")
    files = {"metadata": b'{"id":"q"}'} | logs(0, 3) | state(operators, partitions, stores, 3)
    ck = Checkpoint.open(put(s3_server, "budget-balance", files))
    s3_server.stats()
    inventory = state_inventory(ck)
    assert len(inventory.operators) == operators
    seen = s3_server.stats()
    assert seen["list"] <= 1 + operators + operators * partitions
    assert seen["head"] == 0
    assert seen["get"] <= operators * (1 + len(stores))
    state_inventory(ck)
    assert s3_server.stats()["list"] == 0


# The same on checkpoints of the size that users have, against the model of S3 that performance goals are
# measured with.


LARGE = {
    "hundred": Shape(batches=100, partitions=200),
    "long": Shape(batches=20_000, partitions=0, topic_partitions=12),
    "join": Shape(batches=100, stores=4, partitions=50, versions=100),
}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowS3]:
    """The model of S3 over generated checkpoints; no latency is asked of it here, only its counts."""
    places = {name: tmp_path_factory.mktemp("slow") / f"{name}.tsv" for name in LARGE}
    for name, shape in LARGE.items():
        write_listing(places[name], shape, is_real=partial(may_be_read, shape.batches))
    with serving(places) as server:
        yield server


def may_be_read(batches: int, name: str) -> bool:
    """Old logs and state files are only listed; one that is read all the same is zeros and gives a problem."""
    folder, _, last = name.rpartition("/")
    if folder in ("offsets", "commits"):
        return int(last) >= batches - 200
    return not folder.startswith("state") or folder.endswith("_metadata")


@pytest.mark.parametrize(("bucket", "lists"), [("hundred", 4), ("long", 190)])
def test_the_first_view_of_a_large_checkpoint_is_within_its_budget(
    slow: SlowS3, bucket: str, lists: int
) -> None:
    slow.stats()
    ck = Checkpoint.open(slow.location(bucket), newest=100)
    assert len(ck.offset_ids) == {"hundred": 100, "long": 20_000}[bucket]
    assert not ck.problems
    seen = slow.stats()
    assert seen["list"] <= lists
    assert seen["head"] == 0
    assert seen["get"] <= 2 * 100 + 1
    ck.sources, ck.conf_changes(), ck.written_by, ck.problems
    seen = slow.stats()
    assert (seen["list"], seen["head"], seen["get"]) == (0, 0, 0)


@pytest.mark.parametrize(("bucket", "partitions", "stores"), [("hundred", 200, 1), ("join", 50, 4)])
def test_the_state_of_a_large_checkpoint_is_within_its_budget(
    slow: SlowS3, bucket: str, partitions: int, stores: int
) -> None:
    ck = Checkpoint.open(slow.location(bucket))
    slow.stats()
    inventory = state_inventory(ck)
    assert inventory.file_count > 20_000
    seen = slow.stats()
    pages = -(-100 * stores // 1000)
    assert seen["list"] <= 1 + 1 + partitions * pages
    assert seen["head"] == 0
    assert seen["get"] <= 1 + stores


@pytest.mark.parametrize(
    ("bucket", "log_pages", "state_lists"),
    [("hundred", 1, 2 + 200), ("long", 190, 1), ("join", 1, 2 + 50 * 4 * 2)],
)
def test_a_forecast_of_a_large_checkpoint_costs_one_listing_four_reads_per_source_and_the_state_listing(
    slow: SlowS3, bucket: str, log_pages: int, state_lists: int
) -> None:
    slow.stats()
    ck = Checkpoint.open(slow.location(bucket), newest=2)
    answer = forecast(ck)
    seen = slow.stats()
    assert answer.outcome in ("resume", "rerun"), answer.sentence
    root_and_logs = 3 + log_pages  # the root, sources/, offsets/ and commits/, whose pages are shared out
    assert seen["list"] <= root_and_logs + len(ck.sources) + state_lists
    schemas = (
        1 + 4 if ck.has_state else 0
    )  # operator metadata, one schema for each store: part of the state's cost
    assert seen["get"] <= 1 + 4 * len(ck.sources) + schemas
    assert seen["head"] == 0


# A refresh without news: the newest files are looked at, and what lies behind them is kept.


@pytest.mark.parametrize("bucket", ["hundred", "long", "join"])
def test_a_look_that_finds_nothing_new_costs_three_listings_for_any_size(slow: SlowS3, bucket: str) -> None:
    ck = Checkpoint.open(slow.location(bucket))
    answer, inventory = forecast(ck), state_inventory(ck)
    assert answer.outcome in ("resume", "rerun"), answer.sentence
    slow.stats()
    again = ck.latest()
    assert again is ck and again.looked_at_ms >= ck.read_at_ms
    assert state_inventory(again) is inventory and len(again.loaded_offsets()) == 100
    seen = slow.stats()
    assert seen["list"] <= 3 and (seen["head"], seen["get"]) == (0, 0)


IDENTITY = {"metadata": b'{"id":"0f4b8d3c-6f4e-4d2a-9a53-0c1d2e3f4a5b"}'}


_numbers = itertools.count()


def own(name: str) -> str:
    """A directory that no other test, and no other run of this one, has written to."""
    return f"{name}-{next(_numbers)}"


def kept(s3_server: S3Server, name: str, files: dict[str, bytes]) -> Checkpoint:
    ck = Checkpoint.open(put(s3_server, name, IDENTITY | files))
    assert ck.latest() is ck
    s3_server.stats()
    return ck


@pytest.mark.parametrize("batches", [(0, 30), (18_990, 19_990)])
def test_a_look_sees_every_change_of_the_newest_files(s3_server: S3Server, batches: tuple[int, int]) -> None:
    first, end = batches
    name = own("look")
    ck = kept(s3_server, name, logs(first, end - first))
    prefix = name
    s3_server.put(BUCKET, f"{prefix}/offsets/{end}", b"v1\n{}\n{}")
    planned = ck.latest()
    assert planned is not ck and planned.offset_ids[-1] == end and planned.uncommitted_batch == end
    s3_server.put(BUCKET, f"{prefix}/commits/{end}", b"v1\n{}")
    committed = planned.latest()
    assert committed.last_committed_batch == end
    s3_server.put(BUCKET, f"{prefix}/offsets/{end + 7}", b"v1\n{}\n{}")  # asynchronous progress tracking
    assert committed.latest().offset_ids[-1] == end + 7
    s3_server.delete(BUCKET, f"{prefix}/offsets/{end + 7}")
    s3_server.put(BUCKET, f"{prefix}/metadata", b'{"id":"1f4b8d3c-6f4e-4d2a-9a53-0c1d2e3f4a5b"}')
    assert committed.latest() is not committed
    again = committed.latest().latest()
    s3_server.put(BUCKET, f"{prefix}/offsets/{end}", b"v1\n{}\n[]")
    restarted = again.latest()
    assert restarted is not again and restarted.offset(end) != again.offset(end)


def test_ids_that_grow_by_a_digit_are_listed_in_full(s3_server: S3Server) -> None:
    """10000 is listed before 9999."""
    name = own("look-digit")
    ck = Checkpoint.open(put(s3_server, name, IDENTITY | logs(9_000, 1_000)))
    s3_server.put(BUCKET, f"{name}/offsets/10000", b"v1\n{}\n{}")
    assert ck.latest().offset_ids[-1] == 10_000


def test_a_short_log_from_which_an_old_file_was_removed_is_seen(s3_server: S3Server) -> None:
    name = own("look-old")
    ck = kept(s3_server, name, logs(0, 30))
    s3_server.delete(BUCKET, f"{name}/offsets/0")
    assert ck.latest().offset_ids[0] == 1


def test_where_something_is_wrong_everything_is_listed(s3_server: S3Server) -> None:
    """Who repairs a state file and asks for a refresh sees it, although the newest commit is the same."""
    name = own("look-repair")
    files = logs(0, 3) | state(1, 12, ("",), 3)
    damaged = {path: content for path, content in files.items() if path != "state/0/2/3.delta"}
    location = put(s3_server, name, IDENTITY | damaged)
    ck = Checkpoint.open(location)
    assert forecast(ck).outcome == "fail"
    s3_server.put(BUCKET, f"{name}/state/0/2/3.delta", files["state/0/2/3.delta"])
    assert forecast(ck.latest()).outcome != "fail"


def test_a_reading_is_kept_as_long_as_the_setting_allows(s3_server: S3Server) -> None:
    location = put(s3_server, own("look-long"), IDENTITY | logs(0, 3))
    ck = Checkpoint.open(location, Settings(kept_listing_seconds=0))
    assert ck.latest() is not ck


def test_the_deep_check_lists_the_state_once_and_reads_every_file_once(s3_server: S3Server) -> None:
    """Of a checkpoint in which nothing is wrong; where something is, it is looked at a second time."""
    root = SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    files = {name: path for name, path in files.items() if not name.rpartition("/")[2].startswith(".")}
    location = put(s3_server, own("deep"), {name: path.read_bytes() for name, path in files.items()})
    ck = Checkpoint.open(location)
    s3_server.stats()
    answer = forecast(ck, level="deep")
    assert answer.outcome in ("resume", "rerun"), answer.sentence
    seen = s3_server.stats()
    operators = state_inventory(ck).operators
    partitions = sum(len(operator.partitions) for operator in operators)
    logs_again = ("", "offsets", "commits", "sources/0")
    assert seen["list"] <= 1 + len(operators) + partitions + len(ck.sources) + len(logs_again)
    state_files = [name for name in files if name.startswith("state/")]
    assert len(state_files) > 50
    assert seen["get"] <= len(state_files) + 10 * len(ck.sources)


def test_the_rows_of_the_state_cost_the_newest_log_entries_and_no_others(
    s3_server: S3Server,
) -> None:
    files = IDENTITY | logs(0, 30) | state(1, 12, ("",), 30)
    location = put(s3_server, own("rows"), files)
    verb_named("state").run(Namespace(location=location, batch=None, replay=False), Settings())
    seen = s3_server.stats()
    assert (seen["head"], seen["get"]) == (0, 1 + 2 * 2 + 1)  # metadata, two batches, the operator's metadata
    assert seen["list"] <= 4 + 2 + 12


@pytest.mark.parametrize(
    ("sample", "partitions", "files_each"),
    [
        # The newest snapshot, 22, and four deltas.
        pytest.param("purged-to-newest-10", 2, 5, id="HDFS-backed"),
        # The zip of version 8, the two SST files it names, and two changelogs.
        pytest.param("windowed-aggregation-hot-partition", 6, 5, id="RocksDB"),
    ],
)
def test_one_key_costs_the_files_of_its_partition(
    s3_server: S3Server, sample: str, partitions: int, files_each: int
) -> None:
    """Spark's hash says which partition has a key; only that one is read."""
    root = SAMPLES / sample / "checkpoint"
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    files = {name: path for name, path in files.items() if not name.rpartition("/")[2].startswith(".")}
    location = put(s3_server, own(f"key-{sample}"), {name: path.read_bytes() for name, path in files.items()})
    everything = rows_of(location)
    seen = s3_server.stats()
    # metadata, two batches of both logs, the operator's metadata, the schema of its store
    others = 1 + 2 * 2 + 1 + 1
    assert (seen["head"], seen["get"]) == (0, others + partitions * files_each)
    assert len({row.partition for row in everything}) == partitions
    found = rows_of(location, key=json.dumps(everything[0].key))
    assert found == everything[:1]
    seen = s3_server.stats()
    assert (seen["head"], seen["get"]) == (0, others + files_each)
    # the logs; the operator, its metadata, partition 0, the partition of the key, and SSTs of both
    assert seen["list"] <= 4 + 4 + 2, seen


def rows_of(location: Location, key: str | None = None) -> list[RowPart]:
    """All rows of the state, or those with one key. Nothing is kept from an earlier question."""
    asked = ArgumentParser()
    verb = verb_named("rows")
    verb.add_arguments(asked)
    words = ["--limit", "100000", "--reveal"] + ([] if key is None else ["--key", key])
    answer = verb.run(
        Namespace(location=location, **vars(asked.parse_args(words))), Settings(content_cache_bytes=0)
    )
    assert isinstance(answer.document, RowsDocument)
    return list(answer.document.rows)
