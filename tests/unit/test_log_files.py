"""The batch files in columns say the same as an object for each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.log_files import ByBatch, LogFiles
from core.checkpoint.model import LogFile
from core.storage import FileInfo

NUMBERS = st.none() | st.integers(0, 1 << 40)
TIMES = st.none() | st.integers(-(1 << 40), 1 << 45)  # a file can be older than 1970
MARKS = st.none() | st.text(min_size=1, max_size=6)
FILES = st.dictionaries(
    st.integers(0, 60) | st.integers(0, 10**18 - 1),
    st.tuples(st.booleans(), NUMBERS, TIMES, MARKS),
    max_size=30,
)


@given(FILES)
def test_the_columns_are_a_mapping_of_what_was_listed(files: dict[int, tuple[bool, int, int, str]]) -> None:
    infos = {
        number: FileInfo(f"offsets/{'00' if is_odd else ''}{number}", *rest)
        for number, (is_odd, *rest) in files.items()
    }
    columns = LogFiles.of("offsets", list(infos), infos.values())
    by_info, by_file = ByBatch(columns, columns.info), ByBatch(columns, columns.log_file)
    ascending = sorted(infos)
    assert dict(by_info) == infos == by_info
    assert list(by_info) == ascending
    assert list(reversed(by_info)) == ascending[::-1]
    assert list(by_info.values()) == [infos[number] for number in ascending]
    assert list(by_info.items()) == [(number, infos[number]) for number in ascending]
    assert list(by_file.values()) == [LogFile(number, *infos[number][:3]) for number in ascending]
    times = {number: info.modified_ms for number, info in infos.items()}
    assert dict(ByBatch(columns, columns.time)) == times
    assert by_info.keys() | {-5} == infos.keys() | {-5}
    assert len(by_file) == len(infos)
    for number in [*infos, *(number + 1 for number in infos), -1, 1 << 70]:
        assert (number in by_info) == (number in infos)
        assert by_info.get(number) == infos.get(number)
        assert by_info.get(number, "none") == infos.get(number, "none")
    assert "0" not in by_info
    assert columns == LogFiles.of("offsets", ascending, [infos[number] for number in ascending])


def test_a_file_of_another_size_time_mark_or_name_makes_other_columns() -> None:
    first = FileInfo("commits/7", 10, 20, "a")
    others = [
        first._replace(size_bytes=11),
        first._replace(size_bytes=None),
        first._replace(modified_ms=21),
        first._replace(modified_ms=None),
        first._replace(etag="b"),
        first._replace(etag=None),
        first._replace(path="commits/007"),
    ]
    columns = LogFiles.of("commits", [7], [first])
    assert [each for each in others if LogFiles.of("commits", [7], [each]) == columns] == []
    two = LogFiles.of("commits", [7, 8], [first, first._replace(path="commits/8", etag="")])
    assert two != LogFiles.of("commits", [7, 8], [first, first._replace(path="commits/8", etag="a")])


def test_a_number_that_no_store_gives_is_unknown() -> None:
    columns = LogFiles.of("commits", [7], [FileInfo("commits/7", 1 << 80, -(1 << 80))])
    assert columns.info(0) == FileInfo("commits/7", None, None)
