"""Cases of the two newest offset files and of the commits, edited by hand: lines too many or too few, names
that no source has, commits after the newest offset, pinned values that are none."""

from __future__ import annotations

import re
from pathlib import Path

from tests.spark.cases.model import COMMIT_MISSING, NO_NEW, STATELESS, Case, family
from tests.support import damage as d

WITH_DATA = ("windows_with_data",)
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
PARTITIONS = "spark.sql.shuffle.partitions"
LOG_2, STATE_2 = ("offset_log_2", "windows_offset_log_2"), ("windows_offset_log_2",)
UNPINNED = d.pinned(PARTITIONS, None)
NOWHERE = d.both(UNPINNED, d.without("state/0/_metadata"))
STRICT = "spark.sql.streaming.statefulOperator.useStrictDistribution"

edited = family("edited by hand")
ahead = family("commits ahead")
pinned = family("pinned values")


def line_as_before(number: int) -> d.Damage:
    """One source's line of the newest entry is that of the entry before."""

    def apply(ck: Path) -> None:
        newest = d.newest(ck)
        before = (ck / "offsets" / str(newest - 1)).read_text(encoding="utf-8").split("\n")
        d.changed("offsets/{n}", d.line(number, before[number - 1]))(ck)

    return apply


def lines_as_before(ck: Path) -> None:
    """All source lines of the newest entry are those of the entry before; its metadata stays."""
    before = (ck / "offsets" / str(d.newest(ck) - 1)).read_text(encoding="utf-8").split("\n")
    d.changed("offsets/{n}", lambda text: "\n".join([*text.split("\n")[:2], *before[2:]]))(ck)


def more(text: str) -> d.Damage:
    """The newest entry has a line more."""
    return d.changed("offsets/{n}", lambda content: content + "\n" + text)


def without_line(number: int, name: str = "offsets/{n}") -> d.Damage:
    """An entry has lost a line."""

    def shortened(content: str) -> str:
        return "\n".join(line for i, line in enumerate(content.split("\n"), 1) if i != number)

    return d.changed(name, shortened)


def pending(damage: d.Damage) -> d.Damage:
    """The newest batch is not committed."""
    return d.both(COMMIT_MISSING, damage)


def in_both() -> d.Damage:
    """Both entries have a line more, each its own last one again."""
    return d.both(*(d.changed(f"offsets/{{n{at}}}", d.with_last_line_again) for at in ("", "-1")))


def logs_swapped(ck: Path) -> None:
    """``offsets/`` and ``commits/`` have changed places."""
    (ck / "offsets").rename(ck / "other")
    (ck / "commits").rename(ck / "offsets")
    (ck / "other").rename(ck / "commits")


def as_text(content: str) -> str:
    """The log id as a string."""
    return re.sub(r'"logOffset":(\d+)', r'"logOffset":"\1"', content)


def with_times_as_text(line: str) -> str:
    """The metadata line with its watermark as a string."""
    return re.sub(r'"batchWatermarkMs":(\d+)', r'"batchWatermarkMs":"\1"', line)


def one_further(content: str) -> str:
    """The log id of the next entry."""
    return re.sub(r'"logOffset":(\d+)', lambda found: f'"logOffset":{int(found[1]) + 1}', content)


EMPTY_LINE = d.changed("offsets/{n}", lambda content: content + "\n\n")
EMPTY_LINE_BEFORE = d.changed("offsets/{n-1}", lambda content: content + "\n\n")
BRACE = d.both(*(d.changed(name, lambda content: content + "}") for name in ("offsets/{n}", "sources/0/{n}")))
LAST_TWO_LINES = d.both(without_line(4), without_line(4, "offsets/{n-1}"))
LAST_NAMES = d.both(d.changed("offsets/{n}", d.keep_lines(3)), d.changed("offsets/{n-1}", d.keep_lines(3)))
DASH_BEFORE = d.changed("offsets/{n-1}", d.line(3, "-"))

