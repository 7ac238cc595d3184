"""Cases of the source logs, of offsets edited by hand, of roll-backs and of the input files."""

from __future__ import annotations

from tests.spark.cases.model import COMMIT_MISSING, FORMATS, NO_NEW, STATELESS, Case, family
from tests.support import damage as d

FIFTH = "in/0004.json"
ILLEGAL = d.changed("sources/0/4", lambda text: text.replace("004.", "00<."))
OTHER_SCHEME = d.changed("sources/0/4", lambda text: text.replace('"file:', '"gile:'))
ELSEWHERE = d.changed("sources/0/4", lambda text: text.replace("/in/", "/io/"))
LAST_GONE = d.without("sources/0/4")
AHEAD = d.changed("offsets/{n}", d.line(3, '{"logOffset":7}'))
BACK = d.changed("offsets/{n}", d.line(3, '{"logOffset":1}'))
AS_BEFORE = d.changed("offsets/{n}", d.line(3, '{"logOffset":3}'))
DASH = d.changed("offsets/{n}", d.line(3, "-"))
DASHES = d.both(DASH, d.changed("offsets/{n-1}", d.line(3, "-")))
ONE_SIDE = d.both(d.rewound(1), d.without("commits/4"), d.changed("offsets/4", d.line(3, '{"logOffset":3}')))

source_log = family("source log")
edits = family("offsets edited")
rewinds = family("roll-backs")
inputs = family("input files")

