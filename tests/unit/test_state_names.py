"""What the names below ``state/`` mean."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.state_names import OPERATOR_LEVEL, Directory, Name, directory_of, name_of, plain_number

ID = "713bb905-9ba4-4cdd-8eb0-9dbbdf60e075"

VERSION_NAMES = {
    "7.delta": Name("delta", 7),
    "12.snapshot": Name("snapshot", 12),
    "7.zip": Name("zip", 7),
    "7.changelog": Name("changelog", 7),
    f"7_{ID}.zip": Name("zip", 7, ID),
    f"7_{ID}.changelog": Name("changelog", 7, ID),
    "7.delta.crc": Name("checksum", 7),
    f"7_{ID}.changelog.crc": Name("checksum", 7, ID),
    ".7.delta.crc": Name("checksum"),
    f".7_{ID}.zip.crc.crc": Name("checksum"),
    f".4.changelog.{ID}.TID6.tmp": Name("temporary"),
    f".4.delta.{ID}.tmp": Name("temporary"),
    f"..4.delta.{ID}.tmp.crc": Name("temporary"),
    "temp--7387588417774979664": Name("temporary"),  # seen in a checkpoint of Spark 2.2
    "temp-42": Name("temporary"),
}

FOREIGN_NAMES = [
    "7",
    "delta",
    ".delta",
    "007.delta",
    "-1.delta",
    "7.5.delta",
    "seven.delta",
    "٧.delta",
    "7.DELTA",
    "7.delta.bak",
    "7.delta.crc.crc",
    "notes.crc",
    "temp-",
    "temp-x",
    ".hidden",
    f"7_{ID}.delta",  # the HDFS-backed store has no ids
    f"7_{ID}.snapshot",
    f"7_{ID.upper()}.zip",
    "7_.zip",
    "7_abc.zip",
    f"{2**63}.zip",
    f"{'9' * 40}.zip",
    "",
]

DIRECTORIES = {
    "state/0/3": Directory(0, 3, "default", "versions"),
    "state/12/3/left-keyToNumValues": Directory(12, 3, "left-keyToNumValues", "versions"),
    "state/0/3/SSTs": Directory(0, 3, "default", "sst"),
    "state/0/3/logs": Directory(0, 3, "default", "rocksdb_log"),
    "state/0/3/right-keyToNumValues/SSTs": Directory(0, 3, "right-keyToNumValues", "sst"),
    "state/0/0/_metadata": Directory(0, 0, "default", "schema"),
    "state/0/0/left-keyToNumValues/_metadata": Directory(0, 0, "left-keyToNumValues", "schema"),
    "state/0/_metadata": Directory(0, OPERATOR_LEVEL, "", "metadata"),
    "state/0/_metadata/v2": Directory(0, OPERATOR_LEVEL, "", "metadata_v2"),
    "state/0/_stateSchema/default": Directory(0, OPERATOR_LEVEL, "default", "schema_v3"),
}


@pytest.mark.parametrize("name", VERSION_NAMES)
def test_every_name_spark_writes_in_a_store_is_recognised(name: str) -> None:
    assert name_of("versions", name) == VERSION_NAMES[name]


@pytest.mark.parametrize("name", FOREIGN_NAMES)
def test_a_name_spark_does_not_write_is_foreign(name: str) -> None:
    assert name_of("versions", name).kind == "foreign"


@pytest.mark.parametrize(
    ("section", "name", "kind"),
    [
        ("sst", f"000008-{ID}.sst", "sst"),
        ("sst", f"000008-{ID}.log", "foreign"),
        ("sst", "7.zip", "foreign"),
        ("rocksdb_log", f"000004-{ID}.log", "rocksdb_log"),
        ("schema", "schema", "schema"),
        ("schema", "metadata", "foreign"),
        ("metadata", "metadata", "metadata"),
        ("metadata", "schema", "foreign"),
        ("metadata_v2", "14", "metadata"),
        ("metadata_v2", "014", "foreign"),
        ("schema_v3", f"0_{ID}", "schema"),
        ("schema_v3", f"x_{ID}", "foreign"),
        ("schema_v3", "0", "foreign"),
        ("schema", ".schema.crc", "checksum"),
        ("metadata", f".metadata.{ID}.tmp", "temporary"),
    ],
)
def test_a_name_is_judged_by_the_directory_it_lies_in(section: str, name: str, kind: str) -> None:
    assert name_of(section, name).kind == kind  # type: ignore[arg-type]


@pytest.mark.parametrize("path", DIRECTORIES)
def test_every_directory_spark_makes_is_recognised(path: str) -> None:
    assert directory_of(path) == DIRECTORIES[path]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "state",
        "state/0",
        "state/x/0",
        "state/0/x",
        "state/00/1",
        "state/0/01",
        "state/0/-1",
        "offsets/0/1",
        "state/0/_metadata/v3",
        "state/0/_metadata/v2/deep",
        "state/0/_stateSchema",
        "state/0/_stateSchema/default/deep",
        "state/0/1/SSTs/deep",
        "state/0/1/store/deep",
        "state/0/1/store/SSTs/deep",
    ],
)
def test_a_directory_spark_does_not_make_is_none(path: str) -> None:
    assert directory_of(path) is None


@given(version=st.integers(0, 2**63 - 1), kind=st.sampled_from(["delta", "snapshot", "zip", "changelog"]))
def test_any_version_is_read_back_from_its_name(version: int, kind: str) -> None:
    assert name_of("versions", f"{version}.{kind}") == (kind, version, None)


@given(version=st.integers(0, 2**63 - 1), unique_id=st.uuids(), kind=st.sampled_from(["zip", "changelog"]))
def test_any_version_with_an_id_is_read_back_from_its_name(
    version: int, unique_id: uuid.UUID, kind: str
) -> None:
    assert name_of("versions", f"{version}_{unique_id}.{kind}") == (kind, version, str(unique_id))


@given(
    st.text(alphabet=st.sampled_from("0123456789.-_abcdefdeltazipsnapshotchangelogcrctmp/ \0é٣"), max_size=60)
)
def test_a_name_taken_for_a_version_is_exactly_that_name(text: str) -> None:
    name = name_of("versions", text)
    if name.version is not None and name.kind != "checksum":
        stem = f"{name.version}" if name.unique_id is None else f"{name.version}_{name.unique_id}"
        assert text == f"{stem}.{name.kind}"


@given(st.text(max_size=60))
def test_no_path_makes_the_reader_of_names_fail(text: str) -> None:
    place = directory_of(text)
    assert place is None or text.startswith("state/")
    assert directory_of(f"state/{text}") is None or text[0].isdigit()


@given(st.text(max_size=25))
def test_a_plain_number_is_written_the_way_it_prints(text: str) -> None:
    number = plain_number(text)
    assert number is None or str(number) == text
