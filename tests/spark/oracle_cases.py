"""The cases of the oracle: which damage on which base, and what is different about the query that is started
then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.analysis.forecast import Query
from tests.support import damage as d
from tests.support.oracle import (
    EVERYWHERE,
    OPERATOR_METADATA,
    RECIPES,
    Build,
    Feature,
    dedup,
    stateless,
    union,
    windows,
)

STATELESS = ("stateless",)
PLAIN = ("stateless", "windows", "named")
FORMATS = ("windows", "windows_rocksdb", "windows_changelog", "windows_format_2")
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


@dataclass(frozen=True)
class Case:
    """One restart.

    ``unknown``: kinds of sink for which the files cannot tell what happens. ``at_most``: kinds for which the
    forecast is an upper bound (it does not know what the rows are). ``blind``: kinds for which the damage
    leaves no trace in the files, so that the forecast is that of the undamaged checkpoint. ``hidden``: input
    files that are away at the restart. ``looks_at_inputs``: the forecast is told where the first source
    reads. ``may_wait``: the trigger availableNow stops before the forecast's batch, a later trigger runs it.
    ``needs``: a feature that not every Spark has. ``admits``: how an item of the forecast's "not checked"
    begins: what it names may end the batch without a word of the forecast.
    """

    name: str
    base: str
    damage: d.Damage
    query: Query = field(default_factory=lambda: Query(new_data="yes"))
    build: Build | None = None
    conf: Mapping[str, str] | None = None
    unknown: tuple[str, ...] = ()
    at_most: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    looks_at_inputs: bool = False
    may_wait: bool = False
    needs: Feature = EVERYWHERE
    admits: str = ""

    @property
    def needed(self) -> Feature:
        """What the installed Spark must have: the case's own feature or its base's, whichever came later."""
        return max(self.needs, RECIPES[self.base].needs, key=lambda feature: feature.since)

    @property
    def id(self) -> str:
        """As it reads in the test report."""
        return f"{self.name}-{self.base}"


def on(bases: tuple[str, ...], name: str, damage: d.Damage, **other: object) -> list[Case]:
    """The same damage on several bases."""
    return [Case(name, base, damage, **other) for base in bases]  # type: ignore[arg-type]


EVERY_SINK = ("append", "overwrite", "skip")
COMMIT_MISSING = d.without("commits/{c}")
PENDING_CUT = d.both(COMMIT_MISSING, d.cut("offsets/{n}", 0.3))
NO_NEW = Query(new_data="no")
NO_STATE = Query(operators=(), new_data="yes")

LOGS = [
    *on(EVERY, "clean", d.nothing),
    *on(("stateless", "windows", "dedup", "join"), "clean_no_new_data", d.nothing, query=NO_NEW),
    *on(EVERY, "commit_missing", COMMIT_MISSING),
    *on(
        ("stateless", "windows", "windows_format_2"),
        "commit_missing_no_new_data",
        COMMIT_MISSING,
        query=NO_NEW,
    ),
    *on(
        ("stateless", *FORMATS, "named", "join"),
        "two_commits_missing",
        d.without("commits/{n}", "commits/{n-1}"),
    ),
    *on(("stateless", "windows", "windows_format_2"), "all_commits_missing", d.log_gone("commits")),
    *on(STATELESS, "commits_folder_missing", d.without("commits")),
    *on(("stateless", *FORMATS, "named"), "offset_missing", d.without("offsets/{n}")),
    *on(
        ("stateless", "windows"),
        "two_offsets_and_a_commit_missing",
        d.both(d.without("offsets/{n}", "offsets/{n-1}"), d.without("commits/{n}")),
        at_most=("skip",),  # what the skipping sink drops comes with the batch that fails
    ),
    *on(
        ("stateless", "windows", "windows_changelog", "named"),
        "previous_offset_missing",
        d.without("offsets/{n-1}"),
    ),
    *on(
        ("stateless", "windows", "named"),
        "previous_offset_missing_pending",
        d.both(COMMIT_MISSING, d.without("offsets/{n-1}")),
    ),
    *on(("purged",), "previous_offset_missing", d.without("offsets/{n-1}")),
    *on(
        ("stateless", "windows"),
        "middle_of_the_logs_missing",
        d.without("offsets/1", "commits/1", "commits/2"),
    ),
    *on(PLAIN, "all_offsets_missing", d.log_gone("offsets"), unknown=("overwrite",)),
    *on(PLAIN, "all_logs_missing", d.log_gone("offsets", "commits"), unknown=("overwrite", "skip")),
    *on(
        ("stateless",),
        "all_logs_and_sources_missing",
        d.both(d.log_gone("offsets", "commits"), d.without("sources")),
        unknown=EVERY_SINK,
    ),
    *on(
        ("windows",),
        "only_metadata_left",
        d.both(d.log_gone("offsets", "commits"), d.without("sources", "state")),
        unknown=EVERY_SINK,
    ),
    *on(
        STATELESS,
        "foreign_file_before_batch_0",
        d.both(d.log_gone("offsets", "commits"), d.holding("offsets/notes.txt", "x")),
        unknown=("overwrite", "skip"),
    ),
    *on(PLAIN, "metadata_missing", d.without("metadata")),
    *on(STATELESS, "metadata_empty", d.holding("metadata", "")),
    *on(STATELESS, "metadata_cut", d.cut("metadata")),
    *on(STATELESS, "metadata_not_json", d.holding("metadata", "hello")),
    *on(STATELESS, "metadata_without_id", d.holding("metadata", "{}")),
    *on(STATELESS, "metadata_bad_id", d.holding("metadata", '{"id":"not-a-uuid"}')),
    *on(
        STATELESS, "metadata_other_id", d.holding("metadata", '{"id":"dddc5e7f-1e71-454c-8362-de184444fb5a"}')
    ),
    *on(
        STATELESS,
        "metadata_and_offset_broken",
        d.both(d.holding("metadata", "hello"), d.holding("offsets/{n}", "")),
    ),
    *on(("stateless", "windows"), "newest_offset_empty", d.holding("offsets/{n}", "")),
    *on(STATELESS, "newest_offset_cut", d.cut("offsets/{n}", 0.3)),
    *on(STATELESS, "pending_offset_cut", PENDING_CUT),
    *on(STATELESS, "newest_offset_only_version", d.holding("offsets/{n}", "v1")),
    *on(STATELESS, "newest_offset_without_version", d.holding("offsets/{n}", "{}\n{}")),
    *on(STATELESS, "newest_offset_version_9", d.changed("offsets/{n}", d.line(1, "v9"))),
    *on(STATELESS, "newest_offset_empty_metadata", d.changed("offsets/{n}", d.line(2, ""))),
    *on(STATELESS, "newest_offset_without_sources", d.changed("offsets/{n}", d.keep_lines(2))),
    *on(STATELESS, "newest_offset_not_json", d.changed("offsets/{n}", d.line(2, "hello"))),
    *on(
        ("stateless", "windows"),
        "source_line_broken_committed",
        d.changed("offsets/{n}", d.line(3, '{"logOffset":')),
    ),
    *on(
        ("stateless", "windows"),
        "source_line_broken_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.line(3, '{"logOffset":'))),
    ),
    *on(STATELESS, "previous_offset_empty", d.holding("offsets/{n-1}", "")),
    *on(STATELESS, "previous_offset_cut_pending", d.both(COMMIT_MISSING, d.cut("offsets/{n-1}", 0.3))),
    *on(("stateless", "windows"), "newest_commit_empty", d.holding("commits/{c}", "")),
    *on(STATELESS, "newest_commit_cut", d.cut("commits/{c}", 0.8)),
    *on(("stateless", "windows"), "newest_commit_only_version", d.holding("commits/{c}", "v1")),
    *on(STATELESS, "newest_commit_version_9", d.changed("commits/{c}", d.line(1, "v9"))),
    *on(STATELESS, "newest_commit_without_version", d.holding("commits/{c}", "{}")),
    *on(("stateless", "windows"), "newest_commit_version_2", d.changed("commits/{c}", d.line(1, "v2"))),
    *on(STATELESS, "older_commit_empty", d.holding("commits/1", "")),
    *on(STATELESS, "offset_with_leading_zeros", d.holding("offsets/007", "v1\n{}\n{}")),
    *on(STATELESS, "commit_with_leading_zeros", d.holding("commits/009", "v1\n{}")),
    *on(
        STATELESS,
        "other_names_in_offsets",
        d.both(d.holding("offsets/9.tmp", "x"), d.holding("offsets/foo", "x"), d.holding("offsets/-1", "x")),
    ),
    *on(STATELESS, "folder_with_a_number_in_offsets", d.holding("offsets/99/x", "x")),
    *on(
        STATELESS,
        "offset_and_commit_broken",
        d.both(d.holding("offsets/{n}", ""), d.holding("commits/{c}", "")),
    ),
    *on(
        STATELESS,
        "commit_version_9_and_previous_offset_missing",
        d.both(d.changed("commits/{c}", d.line(1, "v9")), d.without("offsets/{n-1}")),
    ),
    *on(
        ("stateless", "windows"),
        "commit_missing_checksum_left",
        lambda ck: d.remove(ck / "commits" / str(d.newest(ck)), keep_checksum=True),
    ),
    *on(("stateless", "windows"), "offset_checksum_left", d.holding("offsets/.{n+1}.crc", b"crc\0\0\0\2\0")),
]

SOURCES = [
    *on(FORMATS, "rewound_by_2", d.rewound(2)),
    *on(
        ("stateless", "dedup", "named", "union"),
        "rewound_by_3",
        d.rewound(3),
    ),
    *on(("stateless",), "rewound_by_1", d.rewound(1), unknown=EVERY_SINK),
    # The state shows the rewind; the merged batch hands out its additional rows only one batch later, when
    # the watermark has moved.
    *on(("windows_with_data",), "rewound_by_1", d.rewound(1), at_most=("skip",)),
    *on(("dedup",), "rewound_by_1", d.rewound(1)),
    *on(STATELESS, "rewound_by_2_no_new_data", d.rewound(2), query=NO_NEW),
    *on(
        ("windows_with_data",), "rewound_by_2_no_new_data", d.rewound(2), query=NO_NEW, at_most=("overwrite",)
    ),  # the same windows again
    *on(("windows_with_data",), "rewound_by_2_with_sources", d.rewound(2, sources=True)),
    *on(
        STATELESS, "rewound_by_2_with_sources", d.rewound(2, sources=True), blind=("append",)
    ),  # it leaves no trace at all
    *on(("stateless", "windows_with_data"), "last_source_entry_missing", d.without("sources/0/4")),
    *on(
        ("stateless",), "last_source_entry_missing_pending", d.both(COMMIT_MISSING, d.without("sources/0/4"))
    ),
    *on(
        ("windows", "windows_changelog"),
        "last_source_entry_missing_after_an_empty_batch",
        d.without("sources/0/4"),
        unknown=EVERY_SINK,
        may_wait=True,
    ),
    *on(
        ("windows", "join"),
        "last_source_entry_and_its_file_missing_after_an_empty_batch",
        d.without("sources/0/4"),
        unknown=EVERY_SINK,
        may_wait=True,
        hidden=("in/0004.json",),
        # the new file of the first source counts as done: the next batch is the other's
        admits="whether every side of the join",
    ),
    *on(("stateless", "windows"), "two_source_entries_missing", d.without("sources/0/3", "sources/0/4")),
    *on(("stateless", "windows"), "source_log_missing", d.without("sources")),
    *on(("stateless", "windows"), "source_entry_missing_in_the_middle", d.without("sources/0/2")),
    *on(("compacted", "purged"), "compact_file_missing", d.without("sources/0/5.compact")),
    *on(("compacted",), "entry_before_the_compact_file_missing", d.without("sources/0/1")),
    *on(("compacted",), "entry_after_the_compact_file_missing", d.without("sources/0/6")),
    *on(("compacted",), "last_source_entry_missing", d.without("sources/0/7")),
    *on(
        ("stateless",),
        "gap_in_source_log_and_no_offsets",
        d.both(d.log_gone("offsets", "commits"), d.without("sources/0/2")),
    ),
    *on(STATELESS, "offset_ahead_of_source_log", d.changed("offsets/{n}", d.line(3, '{"logOffset":7}'))),
    *on(
        STATELESS,
        "offset_ahead_of_source_log_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.line(3, '{"logOffset":7}'))),
    ),
    *on(STATELESS, "offset_goes_back", d.changed("offsets/{n}", d.line(3, '{"logOffset":1}'))),
    *on(
        STATELESS,
        "offset_goes_back_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.line(3, '{"logOffset":1}'))),
    ),
    *on(("stateless", "union"), "source_without_offset_committed", d.changed("offsets/{n}", d.line(3, "-"))),
    # The watermark drops the rows that come a second time.
    *on(
        ("windows_with_data",),
        "source_without_offset_committed",
        d.changed("offsets/{n}", d.line(3, "-")),
        at_most=EVERY_SINK,
    ),
    *on(
        ("stateless", "union"),
        "source_without_offset_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.line(3, "-"))),
    ),
    *on(("named",), "named_source_missing_committed", d.changed("offsets/{n}", d.keep_lines(3))),
    *on(
        ("named",),
        "named_source_missing_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.keep_lines(3))),
    ),
    *on(("stateless",), "version_2_over_version_1", d.changed("offsets/{n}", d.line(1, "v2"))),
    *on(
        ("stateless",),
        "query_has_one_source_more",
        d.nothing,
        build=union,
        query=Query(sources=2, new_data="yes"),
    ),
    *on(
        ("union",),
        "query_has_one_source_less",
        d.nothing,
        build=stateless,
        query=Query(sources=1, new_data="yes"),
    ),
    *on(
        ("union",),
        "query_has_one_source_less_pending",
        COMMIT_MISSING,
        build=stateless,
        query=Query(sources=1, new_data="yes"),
    ),
]

STORE = '{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}'
REPARTITION = d.derived(
    "offsets/{n+1}",
    "offsets/{n}",
    lambda text: text.replace('"spark.sql.shuffle.partitions":"2"', '"spark.sql.shuffle.partitions":"3"'),
)
OPERATOR = f'{{"operatorInfo":{{"operatorId":0,"operatorName":"dedupe"}},"stateStoreInfo":[{STORE}]}}'

STATE = [
    *on((*FORMATS, "join"), "state_folder_missing", d.without("state")),
    *on(
        ("windows", "windows_format_2"),
        "state_folder_missing_pending",
        d.both(COMMIT_MISSING, d.without("state")),
    ),
    *on(("windows",), "state_folder_missing_no_new_data", d.without("state"), query=NO_NEW),
    *on(("windows",), "state_folder_empty", d.log_gone("state")),
    *on(FORMATS, "partition_missing", d.without("state/0/1")),
    *on(("windows", "dedup"), "newest_delta_missing", d.state_missing("{n+1}", "delta")),
    *on(
        ("windows",),
        "newest_delta_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n+1}", "delta")),
    ),
    *on(
        ("windows",), "loaded_delta_missing_pending", d.both(COMMIT_MISSING, d.state_missing("{n}", "delta"))
    ),
    *on(("windows",), "first_delta_missing", d.state_missing("1", "delta")),
    *on(("windows",), "newest_delta_empty", d.state_empty("{n+1}", "delta")),
    *on(("windows",), "first_delta_empty", d.state_empty("1", "delta")),
    *on(("windows_rocksdb",), "newest_zip_missing", d.state_missing("{n+1}", "zip")),
    *on(("windows_rocksdb",), "older_zip_missing", d.state_missing("{n}", "zip")),
    *on(
        ("windows_rocksdb",),
        "older_zip_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n}", "zip")),
    ),
    *on(("windows_rocksdb",), "newest_zip_empty", d.state_empty("{n+1}", "zip")),
    *on(
        ("windows_changelog", "windows_format_2"),
        "newest_changelog_missing",
        d.state_missing("{n+1}", "changelog"),
    ),
    *on(
        ("windows_changelog", "windows_format_2"),
        "first_changelog_missing",
        d.state_missing("1", "changelog"),
    ),
    *on(
        ("windows_changelog", "windows_format_2"),
        "newest_changelog_empty",
        d.state_empty("{n+1}", "changelog"),
    ),
    *on(
        ("windows_changelog", "windows_format_2"),
        "newest_changelog_missing_pending",
        d.both(COMMIT_MISSING, d.state_missing("{n+1}", "changelog")),
    ),
    *on(
        ("join",),
        "one_of_four_stores_lost_a_delta",
        d.state_missing("2", "delta", store="right-keyToNumValues"),
    ),
    *on(("join",), "one_of_four_stores_lost_a_partition", d.without("state/0/1/left-keyWithIndexToValue")),
    *on(
        ("windows", "windows_changelog"),
        "junk_of_later_versions",
        d.both(d.holding("state/0/0/99.delta", "x"), d.holding("state/0/1/99.changelog", "x")),
    ),
    *on(("windows", "windows_format_2"), "schema_missing", d.without("state/0/0/_metadata/schema")),
    *on(("windows", "windows_changelog"), "schema_empty", d.holding("state/0/0/_metadata/schema", "")),
    *on(("windows",), "schema_empty_no_new_data", d.holding("state/0/0/_metadata/schema", ""), query=NO_NEW),
    *on(
        ("windows", "windows_format_2"),
        "operator_metadata_missing",
        d.without("state/0/_metadata"),
        needs=OPERATOR_METADATA,
    ),
    *on(
        ("windows",),
        "operator_metadata_empty",
        d.holding("state/0/_metadata/metadata", ""),
        needs=OPERATOR_METADATA,
    ),
    *on(
        ("windows",),
        "operator_metadata_unknown_version",
        d.changed("state/0/_metadata/metadata", d.line(1, "v9")),
        needs=OPERATOR_METADATA,
    ),
    *on(("windows", "windows_rocksdb"), "unfinished_repartition", REPARTITION),
    *on(
        ("windows",),
        "operator_metadata_of_another_operator",
        d.changed("state/0/_metadata/metadata", d.line(2, OPERATOR)),
        query=Query(operators=("stateStoreSave",), new_data="yes"),
        needs=OPERATOR_METADATA,
    ),
    *on(("windows", "windows_changelog"), "operator_removed", d.nothing, build=stateless, query=NO_STATE),
    *on(
        ("dedup",), "operator_removed", d.nothing, build=stateless, query=NO_STATE, at_most=EVERY_SINK
    ),  # no row comes twice here
    *on(("windows",), "operator_removed_pending", COMMIT_MISSING, build=stateless, query=NO_STATE),
    *on(
        ("windows",),
        "operator_replaced",
        d.nothing,
        build=dedup,
        query=Query(operators=("dedupe",), new_data="yes"),
    ),
    *on(
        ("stateless",),
        "operator_added",
        d.nothing,
        build=windows,
        query=Query(operators=("stateStoreSave",), new_data="yes"),
    ),
    *on(
        ("windows_format_2",),
        "commit_without_ids",
        d.holding("commits/{c}", 'v2\n{"nextBatchWatermarkMs":0}'),
    ),
    *on(
        ("windows_format_2",),
        "commit_rewritten_as_version_1",
        d.holding("commits/{c}", 'v1\n{"nextBatchWatermarkMs":0}'),
    ),
    *on(
        ("windows_format_2",),
        "commit_names_other_ids",
        d.changed("commits/{c}", lambda text: text.replace("-4", "-5")),
    ),
    *on(
        ("windows_format_2",),
        "checksum_files_missing",
        lambda ck: [d.remove(p) for p in ck.glob("state/0/*/*.changelog.crc")] and None,
    ),
    *on(
        ("windows", "windows_changelog"),
        "no_pinned_settings",
        d.changed("offsets/{n}", d.line(2, '{"batchWatermarkMs":0,"batchTimestampMs":1795250000000}')),
    ),
]

SNAPSHOTS = [
    *on(("snapshots", "snapshots_changelog"), "clean", d.nothing),
    *on(("snapshots",), "newest_snapshot_missing", d.newest_snapshot("snapshot", d.remove)),
    *on(("snapshots",), "newest_snapshot_empty", d.newest_snapshot("snapshot", d.empty)),
    *on(
        ("snapshots",),
        "newest_snapshot_cut",
        d.newest_snapshot("snapshot", d.halve),
        admits="the contents of the state files",
    ),
    *on(("snapshots",), "all_snapshots_missing", d.all_of("state/0/*/*.snapshot")),
    *on(("snapshots",), "delta_before_the_snapshots_missing", d.state_missing("1", "delta")),
    *on(
        ("snapshots",),
        "newest_delta_missing",
        d.both(d.newest_snapshot("snapshot", lambda path: None), d.state_missing("{n+1}", "delta")),
    ),
    *on(
        ("snapshots",),
        "newest_snapshot_empty_and_first_delta_and_other_snapshots_missing",
        d.both(
            d.all_of("state/0/*/3.snapshot"),
            d.newest_snapshot("snapshot", d.empty),
            d.state_missing("1", "delta"),
        ),
    ),
    *on(("snapshots_changelog",), "newest_zip_missing", d.newest_snapshot("zip", d.remove)),
    *on(("snapshots_changelog",), "newest_zip_empty", d.newest_snapshot("zip", d.empty)),
    *on(("snapshots_changelog",), "all_zips_missing", d.all_of("state/0/*/*.zip")),
    *on(("snapshots_changelog",), "first_changelog_missing", d.state_missing("1", "changelog")),
    *on(
        ("snapshots_changelog",),
        "newest_changelog_missing",
        d.both(d.newest_snapshot("zip", d.untouched), d.state_missing("{n+1}", "changelog")),
    ),
    *on(("snapshots", "snapshots_changelog"), "rewound_by_3", d.rewound(3), at_most=EVERY_SINK),
]

TRANSFORM_QUERY = Query(operators=("transformWithStateInPySparkExec",), new_data="yes")
TRANSFORM = [
    *on(("transform",), "clean", d.nothing),
    *on(("transform",), "commit_missing", COMMIT_MISSING),
    *on(("transform",), "operator_metadata_missing", d.without("state/0/_metadata")),
    *on(("transform",), "state_schemas_missing", d.both(d.at_home, d.without("state/0/_stateSchema"))),
    *on(
        ("transform",), "state_schemas_missing_in_a_copy", d.without("state/0/_stateSchema")
    ),  # the original's are read
    *on(
        ("transform",),
        "state_folder_missing",
        d.without("state"),
        query=Query(operators=("transformWithStateInPySparkExec",), new_data="yes"),
    ),
    *on(("transform",), "newest_zip_missing", d.state_missing("{n+1}", "zip")),
]

ONE_SIDE = d.both(d.rewound(1), d.without("commits/4"), d.changed("offsets/4", d.line(3, '{"logOffset":3}')))
FIFTH = "in/0004.json"
INPUTS = [
    *on(
        STATELESS,
        "input_of_the_pending_batch_gone",
        COMMIT_MISSING,
        hidden=(FIFTH,),
        looks_at_inputs=True,
        at_most=("append", "skip"),
    ),
    *on(
        STATELESS,
        "input_of_the_pending_batch_gone_and_not_looked_for",
        COMMIT_MISSING,
        hidden=(FIFTH,),
        blind=("overwrite",),
        at_most=("append",),
    ),
    *on(STATELESS, "inputs_of_the_pending_batch_looked_for", COMMIT_MISSING, looks_at_inputs=True),
    *on(STATELESS, "input_of_a_committed_batch_gone", d.nothing, hidden=(FIFTH,)),
    *on(("windows",), "schema_cut", d.cut("state/0/0/_metadata/schema")),
    # Batch 4 of the join again, now with rows of the second source only.
    *on(
        ("join", "join_changelog"),
        "pending_batch_without_rows_of_one_side",
        ONE_SIDE,
        unknown=EVERY_SINK,
        at_most=EVERY_SINK,
    ),
]

CASES = [*LOGS, *SOURCES, *STATE, *SNAPSHOTS, *TRANSFORM, *INPUTS]
