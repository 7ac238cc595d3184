"""What is inside state files: unpacking, records, zips, checksums. On files that Spark wrote, and on the same
files damaged."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint.state_content import checksums, rocksdb_zip
from core.checkpoint.state_content.framing import NotUnpacked, Unpacked, codec_of, unpack
from core.checkpoint.state_content.records import Record, parse_changelog, parse_delta, parse_snapshot
from core.checkpoint.state_content.rocksdb_zip import (
    LARGEST_SEEN,
    MOST_SEEN,
    BrokenZip,
    Seen,
    ZipContent,
    parse_zip_metadata,
    read_zip,
    tail_trouble,
)
from tests.support.build import SAMPLES, corpus_names, unpack_corpus
from tests.support.state_files import BLOCK_BYTES, encode, pack_lz4, pack_snappy, records_of

RECORDS: list[Record] = [("put", b"key-%05d" % i, b"value-%d" % i) for i in range(3000)] + [
    ("delete", b"key-00007", None)
]


@lru_cache
def state_files(*kinds: str) -> list[Path]:
    """The state files of these kinds in the samples."""
    return sorted(path for kind in kinds for path in SAMPLES.glob(f"*/checkpoint/state/**/[0-9]*.{kind}"))


def content_of(data: bytes, codec: str | None = None) -> Unpacked:
    found = unpack({"x": data}, codec)["x"]
    assert isinstance(found, Unpacked)
    return found


@pytest.mark.parametrize("kind", ["delta", "snapshot", "changelog"])
def test_every_state_file_of_the_samples_is_read_to_its_last_byte(kind: str) -> None:
    files = state_files(kind)
    assert files
    for path in files:
        records = records_of(path)
        assert (records.trouble, records.surplus_bytes) == (None, 0), path


def test_all_versions_of_changelogs_are_in_the_samples() -> None:
    versions = {records_of(path).format_version: path for path in state_files("changelog")}
    assert {1, 2, 3} <= versions.keys()
    kinds = {
        kind
        for path in state_files("changelog")
        if (records := records_of(path)).format_version == 2
        for kind, _, _ in records.records
    }
    assert kinds == {"put", "delete", "merge"}


def test_a_changelog_of_format_2_names_the_versions_it_is_built_from() -> None:
    store = SAMPLES / "state-format-2/checkpoint/state/0/0"
    commits = SAMPLES / "state-format-2/checkpoint/commits"
    path = next(store.glob("3_*.changelog"))
    lineage = records_of(path).lineage
    assert [item.version for item in lineage] == [1, 2]
    for item in lineage:
        ids = json.loads((commits / str(item.version - 1)).read_text(encoding="utf-8").splitlines()[1])[
            "stateUniqueIds"
        ]["0"][0]
        assert ids == [item.unique_id]


@pytest.mark.parametrize("name", corpus_names())
def test_state_files_of_the_corpus_are_read_to_their_last_byte(name: str, tmp_path: Path) -> None:
    root = unpack_corpus(name, tmp_path)
    for path in root.glob("state/**/[0-9]*.*"):
        if path.suffix in (".delta", ".snapshot", ".changelog") and path.stat().st_size:
            assert records_of(path).trouble is None, path


@pytest.mark.parametrize(
    ("pack", "codec"),
    [(pack_lz4, "lz4"), (lambda data: bytes(cramjam.zstd.compress(data)), "zstd"), (pack_snappy, "snappy")],
    ids=["lz4", "zstd", "snappy"],
)
def test_each_codec_is_known_by_its_first_bytes(pack: object, codec: str) -> None:
    assert callable(pack)
    data = pack(encode(RECORDS))
    assert codec_of(data) == codec
    records = parse_delta(content_of(data))
    assert records.records == RECORDS and records.trouble is None


def test_several_blocks_of_lz4_are_joined() -> None:
    content = encode(RECORDS) * 3
    assert len(content) > 3 * BLOCK_BYTES
    assert content_of(pack_lz4(content)).content == content
    assert content_of(pack_lz4(content) + pack_lz4(b"more")).content == content + b"more"


@pytest.mark.parametrize("codec", ["lzf", "org.apache.spark.io.LZFCompressionCodec", "gzip"])
def test_a_codec_that_is_not_unpacked_is_said_so_and_is_no_trouble(codec: str) -> None:
    found = unpack({"x": b"ZV\x01\x00\x05\x00\x05hello"}, codec)["x"]
    assert isinstance(found, NotUnpacked) and "not unpacked here" in found.reason


def test_the_codec_of_the_settings_may_be_a_class_name() -> None:
    found = content_of(b"nonsense", "org.apache.spark.io.SnappyCompressionCodec")
    assert found.trouble == "it does not begin as a snappy stream"


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy"])
def test_a_file_that_begins_as_nothing_known_is_in_trouble(codec: str) -> None:
    for data in (b"", b"x", b"hello world, this is no state file at all"):
        found = content_of(data, codec)
        assert found.content == b"" and found.trouble


def test_a_file_that_unpacks_to_more_than_the_memory_should_hold_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.checkpoint.state_content.framing.LARGEST_CONTENT", 100_000)
    for data in (
        pack_lz4(bytes(200_000)),
        bytes(cramjam.zstd.compress(bytes(200_000))),
        pack_snappy(bytes(200_000)),
    ):
        assert isinstance(unpack({"x": data}, None)["x"], NotUnpacked)


def test_a_length_in_a_snappy_stream_that_cannot_be_right_is_damage() -> None:
    huge = b"\x82SNAPPY\x00" + bytes(8) + (8).to_bytes(4, "big") + b"\xff\xff\xff\xff\x0faaa"
    assert content_of(huge).trouble == "the snappy block at byte 16 is damaged"


@pytest.mark.parametrize("kind", ["delta", "snapshot", "changelog"])
def test_a_cut_file_gives_its_first_records_and_the_reason(kind: str) -> None:
    """Cut anywhere: what is read is the beginning of what was there; without a reason it is all of it."""
    path = max(state_files(kind), key=lambda path: path.stat().st_size if path.stat().st_size < 1500 else 0)
    data, whole = path.read_bytes(), records_of(path)
    parse = {"delta": parse_delta, "snapshot": parse_snapshot, "changelog": parse_changelog}[kind]
    troubles = 0
    for size in range(len(data)):
        records = parse(content_of(data[:size], "lz4"))
        if records.trouble is None:
            assert records.records == whole.records and size >= len(data) - 21  # the empty block at the end
        else:
            assert records.records == whole.records[: len(records.records)]
            troubles += 1
    assert troubles == len(data) - 21


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta", "snapshot", "changelog"])
def test_a_flipped_bit_is_seen_or_changes_no_record(kind: str) -> None:
    path = max(state_files(kind), key=lambda path: path.stat().st_size if path.stat().st_size < 1500 else 0)
    data, whole = path.read_bytes(), records_of(path)
    parse = {"delta": parse_delta, "snapshot": parse_snapshot, "changelog": parse_changelog}[kind]
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        records = parse(content_of(bytes(damaged), "lz4"))
        assert records.trouble is not None or records.records == whole.records


def test_the_first_block_is_read_when_a_later_one_is_damaged() -> None:
    content = encode(RECORDS)
    data = bytearray(pack_lz4(content, block_bytes=16 * 1024))
    data[-100] ^= 0xFF
    found = content_of(bytes(data))
    assert found.trouble and content.startswith(found.content) and len(found.content) >= 16 * 1024
    records = parse_delta(found)
    assert records.trouble == found.trouble and records.records == RECORDS[: len(records.records)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it ends in the middle of record 1"),
        (b"\x00\x00\x00", "it ends in the middle of record 1"),
        (b"\xff\xff\xff\xfe", "the key of record 1 has the length -2"),
        (b"\x00\x00\x00\x01k\x00\x00\x00\x01v", "it ends in the middle of record 2"),
        (b"\x00\x00\x00\x01k\x00\x00\x00\x09v", "it ends in the middle of record 1"),
    ],
)
def test_records_that_do_not_end_say_where(content: bytes, reason: str) -> None:
    assert parse_delta(Unpacked(content)).trouble == reason


def test_what_follows_the_end_mark_is_counted() -> None:
    assert parse_delta(Unpacked(encode(RECORDS) + b"12345")).surplus_bytes == 5


def test_a_deletion_in_a_snapshot_is_trouble() -> None:
    assert parse_snapshot(Unpacked(encode(RECORDS))).trouble == "record 3001 of a snapshot is a deletion"


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def typed(kind: int, key: bytes, value: bytes | None) -> bytes:
    tail = b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4, "big") + value
    return bytes([kind]) + len(key).to_bytes(4, "big") + key + tail


def test_a_changelog_with_column_families_knows_every_type_of_record() -> None:
    body = (
        typed(1, b"k", b"v")
        + typed(0x11, b"k", b"w")
        + typed(0x10, b"k", None)
        + typed(0x20, b"a", b"c")
        + b"\x00"
    )
    records = parse_changelog(Unpacked(utf("v2") + body))
    assert records.records == [
        ("put", b"k", b"v"),
        ("merge", b"k", b"w"),
        ("delete", b"k", None),
        ("delete_range", b"a", b"c"),
    ]
    assert records.has_column_families and records.trouble is None
    lineage = '[{"version":3,"checkpointUniqueId":"abc"}]'
    with_ids = parse_changelog(Unpacked(utf("v4") + utf(lineage) + body))
    assert with_ids.format_version == 4 and with_ids.records == records.records
    assert [(item.version, item.unique_id) for item in with_ids.lineage] == [(3, "abc")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (utf("v9"), "it is a changelog of version 9; versions 1 to 4 are known"),
        (utf("v2") + b"\x07", "record 1 has the unknown type 7"),
        (utf("v2") + typed(1, b"k", None), "the value of record 1 has the length -1"),
        (utf("v2") + typed(1, b"k", b"v"), "it ends in the middle of record 2"),
        (utf("v3") + utf("{}") + b"\xff\xff\xff\xff", "its lineage cannot be read"),
        (utf("v3") + b"\xff", "its lineage cannot be read"),
    ],
)
def test_a_damaged_changelog_says_what_is_wrong(content: bytes, reason: str) -> None:
    assert parse_changelog(Unpacked(content)).trouble == reason


def test_a_changelog_without_a_header_is_version_1_whatever_its_first_key_looks_like() -> None:
    for key in (b"", b"k" * 40, b"\x00\x02v)" + b"x" * 30):
        records: list[Record] = [("put", key, b"value")]
        assert parse_changelog(Unpacked(encode(records))).records == records
    assert parse_changelog(Unpacked(encode([]))).records == []


def test_every_zip_of_the_samples_is_read_and_its_files_are_there() -> None:
    zips = state_files("zip")
    assert zips
    for path in zips:
        content = read_zip(path.read_bytes())
        assert isinstance(content, ZipContent) and tail_trouble(path.read_bytes()) is None
        for item in content.sst_files:
            assert (path.parent / "SSTs" / item.name).stat().st_size == item.size_bytes


def test_a_zip_names_its_column_families_and_which_are_sparks_own() -> None:
    path = SAMPLES / "transform-with-state-timers/checkpoint/state/0/0/17.zip"
    content = read_zip(path.read_bytes())
    assert isinstance(content, ZipContent)
    assert set(content.column_families) - content.internal == {"default", "totals", "amounts"}
    assert content.num_keys and content.num_internal_keys


@pytest.mark.parametrize("keep", [0, 1, 30, 100, 500, 1000, 3000])
def test_a_cut_zip_is_broken(keep: int) -> None:
    data = state_files("zip")[0].read_bytes()
    assert keep < len(data) - 700
    assert isinstance(read_zip(data[:keep]), BrokenZip)


def test_a_zip_that_lost_its_table_of_contents_is_read_from_the_front_as_spark_does() -> None:
    data = state_files("zip")[0].read_bytes()
    assert read_zip(data[:-60]) == read_zip(data)
    assert tail_trouble(data[:-60]) is not None


def test_a_flipped_bit_in_a_zip_is_seen_or_changes_nothing() -> None:
    data = state_files("zip")[0].read_bytes()
    whole = read_zip(data)
    for at in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[at] ^= 0x04
        found = read_zip(bytes(damaged))
        assert (
            isinstance(found, BrokenZip) or found == whole or at < 64
        )  # names and times in the first header are not covered


def test_what_was_unpacked_of_another_zip_hides_no_damage() -> None:
    data, seen = state_files("zip")[0].read_bytes(), Seen()
    whole = read_zip(data, seen)
    assert isinstance(whole, ZipContent) and b"OPTIONS" in seen
    options = seen[b"OPTIONS"]
    assert read_zip(data, seen) == whole and seen[b"OPTIONS"] is options, "it was unpacked again"
    for at in range(0, len(data), 23):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        assert read_zip(bytes(damaged), dict(seen)) == read_zip(bytes(damaged)), at
    for keep in range(0, len(data), 101):
        assert read_zip(data[:keep], dict(seen)) == read_zip(data[:keep]), keep


def test_no_more_is_kept_of_zips_than_their_usual_members() -> None:
    seen = Seen()
    read_zip(zip_of({f"member{i}": b"x" for i in range(1000)}), seen)
    assert len(seen) == MOST_SEEN
    seen.clear()
    read_zip(zip_of({"large": bytes(LARGEST_SEEN + 1), "metadata": b"v1\n{}"}), seen)
    assert set(seen) == {b"metadata"}


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    place = io.BytesIO()
    with zipfile.ZipFile(place, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return place.getvalue()


def test_zips_with_sizes_before_the_member_are_read_too() -> None:
    metadata = b'v1\n{"sstFiles":[],"numKeys":-1}'
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        content = read_zip(zip_of({"CURRENT": b"MANIFEST", "metadata": metadata}, method))
        assert isinstance(content, ZipContent) and content.num_keys is None


def test_a_zip_without_metadata_or_with_an_unknown_packing_is_broken() -> None:
    found = read_zip(zip_of({"CURRENT": b"x"}))
    assert isinstance(found, BrokenZip) and found.reason == 'it has no member "metadata"'
    found = read_zip(zip_of({"metadata": b"x" * 100}, zipfile.ZIP_BZIP2))
    assert isinstance(found, BrokenZip) and "packed in a way" in found.reason


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"v1\n{",
        b"v1\n[]",
        b'v1\n{"sstFiles":3}',
        b'v1\n{"sstFiles":[{"localFileName":"x"}]}',
        b"\xff\xfe",
    ],
)
def test_metadata_of_a_zip_that_is_not_what_it_should_be_is_broken(metadata: bytes) -> None:
    assert isinstance(parse_zip_metadata(metadata), BrokenZip)


@given(
    st.integers(0, 400),
    st.sampled_from(
        [b"", b"\r", b"\n", b" ", b'"', b"}", b"\xff", b"\xc2\xa0", b"9" * 20, b"{", b"3", b",\x00"]
    ),
    st.booleans(),
)
def test_metadata_says_the_same_whether_it_is_as_spark_writes_it_or_not(
    at: int, put: bytes, is_over: bool
) -> None:
    """One byte changed, or some put between: what the short way takes is what all lines together say."""
    entry = {"localFileName": "8.sst", "dfsSstFileName": "8-a.sst", "sizeBytes": 24131}
    content = {"sstFiles": [entry], "numKeys": 5010, "columnFamilyMapping": {"a": 1}}
    data = b"v1\n" + json.dumps(content).encode()
    at = min(at, len(data))
    changed = data[:at] + put + data[at + is_over :]
    with pytest.MonkeyPatch.context() as patch:
        found = parse_zip_metadata(changed)
        patch.setattr(rocksdb_zip, "_as_written", lambda data: None)
        assert found == parse_zip_metadata(changed)
    assert rocksdb_zip._as_written(data) == content


def test_metadata_of_a_newer_version_is_not_known_and_no_damage() -> None:
    of_spark_4_0 = parse_zip_metadata(b'v2\n{"sstFiles":[],"numKeys":3}')
    assert isinstance(of_spark_4_0, ZipContent) and of_spark_4_0.num_keys == 3
    found = parse_zip_metadata(b"v3\n{}")
    assert isinstance(found, BrokenZip) and found.is_unknown


def test_a_name_in_a_zip_cannot_lead_out_of_the_store() -> None:
    item = {"localFileName": "1.sst", "dfsSstFileName": "../../../x.sst", "sizeBytes": 1}
    assert isinstance(parse_zip_metadata(b"v1\n" + json.dumps({"sstFiles": [item]}).encode()), BrokenZip)


def test_both_checksums_of_the_samples_fit() -> None:
    hidden = visible = 0
    for path in SAMPLES.glob("*/checkpoint/**/*"):
        if path.is_file() and not path.name.startswith("."):
            beside = Path(checksums.hidden_name(str(path)))
            if beside.exists():
                assert checksums.verify_hidden(path.read_bytes(), beside.read_bytes()) is None, path
                hidden += 1
            beside = Path(checksums.visible_name(str(path)))
            if beside.exists():
                assert checksums.verify_visible(path.read_bytes(), beside.read_bytes()) is None, path
                visible += 1
    assert hidden > 500 and visible > 10


def test_names_of_checksum_files() -> None:
    assert checksums.hidden_name("state/0/1/2.zip") == "state/0/1/.2.zip.crc"
    assert checksums.hidden_name("metadata") == ".metadata.crc"
    assert checksums.visible_name("state/0/1/2.zip") == "state/0/1/2.zip.crc"


def hidden_of(data: bytes, chunk: int = 512) -> bytes:
    sums = (zlib.crc32(data[at : at + chunk]) for at in range(0, len(data), chunk))
    return b"crc\0" + chunk.to_bytes(4, "big") + b"".join(value.to_bytes(4, "big") for value in sums)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 1536])
def test_a_hidden_checksum_covers_every_block(size: int) -> None:
    data = bytes(i % 251 for i in range(size))
    checksum = hidden_of(data)
    assert checksums.verify_hidden(data, checksum) is None
    assert isinstance(checksums.verify_hidden(data + bytes(512), checksum), checksums.Mismatch)
    for at in range(0, size, 100):
        damaged = bytearray(data)
        damaged[at] ^= 1
        verdict = checksums.verify_hidden(bytes(damaged), checksum)
        assert isinstance(verdict, checksums.Mismatch) and f"bytes {at // 512 * 512:,} to" in verdict.reason


@pytest.mark.parametrize(
    "checksum", [b"", b"crc\0", b"hello world", b"crc\0\0\0\0\0", b"crc\0\xff\xff\xff\xff"]
)
def test_a_hidden_checksum_without_its_header_is_no_mismatch_because_hadoop_ignores_it(
    checksum: bytes,
) -> None:
    assert isinstance(checksums.verify_hidden(b"data", checksum), checksums.Unusable)


def test_a_visible_checksum_fits_in_size_and_value() -> None:
    path = next((SAMPLES / "state-format-2/checkpoint/state/0/0").glob("*.changelog"))
    data, checksum = path.read_bytes(), Path(f"{path}.crc").read_bytes()
    assert isinstance(checksums.verify_visible(data + b"x", checksum), checksums.Mismatch)
    assert isinstance(checksums.verify_visible(b"x" + data[1:], checksum), checksums.Mismatch)
    for broken in (b"", b"hello", b"[]", b'{"algorithm":"CRC32C"}', b'{"algorithm":"MD5","value":1}'):
        assert isinstance(checksums.verify_visible(data, broken), checksums.Unusable)


# The delta of a real state with one flipped bit: an offset that points before its block. Spark 3.5 and 4.0 unpack
# it to the rows that were written, 4.3 refuses it (tests/spark/cases/state.py, newest_delta_flipped).
POINTS_OUTSIDE = bytes.fromhex(
    "4c5a34426c6f636b2556000000b400000071831c005300000038000100131804005301000000301400010200b086e36948470600"
    "00cca68d0800116115000102010033000102000034000002000408000f580021116237000102000d5800c00200000000000000ff"
    "ffffff4c5a34426c6f636b15000000000000000000000000"
)


def test_an_lz4_block_that_only_a_strict_reader_refuses_is_unpacked_and_named() -> None:
    found = content_of(POINTS_OUTSIDE)
    assert found.trouble is None and found.refused == "the lz4 block at byte 0 is damaged"
    assert len(parse_delta(found).records) == 2 and parse_delta(found).trouble is None


def test_one_that_its_checksum_does_not_fit_is_damaged() -> None:
    other = bytearray(POINTS_OUTSIDE)
    other[17] ^= 1  # the checksum
    found = content_of(bytes(other))
    assert found.content == b"" and found.trouble == "the lz4 block at byte 0 is damaged"
