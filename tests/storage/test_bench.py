"""The measuring tools measure what they say: generator, slow S3, latency proxy, comparison."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import fsspec
import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from core.storage import Location
from core.survey import search_root
from scripts.bench.large_checkpoint import PROVIDERS, Shape, files, listing, write
from scripts.bench.latency_proxy import proxying
from scripts.bench.slow_s3 import SlowS3, serving
from scripts.bench.survey import ROOTS, comparable, generate, one_after_another, settings_of, surveyed
from scripts.bench.table import DOCUMENT, put, table
from tests.support.build import PROJECT

pytestmark = pytest.mark.slow

KEYS = ["a/1", "a/2", "a/b/3", "b", "\u00e9", "\U0001f600"]


@pytest.mark.parametrize("layout", sorted(PROVIDERS))
def test_a_generated_checkpoint_is_read_without_a_problem_and_can_be_resumed(
    layout: str, tmp_path: Path
) -> None:
    shape = Shape(batches=12, first=5, partitions=3, versions=8, stores=4, sources=2, layout=layout)  # type: ignore[arg-type]
    count = write(tmp_path / "ck", shape, crc=True)
    names = {
        path.relative_to(tmp_path / "ck").as_posix()
        for path in (tmp_path / "ck").rglob("*")
        if path.is_file()
    }
    assert count == len(names) // 2 == len(listing(shape))
    assert {name for name in names if not name.endswith(".crc")} == set(listing(shape))
    ck = Checkpoint.open(str(tmp_path / "ck"))
    assert (ck.offset_ids[0], ck.last_committed_batch, ck.pending_batch, len(ck.sources)) == (5, 16, None, 2)
    (operator,) = state_inventory(ck).operators
    assert (len(operator.partitions), operator.restorable.newest_common_version) == (3 * 4, 17)
    # its zips name SST files that are not made, so the state is left alone
    assert (list(ck.problems), forecast(ck, level="quick").outcome) == ([], "resume")


def test_a_pending_batch_has_no_commit_and_a_shape_is_always_the_same() -> None:
    shape = Shape(batches=3, partitions=0, pending=True)
    assert {name for name in listing(shape) if name.startswith("commits/")} == {"commits/0", "commits/1"}
    assert dict(files(shape)) == dict(files(shape))


def connected(location: Location) -> fsspec.AbstractFileSystem:
    return fsspec.filesystem(
        location.protocol, **location.storage_options, use_listings_cache=False, skip_instance_cache=True
    )


def test_the_slow_s3_lists_reads_and_counts_like_a_server(tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("".join(f"{key}\t{len(key)}\n" for key in KEYS), encoding="utf-8")
    many = tmp_path / "many.tsv"
    many.write_text("".join(f"k{number:05}\t1\n" for number in range(2500)), encoding="utf-8")
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "k00007").write_bytes(b"7")
    (tmp_path / "folder" / "d").mkdir(parents=True)
    (tmp_path / "folder" / "d" / "file").write_bytes(b"0123456789")
    (tmp_path / "folder" / "d" / ".file.crc").write_bytes(b"crc")
    with serving({"names": names, "many": many, "folder": tmp_path / "folder"}) as server:
        fs = connected(server.location("names"))
        assert sorted(fs.find("names")) == sorted(f"names/{key}" for key in KEYS)
        assert {path.rstrip("/") for path in fs.ls("names", detail=False)} == {
            "names/a",
            "names/b",
            *(f"names/{key}" for key in KEYS[4:]),
        }
        server.stats()
        assert len(fs.find("many")) == 2500
        assert server.stats()["list"] == 3
        assert (fs.cat_file("many/k00007"), fs.cat_file("many/k00008")) == (b"7", b"\0")
        assert fs.find("folder") == ["folder/d/file"]
        server.stats()
        assert fs.cat_file("folder/d/file", start=2, end=5) == b"234"
        assert fs.cat_file("folder/d/file") == b"0123456789"
        assert server.stats() == {
            "list": 0,
            "head": 1,
            "get": 2,
            "most_at_once": 1,
        }  # fsspec asks for the size of a whole file
        assert fs.cat_file("folder/d/file", start=-3) == b"789"
        with pytest.raises(FileNotFoundError):
            fs.cat_file("folder/d/other")
        server.stats()
        assert server.stats() == {"list": 0, "head": 0, "get": 0, "most_at_once": 1}


def seconds_of_a_read(server: SlowS3, endpoint: str | None = None) -> float:
    fs = connected(server.location("bucket", endpoint))
    fs.cat_file("bucket/file")  # connects
    start = time.perf_counter()
    assert fs.cat_file("bucket/file") == b"x"
    return time.perf_counter() - start


def test_each_request_waits_for_the_latency_of_the_server_or_of_the_proxy(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with serving({"bucket": tmp_path}, ms=150) as slow:
        assert seconds_of_a_read(slow) >= 0.15
    with (
        serving({"bucket": tmp_path}) as quick,
        proxying(quick.endpoint.removeprefix("http://"), ms=150) as endpoint,
    ):
        assert seconds_of_a_read(quick, endpoint) >= 0.15


@pytest.mark.parametrize("server", [[], ["--moto"]])
def test_the_comparison_runs_and_prints_a_ratio_for_every_case(server: list[str]) -> None:
    sizes = "--rounds 1 --ms 0 --batches 4 --long 6 --partitions 2 --versions 5"
    command = [str(PROJECT / "scripts/bench/run"), *sizes.split()]
    done = subprocess.run([*command, *server], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = re.findall(
        r"^(.{42}) plain +(\d+) .*\n {42} ours +(\d+) .* (\d+) +0 +(\d+) +[\d.]+ \.\. [\d.]+$",
        done.stdout,
        re.MULTILINE,
    )
    assert [row[0].split(":")[0].strip() for row in rows] == ["local", "local", "S3", "S3", "S3", "S3"]
    assert all(plain == ours for _, plain, ours, _, _ in rows)
    assert [int(gets) for *_, gets in rows][2:5] == [8, 9, 12]


def test_the_table_has_a_row_for_every_view_and_goes_into_the_document(tmp_path: Path) -> None:
    lines = table(rounds=1, ms=0, batches=150, is_large=False)
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 6
    assert all(line.count("|") == 6 for line in rows)
    assert "4/0/201" in rows[1]
    assert [row.count("4/0/201") for row in rows[1:3]] == [2, 2], "what was opened before saves no request"
    assert "state, 22,002 files listed" in rows[4]
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- begin stores -->\nold\n<!-- end stores -->\nafter\n")
    put("stores", lines, document)
    put("stores", lines, document)
    text = document.read_text()
    assert text.startswith("before\n<!-- begin stores -->\n| view |") and text.endswith("-->\nafter\n")
    assert "old" not in text and text.count("newest 100 of 100 batches") == 1
    with pytest.raises(SystemExit, match="has no place for other"):
        put("other", lines, document)


def test_the_document_has_a_place_for_both_tables() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in ("stores", "state rows"):
        assert f"<!-- begin {name} -->" in text and f"<!-- end {name} -->" in text


def test_a_survey_side_by_side_has_the_rows_of_one_after_another(tmp_path: Path) -> None:
    assert generate(tmp_path, 20) > 20
    with serving({name: tmp_path / name for name in ROOTS}) as server:
        settings = settings_of(server)
        found = surveyed("all", settings, server)
        places = search_root("all", settings).places
        _, rows = one_after_another(places, settings)
    assert len(places) == 20 and comparable(rows) == comparable(found.rows)
    assert not any(row.error for row in rows) and 0 < found.first <= found.few <= found.all
    assert found.requests["list"] > 20 and found.requests["head"] == 0
