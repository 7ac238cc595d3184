"""Cases in which the query is another one than the one that wrote the checkpoint, and of other versions."""

from __future__ import annotations

from core.analysis.forecast import Query
from tests.spark.cases.model import COMMIT_MISSING, Case, family
from tests.support import damage as d
from tests.support.oracle import OPERATOR_METADATA, dedup, named_swapped, stateless, union, windows

NO_STATE = Query(operators=(), new_data="yes")
SAVE = Query(operators=("stateStoreSave",), new_data="yes")
DEDUPE = Query(operators=("dedupe",), new_data="yes")
ONE, TWO = Query(sources=1, new_data="yes"), Query(sources=2, new_data="yes")
NO_OPERATOR_METADATA = d.without("state/0/_metadata")

operators = family("operators changed")
sources = family("sources changed")
upgrades = family("another version")

OPERATORS: list[Case] = [
    *operators(
        ("RF 4.22", "VF 1.6"),
        ("windows", "windows_changelog", "dedup"),
        "operator_removed",
        d.nothing,
        build=stateless,
        query=NO_STATE,
    ),
    *operators(
        "VF 1.6", ("windows",), "operator_removed_pending", COMMIT_MISSING, build=stateless, query=NO_STATE
    ),
    *operators(
        ("RF 4.22", "VF 1.7"), ("windows",), "operator_replaced", d.nothing, build=dedup, query=DEDUPE
    ),
    *operators(("RF 4.2", "VF 2.15"), ("stateless",), "operator_added", d.nothing, build=windows, query=SAVE),
    *operators(
        "RF 4.28",
        ("windows",),
        "operator_removed_and_its_metadata",
        NO_OPERATOR_METADATA,
        build=stateless,
        query=NO_STATE,
        needs=OPERATOR_METADATA,
    ),
]
SOURCES: list[Case] = [
    *sources(
        ("RF 5.10", "RF 1.18"), ("stateless",), "query_has_one_source_more", d.nothing, build=union, query=TWO
    ),
    *sources("RF 5.10", ("union",), "query_has_one_source_less", d.nothing, build=stateless, query=ONE),
    *sources(
        "RF 5.10", ("union",), "query_has_one_source_less_pending", COMMIT_MISSING, build=stateless, query=ONE
    ),
    *sources("RF 5.11", ("named",), "named_sources_in_another_order", d.nothing, build=named_swapped),
]
BASES = (
    "stateless",
    "windows",
    "windows_rocksdb",
    "windows_changelog",
    "dedup",
    "join",
    "purged",
    "snapshots",
    "union",
)
WRITERS = ("3.5.9", "4.0.5", "4.3.0")
UPGRADES: list[Case] = [
    case
    for writer in WRITERS
    for case in (
        *upgrades("VF 4.1", BASES, f"written_by_{writer}", d.nothing, written_by=writer),
        *upgrades(
            "VF 4.1",
            ("windows", "windows_rocksdb", "dedup"),
            f"pending_written_by_{writer}",
            COMMIT_MISSING,
            written_by=writer,
        ),
        *upgrades(
            ("VF 4.2", "VF 1.8"),
            ("dedup_many", "dedup_mixed"),
            f"written_by_{writer}",
            d.nothing,
            written_by=writer,
        ),
        *upgrades("VF 4.3", ("row_checksum",), f"written_by_{writer}", d.nothing, written_by=writer),
        *upgrades("VF 4.4", ("row_checksum_rocksdb",), f"written_by_{writer}", d.nothing, written_by=writer),
        *upgrades("VF 4.5", ("windows_format_2",), f"written_by_{writer}", d.nothing, written_by=writer),
        *upgrades("VF 4.6", ("offset_log_2",), f"written_by_{writer}", d.nothing, written_by=writer),
        *upgrades("VF 4.7", ("named",), f"written_by_{writer}", d.nothing, written_by=writer),
        *upgrades(
            ("RF 4.24", "VF 4.1"),
            ("windows",),
            f"schema_missing_written_by_{writer}",
            d.without("state/0/0/_metadata/schema"),
            written_by=writer,
        ),
    )
]
CASES = [*OPERATORS, *SOURCES]
