"""Links, roots, and what may be opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
from pydantic import Secret

from core.errors import LocationNotFound, NotAllowed, StorageError, UnsupportedLocation
from core.settings import RootSettings, Settings, is_loopback
from core.storage import parse_location
from core.storage.roots import (
    find_checkpoints,
    link_for,
    locate,
    require_roots,
    resolve_link,
    roots,
)
from tests.storage.conftest import BUCKET
from tests.support.s3 import S3Server

LAPTOP = "127.0.0.1"
SERVER = "0.0.0.0"
OPTIONS = {"key": "k", "secret": "hidden"}


def settings(address: str = LAPTOP, **places: str | dict[str, Any]) -> Settings:
    configured = {
        name: RootSettings(url=place)
        if isinstance(place, str)
        else RootSettings(url=place["url"], storage_options=Secret(place["options"]))
        for name, place in places.items()
    }
    return Settings(roots=configured, address=address)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """checkpoints/{orders,deep/clicks,empty} with real names, and a secret beside it."""
    for path in (
        "checkpoints/orders/offsets/0",
        "checkpoints/deep/clicks/commits/0",
        "checkpoints/empty/x.txt",
        "secret/offsets/0",
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(b"v1")
    return tmp_path


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]", " LOCALHOST "])
def test_a_loopback_address_is_private(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "", None, "10.0.0.5", "example.org", "localhost.example.org"]
)
def test_any_other_address_is_not(address: str | None) -> None:
    assert not is_loopback(address)


def test_a_link_is_the_name_of_a_root_and_the_path_below_it(tree: Path) -> None:
    s = settings(team=str(tree / "checkpoints"))
    location = resolve_link("team/deep/clicks", s)
    assert location.path == str(tree / "checkpoints/deep/clicks")
    assert location.name == "clicks"
    assert link_for(location, s) == "team/deep/clicks"
    assert resolve_link("/team/", s).path == str(tree / "checkpoints")
    assert link_for(resolve_link("team", s), s) == "team"


def test_a_link_carries_no_url_and_no_storage_option() -> None:
    s = settings(SERVER, prod={"url": "s3a://bucket/checkpoints/", "options": OPTIONS})
    location = resolve_link("prod/orders", s)
    assert location.url == "s3://bucket/checkpoints/orders"
    assert location.storage_options == OPTIONS
    assert link_for(location, s) == "prod/orders"


def test_the_deepest_root_names_a_location(tree: Path) -> None:
    s = settings(all=str(tree), team=str(tree / "checkpoints"))
    assert link_for(parse_location(str(tree / "checkpoints/orders")), s) == "team/orders"
    assert link_for(parse_location(str(tree / "secret")), s) == "all/secret"


def test_a_location_below_no_root_has_no_link(tree: Path) -> None:
    s = settings(team=str(tree / "checkpoints"))
    assert link_for(parse_location(str(tree / "secret")), s) is None
    assert link_for(parse_location(str(tree / "checkpoints-old")), s) is None
    assert link_for(parse_location("s3://bucket/ck"), s) is None


def test_a_link_to_an_unknown_root_says_what_it_asked_for_and_what_there_is(tree: Path) -> None:
    with pytest.raises(
        LocationNotFound, match=r'asks for "prod/orders", and no root is called "prod" here \(there is: team'
    ):
        resolve_link("prod/orders", settings(team=str(tree)))


@pytest.mark.parametrize(
    "relative",
    [
        "../secret",
        "orders/../../secret",
        "%2e%2e/secret",
        "%252e%252e/secret",
        "..%2fsecret",
        "./orders",
        "a//b",
    ],
)
@pytest.mark.parametrize("address", [LAPTOP, SERVER])
def test_no_link_leads_out_of_its_root(tree: Path, relative: str, address: str) -> None:
    with pytest.raises(NotAllowed, match="leads out of the root"):
        resolve_link(f"team/{relative}", settings(address, team=str(tree / "checkpoints")))
    with pytest.raises(NotAllowed, match="leads out of the root"):
        resolve_link(
            f"team/{relative}", settings(address, team={"url": "s3://bucket/checkpoints", "options": OPTIONS})
        )


@pytest.mark.parametrize("name", ["per%20cent%2F", "100%", "%2Fetc", "a%2F%2Fb", "%", "%25"])
def test_a_percent_sign_in_the_name_of_a_directory_is_part_of_the_name(tree: Path, name: str) -> None:
    place = tree / "checkpoints" / name
    (place / "offsets").mkdir(parents=True)
    s = settings(team=str(tree / "checkpoints"))
    assert f"team/{name}" in find_checkpoints("team", s).links
    for text in (f"team/{name}", str(place)):
        location = locate(text, s)
        assert location.path == str(place) and link_for(location, s) == f"team/{name}"
    remote = settings(prod="s3://bucket/checkpoints")
    assert locate(f"prod/{name}", remote).url == f"s3://bucket/checkpoints/{name}"


def test_a_symbolic_link_below_a_root_leads_out_of_it_for_nobody(tree: Path) -> None:
    (tree / "checkpoints/door").symlink_to(tree / "secret")
    s = settings(SERVER, team=str(tree / "checkpoints"))
    with pytest.raises(NotAllowed, match="through a symbolic link"):
        resolve_link("team/door", s)
    with pytest.raises(NotAllowed):
        locate(str(tree / "checkpoints/door"), s)


def test_a_root_that_is_a_symbolic_link_itself_works(tree: Path) -> None:
    (tree / "alias").symlink_to(tree / "checkpoints")
    s = settings(SERVER, team=str(tree / "alias"))
    assert resolve_link("team/orders", s).path == str(tree / "alias/orders")
    assert locate(str(tree / "checkpoints/orders"), s).path == str(tree / "alias/orders")
    assert link_for(parse_location(str(tree / "checkpoints/orders")), s) == "team/orders"


def test_on_a_laptop_any_location_may_be_opened(tree: Path) -> None:
    s = settings(LAPTOP, team=str(tree / "checkpoints"))
    assert locate(str(tree / "secret"), s).path == str(tree / "secret")
    assert locate("s3a://anything/ck", s).url == "s3://anything/ck"


OUTSIDE = [
    "{tree}/secret",
    "{tree}/checkpoints/../secret",
    "{tree}",
    "/",
    "/etc",
    "memory://x",
    "s3://other/ck",
    "file:{tree}/secret",
    "s3://bucket/checkpoints-other/ck",
    "s3://bucket",
    "s3://bucket/checkpoints/%2e%2e/other",
    "s3://bucket/checkpoints/%252e%252e/other",
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_on_a_server_nothing_outside_the_roots_is_opened(tree: Path, text: str) -> None:
    s = settings(
        SERVER, team=str(tree / "checkpoints"), prod={"url": "s3://bucket/checkpoints", "options": OPTIONS}
    )
    text = text.format(tree=tree)
    with pytest.raises(NotAllowed, match=r"outside the configured roots \(team, prod\)"):
        locate(text, s)


def test_on_a_server_everything_below_a_root_is_opened_with_its_options(tree: Path) -> None:
    s = settings(
        SERVER, team=str(tree / "checkpoints"), prod={"url": "s3://bucket/checkpoints", "options": OPTIONS}
    )
    assert locate(f" '{tree}/checkpoints/orders/' ", s).path == str(tree / "checkpoints/orders")
    pasted = locate("s3a://bucket/checkpoints/a/b", s)
    assert pasted.url == "s3://bucket/checkpoints/a/b"
    assert pasted.storage_options == OPTIONS
    assert locate("s3://bucket/checkpoints/a", s).storage_options == OPTIONS
    assert locate("prod/a/b", s) == pasted


def test_a_location_with_other_credentials_is_not_the_root(tree: Path) -> None:
    s = settings(SERVER, prod={"url": "s3://bucket/checkpoints", "options": OPTIONS})
    elsewhere = parse_location("s3://bucket/checkpoints/a", {"endpoint_url": "http://elsewhere"})
    assert link_for(elsewhere, s) is None
    assert link_for(parse_location("s3://bucket/checkpoints/a"), s) == "prod/a"


def test_a_server_does_not_start_without_roots(tree: Path) -> None:
    require_roots(LAPTOP, Settings(address=LAPTOP))
    require_roots(SERVER, settings(SERVER, team=str(tree)))
    for bound_to in (SERVER, LAPTOP, None):
        with pytest.raises(NotAllowed, match="no roots are configured; set CHECKPOINT_EXPLORER_ROOTS"):
            require_roots(bound_to, Settings(address=SERVER))
    with pytest.raises(NotAllowed, match="no roots are configured"):
        require_roots(SERVER, settings(SERVER))


@pytest.mark.parametrize("bound_to", [SERVER, "", None, "192.168.1.7"])
def test_a_server_that_listens_on_more_than_the_settings_say_does_not_start(
    tree: Path, bound_to: str | None
) -> None:
    with pytest.raises(NotAllowed, match="set CHECKPOINT_EXPLORER_ADDRESS="):
        require_roots(bound_to, settings(LAPTOP, team=str(tree)))


def test_a_root_that_is_no_location_is_named(tree: Path) -> None:
    with pytest.raises(
        UnsupportedLocation, match='root "prod" in CHECKPOINT_EXPLORER_ROOTS cannot be used: "nonsense://"'
    ):
        roots(settings(prod="nonsense://x"))
    with pytest.raises(StorageError):
        require_roots(LAPTOP, settings(prod="nonsense://x"))


def test_checkpoints_are_found_some_levels_below_a_root_and_not_inside_of_others(tree: Path) -> None:
    for path in (
        "checkpoints/deep/er/and/deeper/offsets/0",
        "checkpoints/deep/er/and/deeper/still/offsets/0",
        "checkpoints/orders/state/0/0/1.delta",
        "checkpoints/orders/offsets/nested/offsets/0",
        "checkpoints/_hidden/offsets/0",
        "checkpoints/.git/offsets/0",
    ):
        (tree / path).parent.mkdir(parents=True)
        (tree / path).write_bytes(b"")
    (tree / "checkpoints/just-metadata").mkdir()
    (tree / "checkpoints/just-metadata/metadata").write_bytes(b"{}")
    found = find_checkpoints("team", settings(team=str(tree / "checkpoints")))
    assert found.links == (
        "team/deep/clicks",
        "team/deep/er/and/deeper",
        "team/just-metadata",
        "team/orders",
    )
    assert found.is_complete
    assert found.listed == 1 + 4 + 2 + 1 + 1  # the root, and no directory inside of a checkpoint
    two = settings(team=str(tree / "checkpoints")).model_copy(update={"checkpoint_levels": 2})
    assert find_checkpoints("team", two).links == ("team/deep/clicks", "team/just-metadata", "team/orders")


def test_of_a_delta_table_only_the_checkpoint_directory_is_searched(tree: Path) -> None:
    for path in (
        "t/_delta_log/0.json",
        "t/_checkpoint/offsets/0",
        "t/part/offsets/0",
        "plain/day=1/offsets/0",
        "plain/_checkpoints/metadata",
    ):
        (tree / "lake" / path).parent.mkdir(parents=True)
        (tree / "lake" / path).write_bytes(b"")
    found = find_checkpoints("lake", settings(lake=str(tree / "lake")))
    assert found.links == ("lake/plain/_checkpoints", "lake/t/_checkpoint")


def test_a_root_with_long_directories_is_searched_by_their_first_pages(s3_small_pages: S3Server) -> None:
    files = {f"lake/table/part-{i:05}.parquet" for i in range(60)} | {
        "lake/table/_delta_log/0.json",
        "lake/ck/offsets/0",
        "lake/ck/commits/0",
    }
    s3_small_pages.put_many(BUCKET, dict.fromkeys(files | {f"lake/logs/{i}.log" for i in range(25)}, b""))
    prod = RootSettings(url=f"s3://{BUCKET}/lake", storage_options=Secret(s3_small_pages.storage_options))
    s3_small_pages.stats()
    found = find_checkpoints("prod", Settings(roots={"prod": prod}))
    assert found.links == ("prod/ck",)
    assert not found.is_complete  # logs/ has more names than were looked at; the table has none that count
    assert s3_small_pages.stats()["list"] == 4


def test_all_directories_of_a_long_root_are_searched(s3_small_pages: S3Server) -> None:
    """Ten names on a page. A store sorts "ck-1/" before "ck/", and "ck/" before "ck0/"."""
    names = {f"query-{i:02}" for i in range(25)} | {"ck", "ck-1", "ck0", *(f"ck-0{i}" for i in range(8))}
    s3_small_pages.put_many(BUCKET, {f"many/{name}/offsets/0": b"" for name in names})
    wide = RootSettings(url=f"s3://{BUCKET}/many", storage_options=Secret(s3_small_pages.storage_options))
    found = find_checkpoints("prod", Settings(roots={"prod": wide}))
    assert found.links == tuple(sorted(f"prod/{name}" for name in names)) and found.is_complete
    assert found.listed == 4 + len(names)
    few = find_checkpoints("prod", Settings(roots={"prod": wide}, checkpoints_per_root=20))
    assert len(few.links) == 20 - 4 and not few.is_complete and few.listed == 20


def test_a_directory_that_cannot_be_listed_hides_no_other(s3_server: S3Server) -> None:
    names = ("fine", "refused", "team/one", "team/two")
    s3_server.put_many(BUCKET, {f"guarded/{name}/offsets/0": b"" for name in names})
    place = RootSettings(url=f"s3://{BUCKET}/guarded", storage_options=Secret(s3_server.storage_options))
    configured = Settings(roots={"prod": place})
    seen: list[str] = []
    s3_server.fail({"match": "guarded/refused/", "status": 403, "code": "AccessDenied", "times": -1})
    try:
        found = find_checkpoints("prod", configured, seen.extend)
        s3_server.fail({"match": "guarded/", "status": 403, "code": "AccessDenied", "times": -1})
        with pytest.raises(StorageError, match="permission"):
            find_checkpoints("prod", configured)
    finally:
        s3_server.fail()
    assert found.links == tuple(f"prod/{name}" for name in names)  # opening it says why it is not read
    assert sorted(seen) == list(found.links)


def test_a_directory_that_links_lead_to_again_counts_once_by_its_real_path(tree: Path) -> None:
    (tree / "linked/z/ck/offsets").mkdir(parents=True)
    (tree / "elsewhere/ck/offsets").mkdir(parents=True)
    (tree / "linked/a").symlink_to(tree / "linked/z")
    (tree / "linked/b").symlink_to(tree / "linked")
    (tree / "linked/c").symlink_to(tree / "elsewhere")
    (tree / "linked/d").symlink_to(tree / "elsewhere")
    found = find_checkpoints("linked", settings(linked=str(tree / "linked")))
    assert found.links[-1] == "linked/z/ck" and len(found.links) == 2
    assert found.links[0] in ("linked/c/ck", "linked/d/ck") and found.is_complete


def test_a_name_that_no_location_can_hold_is_skipped_and_deeper_directories_are_counted(tree: Path) -> None:
    (tree / "odd/a\nb/offsets").mkdir(parents=True)
    (tree / "odd/fine/offsets").mkdir(parents=True)
    (tree / "odd/1/2/3/4/5/offsets").mkdir(parents=True)
    found = find_checkpoints("odd", settings(odd=str(tree / "odd")))
    assert (found.links, found.skipped, found.too_deep) == (("odd/fine",), ("a\nb",), 1)


def test_a_root_that_is_a_checkpoint_itself_is_found(tree: Path) -> None:
    assert find_checkpoints("one", settings(one=str(tree / "checkpoints/orders"))).links == ("one",)


def test_the_search_for_checkpoints_stops_at_the_limit_and_says_so(tree: Path) -> None:
    for i in range(12):
        (tree / f"many/ck{i:02}/offsets").mkdir(parents=True)
    configured = {"many": RootSettings(url=str(tree / "many"))}
    found = find_checkpoints("many", Settings(roots=configured, checkpoints_per_root=5))
    assert not found.is_complete
    assert found.listed == 5
    assert found.links == ("many/ck00", "many/ck01", "many/ck02", "many/ck03")
    everything = find_checkpoints("many", Settings(roots=configured, checkpoints_per_root=13))
    assert everything.is_complete
    assert len(everything.links) == 12


def test_checkpoints_of_a_declarative_pipeline_are_found_from_its_storage_and_above(tree: Path) -> None:
    flow = "lake/orders/_checkpoints/spark_catalog/default/orders/by_day"
    for number in (0, 1):
        (tree / flow / f"{number}/offsets").mkdir(parents=True)
    (tree / "lake/a/b/c/d/e/offsets").mkdir(parents=True)
    (tree / flow / "2/one/more/offsets").mkdir(parents=True)
    for root in ("lake", "lake/orders", "lake/orders/_checkpoints"):
        found = find_checkpoints("lake", settings(lake=str(tree / root)))
        assert [link.rpartition("/")[2] for link in found.links] == ["0", "1"], root


def test_a_limit_that_bites_on_the_second_level_is_said_too(tree: Path) -> None:
    for i in range(6):
        (tree / f"two/group/ck{i}/offsets").mkdir(parents=True)
    found = find_checkpoints(
        "two", Settings(roots={"two": RootSettings(url=str(tree / "two"))}, checkpoints_per_root=4)
    )
    assert (len(found.links), found.is_complete) == (2, False)


def test_a_root_that_does_not_exist_is_one_clear_sentence(tree: Path) -> None:
    with pytest.raises(LocationNotFound, match="Nothing found at"):
        find_checkpoints("gone", settings(gone=str(tree / "nothing")))


def test_checkpoints_are_found_in_memory_too() -> None:
    fsspec.filesystem("memory").pipe("/roots-test/a/offsets/0", b"")
    assert find_checkpoints("m", settings(m="memory://roots-test")).links == ("m/a",)


def test_the_name_of_a_root_wins_over_a_directory_of_that_name(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    s = settings(secret=str(tree / "checkpoints"))
    assert locate("secret/orders", s).path == str(tree / "checkpoints/orders")
