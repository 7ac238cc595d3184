"""What file names in a log directory mean."""

from __future__ import annotations

import pytest

from core.checkpoint.log_directory import LogDirectory, other_leftovers, read_log_directory
from core.sparklogs.names import batch_id_of, compact_id_of, name_kind
from core.storage import FileInfo, Listing


def listing(names: list[str], directories: tuple[str, ...] = (), prefix: str = "offsets") -> Listing:
    files = {f"{prefix}/{name}": FileInfo(f"{prefix}/{name}", 7, 1) for name in names}
    return Listing(prefix, files, tuple(f"{prefix}/{name}" for name in directories), 1)


def log(names: list[str], directories: tuple[str, ...] = ()) -> LogDirectory:
    return read_log_directory(listing(names, directories))


@pytest.mark.parametrize(
    ("name", "batch_id"), [("0", 0), ("12", 12), ("007", 7), (str(2**63 - 1), 2**63 - 1)]
)
def test_a_whole_decimal_number_is_a_batch(name: str, batch_id: int) -> None:
    assert batch_id_of(name) == batch_id


@pytest.mark.parametrize(
    "name",
    ["", "-1", "+1", "1.0", "5.tmp", ".5.crc", "1e3", " 1", "٣", "²", str(2**63), "9" * 5000, "9.compact"],
)
def test_other_names_are_no_batch(name: str) -> None:
    assert batch_id_of(name) is None


def test_compact_names_are_ids_of_a_source_log() -> None:
    assert (compact_id_of("9.compact"), compact_id_of("x.compact"), compact_id_of("9")) == (9, None, None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("5", "batch"),
        ("9.compact", "compact"),
        (".5.crc", "checksum"),
        (".5.0a1b2c3d-1111-2222-3333-444455556666.tmp", "temporary"),
        (".5.0a1b2c3d-1111-2222-3333-444455556666.TID12.tmp", "temporary"),
        ("..5.0a1b2c3d-1111-2222-3333-444455556666.tmp.crc", "temporary"),
        ("5.tmp", "temporary"),
        ("offsets_$folder$", "marker"),
        ("notes.txt", "foreign"),
        ("-1", "foreign"),
    ],
)
def test_names_tell_what_a_file_is(name: str, kind: str) -> None:
    assert name_kind(name) == kind


def test_batches_are_sorted_by_number() -> None:
    assert log(["10", "9", "100", "2"]).ids == (2, 9, 10, 100)


def test_checksum_files_beside_their_file_are_no_leftovers() -> None:
    found = log(["5", ".5.crc", ".6.crc", "x_$folder$"])
    assert [(item.path, item.kind) for item in found.leftovers] == [("offsets/.6.crc", "temporary")]
    assert found.checksums_of == {5, 6}


def test_foreign_files_and_directories_are_leftovers() -> None:
    found = log(["5", "notes.txt", ".5.x.tmp"], ("99", "backup"))
    assert found.ids == (5,)
    assert [(item.path, item.kind) for item in found.leftovers] == [
        ("offsets/.5.x.tmp", "temporary"),
        ("offsets/99", "foreign"),
        ("offsets/backup", "foreign"),
        ("offsets/notes.txt", "foreign"),
    ]


def test_a_name_with_leading_zeros_counts_as_its_number() -> None:
    found = log(["6", "007"])
    assert found.ids == (6, 7)
    assert found.misnamed == {7}
    assert found.files[7].path == "offsets/007"


@pytest.mark.parametrize("names", [["7", "007"], ["007", "7"]])
def test_beside_the_right_name_one_with_leading_zeros_is_foreign(names: list[str]) -> None:
    found = log(names)
    assert (found.files[7].path, found.misnamed) == ("offsets/7", frozenset())
    assert [item.path for item in found.leftovers] == ["offsets/007"]


def test_the_root_knows_databricks_staging_and_delta_schema_logs() -> None:
    root = Listing(
        "",
        {name: FileInfo(name, 1, 1) for name in ("metadata", ".metadata.crc", ".x.crc", "notes")},
        ("__tmp_path_dir", "_schema_log_1", "extra", "offsets"),
        1,
    )
    found = other_leftovers(root, ("metadata",), ("offsets",))
    assert [(item.path, item.kind) for item in found] == [
        (".x.crc", "temporary"),
        ("notes", "foreign"),
        ("__tmp_path_dir", "temporary"),
        ("extra", "foreign"),
    ]