LINES: list[Case] = [
    *edited("RF A.4", ("stateless", "watermarked", "named"), "lines_as_before", lines_as_before),
    *edited(
        "RF A.4", ("stateless", "watermarked", "named"), "lines_as_before_pending", pending(lines_as_before)
    ),
    *edited("RF A.4", STATELESS, "lines_as_before_no_new_data", lines_as_before, query=NO_NEW),
    *edited(
        "RF A.4", STATELESS, "lines_as_before_pending_no_new_data", pending(lines_as_before), query=NO_NEW
    ),
    *edited("RF A.4", ("union", "named"), "one_line_as_before", line_as_before(3)),
    *edited("RF A.4", ("union", "named"), "one_line_as_before_pending", pending(line_as_before(3))),
    *edited("RF 3.9", STATELESS, "dash_no_new_data", d.changed("offsets/{n}", d.line(3, "-")), query=NO_NEW),
    *edited("RF 3.9", ("stateless", "union"), "dash_before", DASH_BEFORE),
    *edited("RF 3.10", ("stateless", "union", *WITH_DATA), "dash_before_pending", pending(DASH_BEFORE)),
    *edited(
        "RF 3.10", ("union",), "dash_of_the_other_pending", pending(d.changed("offsets/{n}", d.line(4, "-")))
    ),
    *edited("RF 1.18", STATELESS, "line_twice_in_both", in_both()),
    *edited("RF 1.18", STATELESS, "dash_too_many", more("-")),
    *edited("RF 1.19", STATELESS, "line_twice_before", d.changed("offsets/{n-1}", d.with_last_line_again)),
    *edited("RF 1.18", ("union",), "line_gone", without_line(4)),
    *edited("RF 1.18", ("union",), "line_gone_in_both", LAST_TWO_LINES),
    *edited("RF 1.18", STATELESS, "logs_swapped", logs_swapped),
    *edited("RF 1.18", ("stateless", "named"), "empty_line_at_the_end", EMPTY_LINE),
    *edited("RF 1.19", ("stateless", "named"), "empty_line_at_the_end_before", EMPTY_LINE_BEFORE),
    *edited("RF 1.13", STATELESS, "brace_too_many", BRACE),
    *edited(
        "RF 1.16", STATELESS, "brace_too_many_in_the_commit", d.changed("commits/{c}", lambda t: t + "}")
    ),
    *edited("RF 1.11", STATELESS, "watermark_as_text", d.changed("offsets/{n}", with_times_as_text)),
    *edited("RF 1.11", STATELESS, "no_metadata_pending", pending(d.changed("offsets/{n}", d.line(2, "")))),
    *edited(
        "RF 1.21", STATELESS, "no_metadata_before_pending", pending(d.changed("offsets/{n-1}", d.line(2, "")))
    ),
    *edited(
        "RF A.4",
        STATELESS,
        "one_before_moved_forward_pending",
        pending(d.changed("offsets/{n-1}", one_further)),
    ),
    *edited("RF 1.13", STATELESS, "log_id_as_text", d.changed("offsets/{n}", as_text)),
    *edited(
        "RF 1.14",
        ("stateless", *WITH_DATA),
        "log_id_as_text_pending",
        pending(d.changed("offsets/{n}", as_text)),
    ),
]
NAMES: list[Case] = [
    *edited("RF 5.11", ("named",), "name_of_no_source", more('extra:{"logOffset":2}')),
    *edited("RF 5.11", ("named",), "name_of_no_source_pending", pending(more('extra:{"logOffset":2}'))),
    *edited("RF 3.9", ("named",), "first_name_missing", without_line(3)),
    *edited("RF 3.11", ("named",), "name_missing_in_both", LAST_NAMES),
    *edited("RF 3.11", ("named",), "name_missing_in_both_pending", pending(LAST_NAMES)),
    *edited("RF 3.10", ("named",), "name_missing_before_pending", pending(without_line(4, "offsets/{n-1}"))),
    *edited("RF 3.9", ("named",), "no_names", d.changed("offsets/{n}", d.keep_lines(2))),
    *edited("RF 3.10", ("named",), "no_names_pending", pending(d.changed("offsets/{n}", d.keep_lines(2)))),
]
AHEAD: list[Case] = [
    *ahead("RF 2.6", STATELESS, "hole_before_the_commit", d.without("offsets/{n}", "commits/{n-1}")),
    *ahead(
        "RF 2.6",
        STATELESS,
        "hole_of_two",
        d.without("offsets/{n}", "offsets/{n-1}", "commits/{n-1}", "commits/{n-2}"),
    ),
    *ahead("RF 2.6", STATELESS, "hole_at_n", d.without("offsets/{n}", "offsets/{n-1}", "commits/{n-2}")),
    *ahead(
        "RF 2.6",
        STATELESS,
        "later_commit_and_hole",
        d.both(d.derived("commits/{n+2}", "commits/{c}", str), d.without("commits/{n}")),
    ),
    *ahead(
        "RF 2.5",
        STATELESS,
        "later_commit_and_previous_offset_missing",
        d.both(d.derived("commits/{n+1}", "commits/{c}", str), d.without("offsets/{n-1}", "commits/{n}")),
    ),
    *ahead(
        "RF 1.21",
        STATELESS,
        "no_commit_and_previous_offset_missing",
        d.both(d.log_gone("commits"), d.without("offsets/{n-1}")),
    ),
    *ahead(
        ("RF 2.6", "RF 3.10"),
        ("stateless", *WITH_DATA),
        "offset_gone_and_a_dash_before",
        d.both(d.without("offsets/{n}"), d.changed("offsets/{n-2}", d.line(3, "-"))),
    ),
    *ahead("VF 1.11", ("windows_changelog",), "commit_version_2", d.changed("commits/{c}", d.line(1, "v2"))),
    *ahead("RF 1.16", STATELESS, "commit_version_3", d.changed("commits/{c}", d.line(1, "v3"))),
]
VALUES: list[Case] = [
    *pinned("RF 5.14", ("stateless", *WITH_DATA), "partitions_as_text", d.pinned(PARTITIONS, "x")),
    *pinned("RF 5.14", WITH_DATA, "no_partitions_at_all", d.pinned(PARTITIONS, "0")),
    *pinned("RF 5.14", STATELESS, "fewer_than_no_partitions", d.pinned(PARTITIONS, "-3")),
    *pinned("RF 5.14", STATELESS, "unknown_watermark_policy", d.pinned(POLICY, "x")),
    *pinned("RF 5.14", STATELESS, "a_flag_that_is_none", d.pinned(STRICT, "x")),
    *pinned("RF 5.15", WITH_DATA, "more_partitions_pending", pending(d.pinned(PARTITIONS, "3"))),
    *pinned("RF 5.15", WITH_DATA, "fewer_partitions_pending", pending(d.pinned(PARTITIONS, "1"))),
    *pinned("RF 5.14", STATELESS, "other_partitions", d.pinned(PARTITIONS, "3")),
    *pinned("RF 5.16", LOG_2, "partitions_not_pinned", UNPINNED),
    *pinned("RF 5.16", LOG_2, "partitions_not_pinned_pending", pending(UNPINNED)),
    *pinned("RF 5.16", LOG_2, "partitions_not_pinned_and_policy", d.both(UNPINNED, d.pinned(POLICY, "x"))),
    *pinned("RF 5.16", STATE_2, "partitions_nowhere_and_policy", d.both(NOWHERE, d.pinned(POLICY, "x"))),
    *pinned("RF 5.16", STATE_2, "partitions_nowhere", NOWHERE),
    *pinned("RF 5.16", STATE_2, "partitions_nowhere_pending", pending(NOWHERE)),
    *pinned("RF 5.16", STATE_2, "partitions_nowhere_under_batch_0", d.both(d.back_to_batch_0, NOWHERE)),
]
FOREIGN: list[Case] = [
    *edited("RF 2.9", STATELESS, "foreign_file_in_state", d.holding("state/0/0/notes.txt", "x")),
    *edited("RF 2.9", STATELESS, "name_of_a_state_file", d.holding("state/0/0/{n}.zip", "x")),
    *edited("RF 2.9", STATELESS, "name_of_a_later_state_file", d.holding("state/0/1/{n+2}.changelog", "x")),
    *edited(
        "RF 2.9", STATELESS, "foreign_file_in_state_pending", pending(d.holding("state/0/0/notes.txt", "x"))
    ),
    *edited("RF 2.8", ("stateless", "windows"), "metadata_alone", d.only("metadata")),
    *edited("RF 2.9", ("windows",), "state_and_sources_alone", d.only("state", "sources")),
]
CASES = [*LINES, *NAMES, *AHEAD, *VALUES, *FOREIGN]
