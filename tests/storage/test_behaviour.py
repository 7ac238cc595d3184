"""One suite of behaviour over every kind of store: local files, memory, and a real S3 server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import LocationNotFound, NotADirectory, NotAllowed
from core.storage import Door, FileInfo, Gone, parse_location
from tests.storage.conftest import Place

LOGS = {
    "metadata": b'{"id":"x"}',
    "offsets/0": b"v1\n{}\n0",
    "offsets/10": b"v1\n{}\n10",
    "offsets/.1.tmp": b"half",
    "commits/0": b"v1\n{}",
    "state/0/0/1.delta": b"a",
    "state/0/0/2.delta": b"bb",
    "state/0/1/1.delta": b"ccc",
    "state/0/_metadata/metadata": b"v1",
    "state/1/0/left-keyToNumValues/1.delta": b"d",
}


def test_a_listing_shows_the_files_and_directories_of_one_level(place: Place, door: Door) -> None:
    place.write(LOGS)
    root = door.list([""])[""]
    assert root.exists
    assert set(root.files) == {"metadata"}
    assert root.directories == ("commits", "offsets", "state")
    assert root.files["metadata"].size_bytes == len(LOGS["metadata"])


def test_paths_are_relative_to_the_root_of_the_location(place: Place, door: Door) -> None:
    place.write(LOGS)
    operator = door.list(["state/0"])["state/0"]
    assert operator.directories == ("state/0/0", "state/0/1", "state/0/_metadata")
    assert operator.directory_names() == ("0", "1", "_metadata")
    offsets = door.list(["offsets"])["offsets"]
    assert {path: info.path for path, info in offsets.files.items()} == {
        p: p for p in ("offsets/0", "offsets/10", "offsets/.1.tmp")
    }
    assert set(offsets.names()) == {"0", "10", ".1.tmp"}


def test_several_prefixes_are_listed_at_once(place: Place, door: Door) -> None:
    place.write(LOGS)
    listings = door.list(["", "offsets/", "commits", "commits"])
    assert list(listings) == ["", "offsets", "commits"]
    assert set(listings["commits"].files) == {"commits/0"}


def test_a_listing_says_when_it_was_read(place: Place, door: Door) -> None:
    place.write(LOGS)
    first, second = door.list([""])[""], door.list([""])[""]
    assert 1_700_000_000_000 < first.read_at_ms <= second.read_at_ms


def test_files_have_a_time_in_epoch_milliseconds(place: Place, door: Door) -> None:
    place.write(LOGS)
    listing = door.list(["offsets"])["offsets"]
    modified_ms = listing.files["offsets/0"].modified_ms
    assert modified_ms is not None
    assert abs(listing.read_at_ms - modified_ms) < 2 * 3_600_000


def test_a_recursive_listing_has_the_whole_tree_once(place: Place, door: Door) -> None:
    place.write(LOGS)
    listings = door.list(["", "state", "state/0"], recursive=True)
    assert set(listings[""].files) == set(LOGS)
    assert set(listings["state"].files) == {path for path in LOGS if path.startswith("state/")}
    assert set(listings["state/0"].files) == {path for path in LOGS if path.startswith("state/0/")}
    assert listings["state"].directories == (
        "state/0",
        "state/0/0",
        "state/0/1",
        "state/0/_metadata",
        "state/1",
        "state/1/0",
        "state/1/0/left-keyToNumValues",
    )


def test_a_prefix_that_does_not_exist_is_an_empty_listing_that_says_so(place: Place, door: Door) -> None:
    place.write(LOGS)
    for recursive in (False, True):
        missing = door.list(["sources"], recursive=recursive)["sources"]
        assert not missing.exists
        assert not missing.files
        assert not missing.directories


def test_a_prefix_that_is_a_file_is_no_directory(place: Place, door: Door) -> None:
    place.write(LOGS)
    assert not door.list(["metadata"])["metadata"].exists


def test_an_empty_directory_exists_and_is_empty(place: Place, door: Door) -> None:
    place.write(LOGS)
    place.make_directory("sources")
    sources = door.list(["sources"])["sources"]
    assert sources.exists
    assert not sources.files
    assert "sources" in door.list([""])[""].directories


def test_an_empty_root_exists(place: Place, door: Door) -> None:
    place.make_directory("")
    assert door.list([""])[""].exists


def test_a_root_that_does_not_exist_is_one_clear_sentence(place: Place, door: Door) -> None:
    with pytest.raises(LocationNotFound, match="Nothing found at") as caught:
        door.list(["", "offsets"])
    assert place.location.url in str(caught.value)
    assert caught.value.location == place.location.url


def test_a_file_instead_of_a_directory_is_one_clear_sentence(place: Place) -> None:
    place.write(LOGS)
    door = Door.open(parse_location(place.location.url + "/metadata", place.location.storage_options))
    with pytest.raises(NotADirectory, match="metadata is a file; open the checkpoint directory"):
        door.list(["", "offsets"])


def test_contents_come_back_by_path(place: Place, door: Door) -> None:
    place.write({**LOGS, "empty": b"", "large": b"x" * 3_000_000})
    files = door.list([""], recursive=True)[""].files
    contents = door.read(files.values())
    assert contents == {**LOGS, "empty": b"", "large": b"x" * 3_000_000}
    assert list(contents) == list(files)


def test_a_file_that_vanished_after_it_was_listed_is_gone(place: Place, door: Door) -> None:
    place.write(LOGS)
    files = door.list(["offsets"])["offsets"].files
    place.remove("offsets/0")
    contents = door.read(files.values())
    assert contents["offsets/0"] == Gone()
    assert contents["offsets/10"] == LOGS["offsets/10"]


def test_a_file_that_changed_after_it_was_listed_is_given_as_it_is_now(place: Place, door: Door) -> None:
    place.write(LOGS)
    listed = door.list(["offsets"])["offsets"].files["offsets/0"]
    place.write({"offsets/0": b"longer than before"})
    assert door.read([listed]) == {"offsets/0": b"longer than before"}
    place.write({"offsets/0": b"short"})
    assert door.read([listed]) == {"offsets/0": b"short"}


def test_a_file_that_did_not_change_is_read_once(place: Place, door: Door) -> None:
    place.write(LOGS)
    for _ in range(3):
        files = door.list(["offsets", "commits"])
        assert door.read(files["offsets"].files.values())["offsets/0"] == LOGS["offsets/0"]
    assert door.requests.get == 3
    assert Door.open(place.location).read(files["offsets"].files.values())["offsets/10"] == LOGS["offsets/10"]
    assert door.requests.get == 3


def test_a_rewritten_file_of_another_size_is_read_again(place: Place, door: Door) -> None:
    place.write(LOGS)
    door.read(door.list(["offsets"])["offsets"].files.values())
    place.write({"offsets/0": b"another run"})
    assert door.read(door.list(["offsets"])["offsets"].files.values())["offsets/0"] == b"another run"


def test_new_and_removed_files_are_seen_at_the_next_listing(place: Place, door: Door) -> None:
    place.write(LOGS)
    assert "offsets/11" not in door.list(["offsets"])["offsets"].files
    place.write({"offsets/11": b"v1"})
    place.remove("offsets/0")
    assert set(door.list(["offsets"])["offsets"].files) == {"offsets/10", "offsets/11", "offsets/.1.tmp"}


def test_names_with_special_characters_survive(place: Place, door: Door) -> None:
    names = [
        "a b",
        "50%",
        "%2e",
        "a+b",
        "é",
        "日本",
        "<&>",
        "it's",
        'quote"',
        "a=b",
        "#1",
        "q?x=1",
        "[0]",
        "{x}",
        "a~b",
        "*",
    ]
    files = {f"state/0/0/{name}": name.encode() for name in names}
    place.write(files)
    found = door.list(["state"], recursive=True)["state"].files
    assert set(found) == set(files)
    assert door.read(found.values()) == files


def test_no_path_leads_out_of_the_location(place: Place, door: Door) -> None:
    place.write(LOGS)
    for path in ("../secret", "offsets/../../secret", "/etc/passwd", ".."):
        with pytest.raises(NotAllowed, match="leads out of"):
            door.read([FileInfo(path, 1)])
    with pytest.raises(NotAllowed):
        door.list(["offsets/.."])


def test_a_directory_in_place_of_a_file_is_no_crash(place: Place, door: Door) -> None:
    place.write(LOGS)
    content = door.read([FileInfo("state/0", 1, 1)])["state/0"]
    assert not isinstance(content, bytes)


def test_opening_the_door_sends_no_request(place: Place) -> None:
    assert Door.open(place.location).requests.list == 0


def test_requests_are_counted(place: Place, door: Door) -> None:
    place.write(LOGS)
    files = door.list(["offsets", "commits"])
    assert (door.requests.list, door.requests.get) == (2, 0)
    door.read(files["offsets"].files.values())
    assert (door.requests.list, door.requests.get, door.requests.head) == (2, 3, 0)
    assert door.requests.bytes == sum(
        len(content) for path, content in LOGS.items() if path.startswith("offsets/")
    )


def test_many_threads_share_a_door(place: Place, door: Door) -> None:
    place.write(LOGS)

    def look(_: int) -> dict[str, object]:
        return dict(door.read(door.list([""], recursive=True)[""].files.values()))

    with ThreadPoolExecutor(8) as pool:
        assert all(contents == LOGS for contents in pool.map(look, range(24)))


def test_names_behind_one_are_the_same_in_every_store(place: Place, door: Door) -> None:
    place.write({f"offsets/{name}": b"x" for name in ("1", "10", "2", "9", "99", "a", ".1.crc", "_b")})
    place.write({"offsets/deep/1": b"x", "other/1": b"x"})
    found = door.list_after({"offsets": "10", "other": "1", "nothing": "0"})
    assert set(found["offsets"].names()) == {"2", "9", "99", "a", "_b"}
    assert found["offsets"].directory_names() == ("deep",)
    assert found["offsets"].files["offsets/99"] == door.list(["offsets"])["offsets"].files["offsets/99"]
    assert all(listing.is_complete for listing in found.values())
    assert not found["other"].files and not found["nothing"].files
    assert set(door.list_after({"": "offsets~"})[""].directory_names()) == {"other"}
