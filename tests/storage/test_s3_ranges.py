"""The listing of long S3 directories in ranges, against a model of ListObjectsV2: whatever the names and the
length of a page, every name comes back once, in no more requests than plain paging plus a few for each split.
The real server's answers are tested in ``test_s3.py``.
"""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from core.storage.s3_listing import Lister
from core.storage.s3_pages import Page
from core.storage.store import Folder

TOP = "top/"


class Model:
    """What S3 documents for ListObjectsV2: keys in the order of their UTF-8 bytes, prefix, delimiter,
    start-after, pages."""

    def __init__(self, names: set[str], page_size: int) -> None:
        self.keys = sorted((TOP + name for name in names), key=str.encode)
        self.page_size = page_size
        self.requests = 0

    async def __call__(
        self,
        Prefix: str,  # noqa: N803
        Delimiter: str = "",  # noqa: N803
        StartAfter: str = "",  # noqa: N803
        ContinuationToken: str = "",  # noqa: N803
        MaxKeys: int = 1000,  # noqa: N803
    ) -> Page:
        self.requests += 1
        after = (ContinuationToken or StartAfter).encode()
        found: list[tuple[str, bool]] = []
        for key in self.keys:
            if not key.startswith(Prefix):
                continue
            rest = key[len(Prefix) :]
            group = (
                Prefix + rest.split(Delimiter, 1)[0] + Delimiter if Delimiter and Delimiter in rest else None
            )
            name = group or key
            # A group was given when its name was; as a start it only leaves out what sorts before it.
            if (ContinuationToken and name.encode() <= after) or (
                not ContinuationToken and key.encode() <= after
            ):
                continue
            if (name, group is not None) not in found[-1:]:
                found.append((name, group is not None))
        page = found[: min(self.page_size, MaxKeys)]
        return Page(
            [(name, "", "", "1") for name, is_group in page if not is_group],
            [name for name, is_group in page if is_group],
            page[-1][0] if len(found) > len(page) else None,
        )


NUMBERS = st.sets(st.integers(0, 3000).map(str), max_size=150)
RUNS = st.builds(
    lambda first, count: {str(n) for n in range(first, first + count)},
    st.integers(0, 12_000),
    st.integers(0, 300),
)
STRANGE = [
    ".7.tmp",
    "_x",
    "9.compact",
    "10.compact",
    "~",
    "a/b",
    "4/x",
    "40/x",
    "8~",
    "8~x",
    "8~y",
    "9~",
    "9~x",
    "é",
    "8é",
    "9é",
    "2a",
    "0x",
]
ODD = st.sets(st.sampled_from(STRANGE))


@given(NUMBERS | RUNS, ODD, st.integers(1, 12))
def test_every_name_of_a_long_directory_comes_back_once(
    numbers: set[str], odd: set[str], page_size: int
) -> None:
    names = numbers | {name for name in odd if name.split("/")[0] not in numbers}
    model = Model(names, page_size)
    folder = asyncio.run(Lister(model, "top", False, 64, None).folder("", recursive=False))
    assert sorted(info.path for info in folder.files) == sorted(name for name in names if "/" not in name)
    assert folder.directories == {name.split("/")[0] for name in names if "/" in name}
    assert model.requests <= 1 + 10 * (len(names) // page_size + 1)


@given(NUMBERS, ODD, st.integers(1, 40), st.integers(1, 5), st.booleans())
def test_every_name_of_a_tree_comes_back_once(
    numbers: set[str], odd: set[str], page_size: int, files_each: int, is_there: bool
) -> None:
    names = (
        {f"state/0/{number}/{n}.delta" for number in numbers for n in range(1 + int(number) % files_each)}
        | {f"state/0/{name}" for name in odd}
        | {f"state/{name}" for name in odd}
    )
    model = Model(names, page_size)
    folder = asyncio.run(Lister(model, "top", False, 64, None).folder("state", True, is_there))
    assert sorted(info.path for info in folder.files) == sorted(names)


def test_a_request_lists_as_many_partitions_as_fit_on_a_page() -> None:
    names = {f"state/0/{partition}/{n}.delta" for partition in range(200) for n in range(110)}
    names |= {"state/0/_metadata/metadata"}
    model = Model(names, 1000)
    folder = asyncio.run(Lister(model, "top", False, 64, None).folder("state", True))
    assert {info.path for info in folder.files} == names
    assert model.requests <= 2 + 200 // 8 + 1 + 2  # by partition it would be 202
    small = {name for name in names if name.endswith(("/1.delta", "/metadata"))}
    model = Model(small, 1000)
    folder = asyncio.run(Lister(model, "top", False, 64, None).folder("state", True))
    assert {info.path for info in folder.files} == small
    assert model.requests == 3


def test_the_first_operator_of_a_state_that_is_there_costs_no_request_more() -> None:
    names = {f"state/{operator}/{partition}/1.delta" for operator in range(3) for partition in range(5)}
    asked = []
    for is_there in (False, True):
        model = Model(names, 1000)
        folder = asyncio.run(Lister(model, "top", False, 64, None).folder("state", True, is_there))
        assert {info.path for info in folder.files} == names
        asked.append(model.requests)
    assert asked[0] == asked[1]


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *(f"top/a/{n}" for n in range(4)),
                "top/b/c/1",
                "top/x",
                "top/",
                "top/a/",
                "top//x",
                "top/a//b",
                "top/a/x_$folder$",
                "top/a/n\nm",
                "top/\n",
            ]
        ),
        st.sampled_from(["2026-12-20T12:00:00.000Z", "2026-12-20T12:00:01.000Z", "never"]),
        st.sampled_from(['"e"', ""]),
        st.sampled_from(["0", "17", ""]),
    ),
    max_size=6,
)


@given(ENTRIES)
def test_a_page_read_in_columns_gives_what_entry_by_entry_gives(
    entries: list[tuple[str, str, str, str]],
) -> None:
    """One way is only faster than the other."""
    lister = Lister(Model(set(), 1), "top", False, 1, None)
    one, other = Folder(exists=False), Folder(exists=False)
    page = Page(entries, ["top/d/"])
    lister._note(page, one, TOP)
    lister._note_each(page, other, 0)
    lister._note(Page([], ["top/d/"]), other, TOP)
    assert (one.files, one.directories) == (other.files, other.directories)
