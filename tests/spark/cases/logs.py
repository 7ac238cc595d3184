"""Cases of metadata and of the two logs."""

from __future__ import annotations

from tests.spark.cases.model import COMMIT_MISSING, FORMATS, NO_NEW, PLAIN, STATELESS, Case, family
from tests.support import damage as d

EVERY = (
    "stateless",
    "watermarked",
    *FORMATS,
    "windows_with_data",
    "dedup",
    "join",
    "join_changelog",
    "union",
    "named",
    "purged",
    "compacted",
)
OTHER_ID = '{"id":"dddc5e7f-1e71-454c-8362-de184444fb5a"}'
NOT_HEXADECIMAL = '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5y"}'
NO_DASHES = '{"id":"730aa21141ff4ee3b1b99e62ed047c5f"}'
LONG_ID = '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f0"}'
METADATA_LOST = d.without_its_file("metadata")
PENDING_CUT = d.both(COMMIT_MISSING, d.cut("offsets/{n}", 0.3))

BROKEN_SOURCE = d.changed("offsets/{n}", d.line(3, '{"logOffset":'))

clean = family("undamaged")
metadata = family("metadata")
offsets = family("offset log")
commits = family("commit log")
lost = family("lost logs")
names = family("names and checksum files")
order = family("two faults")