SOURCE_LOGS: list[Case] = [
    *source_log("RF 3.3", ("stateless", "windows_with_data"), "last_source_entry_missing", LAST_GONE),
    *source_log(
        "RF 3.3",
        ("stateless", "union"),
        "last_source_entry_missing_pending",
        d.both(COMMIT_MISSING, LAST_GONE),
    ),
    *source_log(
        "RF 3.4",
        ("windows", "windows_changelog"),
        "last_source_entry_missing_after_an_empty_batch",
        LAST_GONE,
    ),
    *source_log(
        "RF 3.4",
        ("windows", "join"),
        "last_source_entry_and_its_file_missing_after_an_empty_batch",
        LAST_GONE,
        hidden=(FIFTH,),
    ),
    *source_log(
        "RF 3.5",
        ("stateless", "windows"),
        "two_source_entries_missing",
        d.without("sources/0/3", "sources/0/4"),
    ),
    *source_log("RF 3.5", ("stateless", "windows"), "source_log_missing", d.without("sources")),
    *source_log(
        "RF 3.5", STATELESS, "source_log_missing_pending", d.both(COMMIT_MISSING, d.without("sources"))
    ),
    *source_log("RF 3.5", ("union", "named"), "one_source_log_missing", d.first_source_gone),
    *source_log(
        "RF 3.5",
        ("stateless", "windows", "union"),
        "source_log_renamed",
        d.rename("sources/0", "sources/0.bak"),
    ),
    *source_log(
        "RF 3.5", ("watermarked",), "source_log_under_a_name", d.rename("sources/0", "sources/backup")
    ),
    *source_log("RF 3.5", ("dedup",), "source_log_with_another_number", d.rename("sources/0", "sources/7")),
    *source_log(
        "RF 3.5",
        STATELESS,
        "source_log_renamed_pending",
        d.both(COMMIT_MISSING, d.rename("sources/0", "sources/0_old")),
    ),
    *source_log("RF 3.5", ("union",), "second_source_log_renamed", d.rename("sources/1", "sources/1_old")),
    *source_log(
        "RF 3.5",
        ("union",),
        "source_logs_changed_places",
        d.both(
            d.rename("sources/0", "sources/2"),
            d.rename("sources/1", "sources/0"),
            d.rename("sources/2", "sources/1"),
        ),
    ),
    *source_log("RF 3.5", ("named",), "named_source_log_renamed", d.rename_first_source),
    *source_log(
        ("RF 3.1", "VF 2.6"),
        ("stateless", "windows"),
        "source_entry_missing_in_the_middle",
        d.without("sources/0/2"),
    ),
    *source_log(
        ("RF 3.1", "VF 2.6"),
        ("compacted", "purged"),
        "compact_file_missing",
        d.without("sources/0/5.compact"),
    ),
    *source_log("RF 3.2", ("compacted",), "entry_before_the_compact_file_missing", d.without("sources/0/1")),
    *source_log("RF 3.1", ("compacted",), "entry_after_the_compact_file_missing", d.without("sources/0/6")),
    *source_log("RF 3.3", ("compacted",), "last_source_entry_missing", d.without("sources/0/7")),
    *source_log("RF 3.15", ("stateless", "windows"), "last_source_entry_empty", d.holding("sources/0/4", "")),
    *source_log(
        "RF 3.15",
        STATELESS,
        "last_source_entry_with_an_empty_line",
        d.changed("sources/0/4", lambda t: t + "\n\n"),
    ),
    *source_log("RF 3.15", STATELESS, "middle_source_entry_empty", d.holding("sources/0/2", "")),
    *source_log("RF 3.15", STATELESS, "last_source_entry_cut", d.cut("sources/0/4")),
    *source_log("RF 3.15", STATELESS, "last_source_entry_not_utf8", d.not_utf8("sources/0/4")),
    *source_log("RF 3.15", STATELESS, "middle_source_entry_not_utf8", d.not_utf8("sources/0/2")),
    *source_log("RF 3.15", ("stateless", "windows_with_data"), "path_no_uri", ILLEGAL),
    *source_log(
        "RF 3.15", ("stateless", "windows_with_data"), "path_no_uri_pending", d.both(COMMIT_MISSING, ILLEGAL)
    ),
    *source_log(
        "RF 3.15",
        STATELESS,
        "older_path_no_uri",
        d.changed("sources/0/1", lambda text: text.replace("001.", "00<.")),
    ),
    *source_log("RF 3.15", STATELESS, "path_elsewhere", ELSEWHERE),
    *source_log(
        "RF 3.15",
        ("stateless", "windows_with_data"),
        "path_elsewhere_pending",
        d.both(COMMIT_MISSING, ELSEWHERE),
    ),
    *source_log("RF 3.15", STATELESS, "path_of_another_scheme", OTHER_SCHEME),
    *source_log(
        "RF 3.15",
        ("stateless", "windows_with_data"),
        "path_of_another_scheme_pending",
        d.both(COMMIT_MISSING, OTHER_SCHEME),
    ),
    *source_log(
        "RF 3.15",
        ("stateless", "windows_with_data"),
        "older_path_of_another_scheme",
        d.changed("sources/0/1", lambda text: text.replace('"file:', '"gile:')),
    ),
    *source_log("RF 3.15", STATELESS, "last_source_entry_only_version", d.holding("sources/0/4", "v1")),
    *source_log(
        "RF 3.15", STATELESS, "last_source_entry_version_9", d.changed("sources/0/4", d.line(1, "v9"))
    ),
    *source_log(
        "RF 3.1",
        ("compacted",),
        "plain_entry_where_a_compact_file_is_due",
        d.derived("sources/0/8", "sources/0/7", lambda text: text),
    ),
    *source_log(
        "RF 3.5",
        ("stateless", "windows_with_data"),
        "source_log_gone_but_for_its_checksums",
        d.both(*(d.without_its_file(f"sources/0/{log_id}") for log_id in range(5))),
    ),
    *source_log(
        "RF 3.3",
        ("stateless", "windows_with_data"),
        "checksum_of_the_next_source_entry",
        d.holding("sources/0/.5.crc", "crc"),
    ),
    *source_log(
        "RF 3.3",
        ("stateless", "windows_with_data"),
        "checksum_of_the_next_source_entry_pending",
        d.both(COMMIT_MISSING, d.holding("sources/0/.5.crc", "crc")),
    ),
    *source_log("RF 3.15", ("compacted",), "compact_file_empty", d.holding("sources/0/5.compact", "")),
    *source_log("RF 3.15", ("compacted",), "compact_file_cut", d.cut("sources/0/5.compact")),
    *source_log("RF 3.15", ("compacted",), "older_compact_file_empty", d.holding("sources/0/2.compact", "")),
]
RATE: list[Case] = [
    *source_log(
        ("RF 3.15", "VF 2.2"), ("rate",), "start_of_the_rate_source_missing", d.without("sources/0/0")
    ),
    *source_log("RF 3.15", ("rate",), "start_of_the_rate_source_empty", d.holding("sources/0/0", "")),
    *source_log("RF 3.15", ("rate",), "start_of_the_rate_source_cut", d.cut("sources/0/0", 0.15)),
]
EDITS: list[Case] = [
    *edits("RF 3.6", STATELESS, "offset_ahead_of_source_log", AHEAD),
    *edits("RF 3.6", STATELESS, "offset_ahead_of_source_log_pending", d.both(COMMIT_MISSING, AHEAD)),
    *edits("RF 3.7", STATELESS, "offset_goes_back", BACK),
    *edits("RF 3.7", STATELESS, "offset_goes_back_pending", d.both(COMMIT_MISSING, BACK)),
    *edits(("RF A.4", "RF 1.24"), ("stateless", "watermarked", "union"), "offset_as_before", AS_BEFORE),
    *edits(
        ("RF A.4", "RF 1.24"),
        ("stateless", "watermarked", "union"),
        "offset_as_before_pending",
        d.both(COMMIT_MISSING, AS_BEFORE),
    ),
    *edits("RF A.4", ("windows_with_data",), "offset_as_before", AS_BEFORE),
    *edits("RF A.4", ("windows_with_data",), "offset_as_before_pending", d.both(COMMIT_MISSING, AS_BEFORE)),
    *edits("RF 3.9", ("stateless", "union", "windows_with_data"), "source_without_offset_committed", DASH),
    *edits(
        ("RF 3.10", "VF 1.9"),
        ("stateless", "union"),
        "source_without_offset_pending",
        d.both(COMMIT_MISSING, DASH),
    ),
    *edits("RF 3.11", STATELESS, "source_without_any_offset_committed", DASHES),
    *edits("RF 3.11", STATELESS, "source_without_any_offset_pending", d.both(COMMIT_MISSING, DASHES)),
    *edits("RF 3.9", ("named",), "named_source_missing_committed", d.changed("offsets/{n}", d.keep_lines(3))),
    *edits(
        "RF 3.10",
        ("named",),
        "named_source_missing_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.keep_lines(3))),
    ),
    *edits(
        ("RF 3.12", "VF 1.10"),
        ("stateless", "windows_with_data"),
        "version_2_over_version_1",
        d.changed("offsets/{n}", d.line(1, "v2")),
    ),
]
REWINDS: list[Case] = [
    *rewinds(("RF 3.8", "RF 4.16"), FORMATS, "rewound_by_2", d.rewound(2)),
    *rewinds("RF 3.8", ("stateless", "dedup", "named", "union"), "rewound_by_3", d.rewound(3)),
    *rewinds(
        "RF 3.8",
        ("stateless", "union"),
        "rewound_by_2_checksums_left",
        d.rewound(2, sources=True, keep_checksums=True),
    ),
    *rewinds("RF 3.8", ("stateless", "windows_with_data", "dedup", "union"), "rewound_by_1", d.rewound(1)),
    *rewinds(
        "RF 3.8", ("stateless", "windows_with_data"), "rewound_by_2_no_new_data", d.rewound(2), query=NO_NEW
    ),
    *rewinds(
        "RF 3.8", ("stateless", "windows_with_data"), "rewound_by_2_with_sources", d.rewound(2, sources=True)
    ),
    *rewinds(
        "RF 3.8",
        ("windows_with_data", "windows_changelog", "dedup"),
        "rewound_by_2_with_state",
        d.state_rewound(2),
    ),
    *rewinds(
        "RF 3.8",
        ("stateless", "windows_with_data", "dedup"),
        "rewound_by_2_with_all",
        d.both(d.rewound(2, sources=True), d.state_rewound(0)),
    ),
    *rewinds(
        "RF 3.8",
        ("stateless", "windows_with_data"),
        "rewound_by_2_pending",
        d.both(d.rewound(2), COMMIT_MISSING),
    ),
    *rewinds("RF 4.16", ("snapshots", "snapshots_changelog"), "rewound_by_3", d.rewound(3)),
    *rewinds(
        "RF 4.16",
        ("snapshots",),
        "rewound_below_a_snapshot_and_run_on",
        d.rewound_below_a_snapshot("snapshot"),
        started_before=True,
    ),
    *rewinds(
        "RF 4.16",
        ("snapshots_changelog",),
        "rewound_below_a_snapshot_and_run_on",
        d.rewound_below_a_snapshot("zip"),
        started_before=True,
    ),
]
INPUTS: list[Case] = [
    *inputs(
        ("RF 1.1", "VF 2.7"),
        STATELESS,
        "input_directory_gone",
        d.nothing,
        hidden=("in",),
        places={"0": "in"},
    ),
    *inputs(
        "RF 2.13",
        ("stateless", "windows_with_data", "union"),
        "input_of_the_pending_batch_gone",
        COMMIT_MISSING,
        hidden=(FIFTH,),
    ),
    *inputs(
        "RF 2.14",
        ("stateless", "windows_with_data"),
        "input_of_the_pending_batch_changed",
        COMMIT_MISSING,
        edited={FIFTH: '{"k":"new","id":900,"t":"2026-01-01T00:40:00","v":1}\n'},
    ),
    *inputs("RF 3.13", STATELESS, "input_of_a_committed_batch_gone", d.nothing, hidden=(FIFTH,)),
    *inputs(
        "RF A.1",
        ("join", "join_changelog"),
        "pending_batch_without_rows_of_one_side",
        ONE_SIDE,
    ),
]
CASES = [*SOURCE_LOGS, *RATE, *EDITS, *REWINDS, *INPUTS]
