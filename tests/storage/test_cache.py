"""The contents that are kept: bounded in bytes, and never those of another store or another file."""

from __future__ import annotations

import threading

from core.settings import Settings
from core.storage import Door, FileInfo
from core.storage.cache import ContentCache
from tests.storage.conftest import BUCKET, LocalPlace
from tests.support.s3 import S3Server


def test_contents_are_kept_up_to_the_limit_and_the_oldest_go_first() -> None:
    cache = ContentCache(10)
    cache.put("a", b"aaaa")
    cache.put("b", b"bbbb")
    assert cache.get("a") == b"aaaa"
    cache.put("c", b"cccc")
    assert cache.get("b") is None
    assert cache.get("a") == b"aaaa"
    assert cache.get("c") == b"cccc"
    assert cache.size_bytes == 8


def test_a_content_larger_than_the_limit_is_not_kept() -> None:
    cache = ContentCache(3)
    cache.put("a", b"aa")
    cache.put("b", b"bbbb")
    assert cache.get("b") is None
    assert cache.get("a") == b"aa"


def test_a_replaced_content_counts_once() -> None:
    cache = ContentCache(10)
    cache.put("a", b"aaaa")
    cache.put("a", b"a")
    assert cache.size_bytes == 1
    cache.clear()
    assert (cache.size_bytes, cache.get("a")) == (0, None)


def test_an_empty_file_is_kept_too() -> None:
    cache = ContentCache(10)
    cache.put("a", b"")
    assert cache.get("a") == b""


def test_many_threads_use_the_cache_and_the_sum_stays_right() -> None:
    cache = ContentCache(100)
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for i in range(500):
            cache.put((number + i) % 40, bytes(i % 10))
            cache.get(i % 40)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = sum(len(cache.get(key) or b"") for key in range(40))
    assert kept == cache.size_bytes <= 100


def test_the_limit_of_the_settings_holds(tmp_path) -> None:  # type: ignore[no-untyped-def]
    place = LocalPlace(tmp_path)
    place.write({"offsets/0": b"x" * 100})
    door = Door.open(place.location, Settings(content_cache_bytes=0))
    for _ in range(2):
        door.read(door.list(["offsets"])["offsets"].files.values())
    assert door.requests.get == 2


def test_two_stores_with_the_same_path_do_not_share_contents(
    s3_server: S3Server, s3_small_pages: S3Server
) -> None:
    key = "shared-name/offsets/0"
    contents = {}
    for server, content in ((s3_server, b"one"), (s3_small_pages, b"two")):
        server.put(BUCKET, key, content)
        door = Door.open(server.location(f"s3://{BUCKET}/shared-name"))
        # The same listing entry for both, as if size, time and mark were equal by chance.
        contents[content] = door.read([FileInfo("offsets/0", 3, 1_000, "same-etag")])["offsets/0"]
    assert contents == {b"one": b"one", b"two": b"two"}