UNDAMAGED: list[Case] = [
    *clean("RF 2.1", EVERY, "clean", d.nothing),
    *clean("RF 2.1", ("stateless", "windows", "dedup", "join"), "clean_no_new_data", d.nothing, query=NO_NEW),
    *clean("RF 8.1", ("limited", "dedup_many"), "clean", d.nothing),
]
METADATA: list[Case] = [
    *metadata(("RF 1.5", "VF 1.1"), PLAIN, "metadata_missing", d.without("metadata")),
    *metadata(
        "RF 1.5",
        STATELESS,
        "metadata_and_offsets_missing",
        d.both(d.without("metadata"), d.log_gone("offsets")),
    ),
    *metadata(
        "RF 1.5",
        STATELESS,
        "metadata_and_commits_missing",
        d.both(d.without("metadata"), d.log_gone("commits")),
    ),
    *metadata(
        "RF 1.6",
        STATELESS,
        "metadata_and_logs_missing",
        d.without("metadata", "offsets", "commits", "sources"),
    ),
    *metadata("RF 1.6", ("stateless", "windows"), "everything_missing", d.everything_gone),
    *metadata("RF 1.5", STATELESS, "metadata_missing_checksum_left", METADATA_LOST),
    *metadata(
        "RF 1.6",
        STATELESS,
        "metadata_and_logs_missing_checksum_left",
        d.both(METADATA_LOST, d.without("offsets", "commits", "sources")),
    ),
    *metadata("RF 1.2", STATELESS, "metadata_empty", d.holding("metadata", "")),
    *metadata("RF 1.2", STATELESS, "metadata_cut", d.cut("metadata")),
    *metadata("RF 1.2", STATELESS, "metadata_not_json", d.holding("metadata", "hello")),
    *metadata("RF 1.2", STATELESS, "metadata_without_id", d.holding("metadata", "{}")),
    *metadata("RF 1.3", STATELESS, "metadata_bad_id", d.holding("metadata", '{"id":"not-a-uuid"}')),
    *metadata("RF 1.2", STATELESS, "metadata_null", d.holding("metadata", "null")),
    *metadata("RF 1.2", STATELESS, "metadata_null_id", d.holding("metadata", '{"id":null}')),
    *metadata("RF 1.2", STATELESS, "metadata_a_list", d.holding("metadata", "[1]")),
    *metadata("RF 1.2", STATELESS, "metadata_and_junk", d.holding("metadata", OTHER_ID + "some junk}")),
    *metadata("RF 1.3", STATELESS, "metadata_not_utf8", d.not_utf8("metadata", 0.5)),
    *metadata("RF 1.3", STATELESS, "metadata_id_a_number", d.holding("metadata", '{"id":7}')),
    *metadata("RF 1.3", STATELESS, "metadata_id_not_hexadecimal", d.holding("metadata", NOT_HEXADECIMAL)),
    *metadata("RF 1.3", STATELESS, "metadata_id_without_dashes", d.holding("metadata", NO_DASHES)),
    *metadata("RF 1.3", STATELESS, "metadata_id_short", d.holding("metadata", '{"id":"1-2-3-4-5"}')),
    *metadata("RF 1.3", STATELESS, "metadata_id_long", d.holding("metadata", LONG_ID)),
    *metadata("RF 1.4", STATELESS, "metadata_other_id", d.holding("metadata", OTHER_ID)),
    *metadata(
        "RF 1.8",
        STATELESS,
        "metadata_and_offset_broken",
        d.both(d.holding("metadata", "hello"), d.holding("offsets/{n}", "")),
    ),
]
OFFSETS: list[Case] = [
    *offsets("RF 1.11", ("stateless", "windows"), "newest_offset_empty", d.holding("offsets/{n}", "")),
    *offsets("RF 1.11", STATELESS, "newest_offset_cut", d.cut("offsets/{n}", 0.3)),
    *offsets("RF 1.11", STATELESS, "pending_offset_cut", PENDING_CUT),
    *offsets("RF 1.11", STATELESS, "newest_offset_not_utf8", d.not_utf8("offsets/{n}")),
    *offsets("RF 1.20", STATELESS, "previous_offset_not_utf8", d.not_utf8("offsets/{n-1}")),
    *offsets("RF 1.11", STATELESS, "newest_offset_only_version", d.holding("offsets/{n}", "v1")),
    *offsets("RF 1.11", STATELESS, "newest_offset_without_metadata", d.changed("offsets/{n}", d.line(2, ""))),
    *offsets(
        ("RF 1.12", "VF 2.4"), STATELESS, "newest_offset_without_version", d.holding("offsets/{n}", "{}\n{}")
    ),
    *offsets(
        ("RF 1.12", "VF 2.3"), STATELESS, "newest_offset_version_9", d.changed("offsets/{n}", d.line(1, "v9"))
    ),
    *offsets("RF 1.13", ("stateless", "windows_with_data"), "source_line_broken", BROKEN_SOURCE),
    *offsets(
        "RF 1.14",
        ("stateless", "windows_with_data"),
        "source_line_broken_pending",
        d.both(COMMIT_MISSING, BROKEN_SOURCE),
    ),
    *offsets(
        ("RF 1.20", "VF 2.5"),
        ("stateless", "windows", "windows_changelog", "named"),
        "previous_offset_missing",
        d.without("offsets/{n-1}"),
    ),
    *offsets(
        ("RF 1.21", "VF 2.5"),
        ("stateless", "windows", "named"),
        "previous_offset_missing_pending",
        d.both(COMMIT_MISSING, d.without("offsets/{n-1}")),
    ),
    *offsets("RF 1.20", STATELESS, "previous_offset_empty", d.holding("offsets/{n-1}", "")),
    *offsets(
        "RF 1.21", STATELESS, "previous_offset_cut_pending", d.both(COMMIT_MISSING, d.cut("offsets/{n-1}"))
    ),
    *offsets("RF 1.20", ("purged",), "previous_offset_missing", d.without("offsets/{n-1}")),
    *offsets("RF 1.22", ("purged",), "back_to_the_oldest_batch", d.rewound_to_the_oldest),
    *offsets(
        "RF 1.27",
        ("stateless", "windows"),
        "middle_of_the_logs_missing",
        d.without("offsets/1", "commits/1", "commits/2"),
    ),
    *offsets(
        "RF 1.27",
        ("stateless", "windows"),
        "older_files_unreadable",
        d.both(
            d.holding("offsets/1", ""), d.changed("offsets/2", d.line(1, "v9")), d.holding("commits/2", "{")
        ),
    ),
    *offsets("RF 1.18", STATELESS, "source_line_missing", d.changed("offsets/{n}", d.keep_lines(2))),
    *offsets("RF 1.18", STATELESS, "source_line_twice", d.changed("offsets/{n}", d.with_last_line_again)),
    *offsets(
        "RF 1.18",
        STATELESS,
        "source_line_twice_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.with_last_line_again)),
    ),
    *offsets("RF 1.19", STATELESS, "source_line_missing_before", d.changed("offsets/{n-1}", d.keep_lines(2))),
    *offsets(
        "RF 1.19", ("named",), "source_line_missing_before", d.changed("offsets/{n-1}", d.keep_lines(3))
    ),
    *offsets(
        "RF 1.30",
        STATELESS,
        "time_of_the_batch_changed",
        d.changed("offsets/{n}", lambda text: text.replace('"batchTimestampMs":1', '"batchTimestampMs":2')),
    ),
]
COMMITS: list[Case] = [
    *commits("RF 2.2", EVERY, "commit_missing", COMMIT_MISSING),
    *commits(
        "RF 2.2",
        ("stateless", "windows", "windows_format_2"),
        "commit_missing_no_new_data",
        COMMIT_MISSING,
        query=NO_NEW,
    ),
    *commits(
        ("RF 2.3", "RF 2.4"),
        ("stateless", *FORMATS, "named", "join"),
        "two_commits_missing",
        d.without("commits/{n}", "commits/{n-1}"),
    ),
    *commits(
        ("RF 2.3", "RF 2.4"),
        ("stateless", "windows", "windows_format_2"),
        "all_commits_missing",
        d.log_gone("commits"),
    ),
    *commits("RF 2.3", STATELESS, "commits_folder_missing", d.without("commits")),
    *commits("RF 2.2", STATELESS, "batch_0_pending", d.back_to_batch_0),
    *commits(
        "RF 2.12",
        ("windows",),
        "batch_0_pending_without_state",
        d.both(d.back_to_batch_0, d.without("state")),
    ),
    *commits(
        ("RF 2.5", "VF 1.14"), ("stateless", *FORMATS, "named"), "offset_missing", d.without("offsets/{n}")
    ),
    *commits(
        "RF 2.5",
        ("stateless", "windows"),
        "two_offsets_and_a_commit_missing",
        d.both(d.without("offsets/{n}", "offsets/{n-1}"), d.without("commits/{n}")),
    ),
    *commits(
        ("RF 2.5", "VF 2.1"),
        STATELESS,
        "foreign_later_commit",
        d.derived("commits/{n+2}", "commits/{c}", str),
    ),
    *commits(
        "RF 2.6",
        ("stateless", "windows"),
        "commit_missing_and_a_later_one_there",
        d.both(d.derived("commits/{n+1}", "commits/{c}", str), d.without("commits/{n}")),
    ),
    *commits("RF 1.16", STATELESS, "newest_commit_empty", d.holding("commits/{c}", "")),
    *commits(
        ("RF 1.16", "VF 2.3"), STATELESS, "newest_commit_version_9", d.changed("commits/{c}", d.line(1, "v9"))
    ),
    *commits("RF 1.16", STATELESS, "newest_commit_not_utf8", d.not_utf8("commits/{c}")),
    *commits("RF 1.16", STATELESS, "newest_commit_not_json", d.holding("commits/{c}", "v1\n{")),
    *commits(
        "RF 1.17", ("stateless", "windows"), "newest_commit_only_version", d.holding("commits/{c}", "v1")
    ),
    *commits(
        ("RF 1.16", "VF 2.4"), STATELESS, "newest_commit_without_version", d.holding("commits/{c}", "{}")
    ),
    *commits(
        "VF 1.11",
        ("stateless", "windows"),
        "newest_commit_version_2",
        d.changed("commits/{c}", d.line(1, "v2")),
    ),
    *commits("RF 1.27", STATELESS, "older_commit_empty", d.holding("commits/1", "")),
]
LOST: list[Case] = [
    *lost(("RF 2.7", "VF 1.2"), PLAIN, "all_offsets_missing", d.log_gone("offsets")),
    *lost(("RF 2.7", "VF 1.2"), ("stateless", "windows"), "offsets_folder_missing", d.without("offsets")),
    *lost(
        "RF 2.7",
        PLAIN[:2],
        "all_offsets_missing_and_a_source_entry_empty",
        d.both(d.log_gone("offsets"), d.holding("sources/0/2", "")),
    ),
    *lost(
        "RF 2.9",
        ("windows",),
        "all_logs_missing_and_a_source_entry_empty",
        d.both(d.log_gone("offsets", "commits"), d.holding("sources/0/2", "")),
    ),
    *lost(("RF 2.9", "VF 1.3"), PLAIN, "all_logs_missing", d.log_gone("offsets", "commits")),
    *lost("RF 2.9", ("windows", "windows_rocksdb"), "only_state_left", d.only("state")),
    *lost("RF 2.10", ("stateless", "windows"), "only_sources_left", d.only("sources")),
    *lost("RF 2.10", STATELESS, "only_metadata_and_sources_left", d.only("metadata", "sources")),
    *lost(
        "RF 2.8",
        STATELESS,
        "all_logs_and_sources_missing",
        d.both(d.log_gone("offsets", "commits"), d.without("sources")),
    ),
    *lost(
        "RF 2.8",
        ("windows",),
        "only_metadata_left",
        d.both(d.log_gone("offsets", "commits"), d.without("sources", "state")),
    ),
    *lost(
        ("RF 2.9", "VF 1.3"),
        STATELESS,
        "foreign_file_before_batch_0",
        d.both(d.log_gone("offsets", "commits"), d.holding("offsets/notes.txt", "x")),
    ),
    *lost(
        ("RF 1.28", "VF 1.3"),
        STATELESS,
        "all_logs_missing_foreign_checksum",
        d.both(d.log_gone("offsets", "commits"), d.holding("offsets/.notes.txt.crc", b"crc\0")),
    ),
    *lost(
        ("RF 1.28", "VF 1.3"),
        STATELESS,
        "all_logs_missing_checksum_of_batch_0",
        d.both(d.log_gone("offsets", "commits"), d.holding("offsets/.0.crc", b"crc\0\0\0\2\0")),
    ),
    *lost(
        "VF 1.3",
        STATELESS,
        "all_logs_missing_old_unfinished_write",
        d.both(d.log_gone("offsets", "commits"), d.unfinished_write("offsets", age_seconds=3_600)),
    ),
    *lost(
        ("RF 2.9", "VF 1.3"),
        ("stateless", "windows"),
        "foreign_file_in_state_before_batch_0",
        d.both(d.only("metadata"), d.holding("state/notes.txt", "x")),
    ),
]
NAMES: list[Case] = [
    *names("RF 1.10", STATELESS, "offset_with_leading_zeros", d.holding("offsets/007", "v1\n{}\n{}")),
    *names("RF 1.10", STATELESS, "commit_with_leading_zeros", d.holding("commits/009", "v1\n{}")),
    *names(
        "RF 1.9",
        STATELESS,
        "other_names_in_offsets",
        d.both(d.holding("offsets/9.tmp", "x"), d.holding("offsets/foo", "x"), d.holding("offsets/-1", "x")),
    ),
    *names(
        ("RF 1.9", "VF 1.15"), STATELESS, "folder_with_a_number_in_offsets", d.holding("offsets/99/x", "x")
    ),
    *names(
        "RF 1.28",
        ("stateless", "windows"),
        "commit_missing_checksum_left",
        lambda ck: d.remove(ck / "commits" / str(d.newest(ck)), keep_checksum=True),
    ),
    *names(
        "RF 1.28",
        ("stateless", "windows"),
        "offset_checksum_left",
        d.holding("offsets/.{n+1}.crc", b"crc\0\0\0\2\0"),
    ),
    *names(
        "RF 1.28",
        ("stateless", "windows", "windows_changelog"),
        "hidden_checksums_missing",
        d.hidden_checksums(None),
    ),
    *names(
        "RF 1.28",
        ("stateless", "windows", "windows_changelog"),
        "hidden_checksums_garbage",
        d.hidden_checksums(b"crc\0\0\0\2\0abcd"),
    ),
    *names(
        "RF 1.29",
        ("windows_rocksdb",),
        "hidden_checksums_garbage",
        d.hidden_checksums(b"crc\0\0\0\2\0abcd"),
        level="deep",
    ),
]
TWO_FAULTS: list[Case] = [
    *order(
        "RF 1.26",
        STATELESS,
        "offset_and_commit_broken",
        d.both(d.holding("offsets/{n}", ""), d.holding("commits/{c}", "")),
    ),
    *order(
        ("RF 1.26", "VF 2.16"),
        STATELESS,
        "commit_version_9_and_previous_offset_missing",
        d.both(d.changed("commits/{c}", d.line(1, "v9")), d.without("offsets/{n-1}")),
    ),
    *order(
        "RF 1.26",
        STATELESS,
        "gap_in_source_log_and_offset_empty",
        d.both(d.without("sources/0/2"), d.holding("offsets/{n}", "")),
    ),
    *order(
        "RF 1.26",
        STATELESS,
        "gap_in_source_log_and_commit_broken",
        d.both(d.without("sources/0/2"), d.holding("commits/{c}", "")),
    ),
    *order(
        "RF 1.26",
        STATELESS,
        "source_lines_and_previous_offset",
        d.both(d.changed("offsets/{n}", d.keep_lines(2)), d.without("offsets/{n-1}")),
    ),
    *order(
        "RF 1.26",
        ("windows_with_data",),
        "source_log_end_and_state",
        d.both(d.without("sources/0/4"), d.without("state")),
    ),
    *order(
        "RF 1.26",
        ("windows",),
        "state_schema_and_state_file",
        d.both(d.holding("state/0/0/_metadata/schema", ""), d.state_missing("{n+1}", "delta")),
    ),
    *order(
        "RF 1.15",
        ("stateless",),
        "gap_in_source_log_and_no_offsets",
        d.both(d.log_gone("offsets", "commits"), d.without("sources/0/2")),
    ),
]
CASES = [*UNDAMAGED, *METADATA, *OFFSETS, *COMMITS, *LOST, *NAMES, *TWO_FAULTS]
