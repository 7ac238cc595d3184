"""What only a change of the Spark version springs: the traps of an upgrade or of a way back (observed between
3.3, 3.5, 4.0, 4.2 and 4.3).

Everything else goes on exactly in both directions, clean or with a pending batch.
"""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext, Verdict, failed
from core.analysis.forecast.model import DataEffect, Risk
from core.analysis.forecast.versions import V34, V35, V40, V42, V43, parse_version
from core.checkpoint.model import OperatorState
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.state import read_schemas, state_inventory
from core.sparklogs.evidence import Evidence

ROW_CHECKSUM = "spark.sql.streaming.stateStore.rowChecksum.enabled"
KEY_ORDER = "spark.sql.dropDuplicates.deterministicKeyOrder.enabled"
EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
KEY_ORDER_COLUMNS = 5  # from this number of columns on the order of the key depends on the version
ANSI = (
    "whether a cast or an overflow that gave null before fails now (spark.sql.ansi.enabled is on from Spark"
    " 4.0)"
)
SPOILS = (
    "The failed start leaves offsets/{n} with the settings of Spark {spark}: delete that file and its .crc"
    " before the query goes back to the Spark that wrote this checkpoint."
)
DUPLICATES = DataEffect("duplicates", "duplicates", "duplicates")
WRONG = DataEffect("unknown", "unknown", "unknown")


def check_named_sources(s: RestartContext) -> Verdict | None:
    """4.2 with named sources keeps offset log version 1, which 4.3 refuses to name (observed 4.2 -> 4.3)."""
    newest = s.newest
    if (
        newest is None
        or newest.format_version != 1
        or s.version < V43
        or newest.conf.get(EVOLUTION) != "true"
    ):
        return None
    why = (
        f"{newest.evidence.path} was written by Spark 4.2 with named sources and has version 1, which Spark"
        f" {s.version} does not take names for"
    )
    return failed(
        s, "evolution_on_v1", "VERSION_TRAP", why, Evidence(newest.evidence.path, 2), certainty="inferred"
    )


def check_upgrade(s: RestartContext) -> Verdict:
    """What another version than the writing one cannot read, or reads otherwise."""
    if s.is_writer:
        return Verdict("does_not_apply", note="the version that wrote the newest files")
    not_checked = [ANSI] if _crosses_4_0(s) and s.version >= V40 else []
    if not s.checkpoint.has_state or not s.is_stateful or s.from_scratch:
        return Verdict("does_not_apply", note="there is no state", not_checked=tuple(not_checked))
    risks: list[Risk] = []
    for op in state_inventory(s.checkpoint).operators:
        for check in (_row_checksum, _rocksdb_files, _transform, _dedup_key):
            verdict = check(s, op)
            if verdict is None:
                continue
            if verdict.ok is False:
                return verdict
            risks += verdict.risks
    return Verdict(risks=tuple(risks), not_checked=tuple(not_checked))


def _crosses_4_0(s: RestartContext) -> bool:
    written = s.checkpoint.written_by
    at_most = parse_version(written.at_most) if written.at_most else None
    at_least = parse_version(written.at_least) if written.at_least else None
    if s.version >= V40:
        return at_most is not None and at_most < V40
    return at_least is not None and at_least >= V40


def _row_checksum(s: RestartContext, op: OperatorState) -> Verdict | None:
    newest = s.newest
    if newest is None or newest.conf.get(ROW_CHECKSUM) != "true" or s.version >= V42:
        return None
    at = Evidence(newest.evidence.path, 2)
    why = f"the rows of the state carry checksums ({at}), which Spark {s.version} does not know"
    if op.provider == "hdfs":
        return Verdict(
            risks=(
                Risk(
                    "VERSION_TRAP",
                    f"{why}: it runs and computes wrong numbers without an error.",
                    (at,),
                    WRONG,
                ),
            )
        )
    return failed(s, "row_checksum_unknown", "VERSION_TRAP", why, at)


def _rocksdb_files(s: RestartContext, op: OperatorState) -> Verdict | None:
    if op.provider != "rocksdb" or s.version >= V35:
        return None
    files = [file for part in op.partitions for file in part.files]
    version = s.first_batch
    changelog = next((f for f in files if f.kind == "changelog" and f.version == version), None)
    has_zip = any(f.kind == "zip" and f.version == version for f in files)
    if changelog is not None and not has_zip:
        path = f"{changelog.path.rpartition('/')[0]}/{version}.zip"
        why = (
            f"state version {version} is only there as a changelog ({changelog.path}), which Spark"
            f" {s.version} does not know"
        )
        return failed(
            s,
            "rocksdb_missing",
            "VERSION_TRAP",
            why,
            Evidence(changelog.path),
            details={"zip": f"{s.location}/{path}"},
        )
    sst = next((f for f in files if f.kind == "sst"), None)
    if s.version < V34 and sst is not None and _crosses_4_0(s):
        why = f"Spark {s.version} cannot read RocksDB files that Spark 4.0 or newer wrote ({sst.path})"
        return failed(
            s,
            "rocksdb_too_new",
            "VERSION_TRAP",
            why,
            Evidence(sst.path),
            details={"file": f"{s.location}/{sst.path}"},
        )
    return None


def _transform(s: RestartContext, op: OperatorState) -> Verdict | None:
    if s.version >= V40 or not (op.name or "").startswith("transformWithState"):
        return None
    why = f"operator {op.operator_id} is transformWithState, which Spark {s.version} does not have"
    return failed(
        s, "no_transform", "VERSION_TRAP", why, Evidence(f"state/{op.operator_id}"), fails_at="start"
    )


def _dedup_key(s: RestartContext, op: OperatorState) -> Verdict | None:
    """dropDuplicates of five columns or more: the columns of the key are in another order, so old keys are
    not found."""
    newest = s.newest
    if op.name != "dedupe" or newest is None:
        return None
    always = newest.conf.get(KEY_ORDER) == "true" and s.version < V43
    if not always and not _crosses_4_0(s):
        return None
    schema = next(
        (item for item in read_schemas(s.checkpoint, op.operator_id) if isinstance(item, StateSchema)), None
    )
    if schema is None or len(schema.key_columns) < KEY_ORDER_COLUMNS:
        return None
    count = len(schema.key_columns)
    same_type = len({str(kind) for kind in _types(schema)}) == 1
    head = (
        f"dropDuplicates of operator {op.operator_id} has {count} columns, and Spark {s.version}"
        f" {'' if always else 'may '}order{'s' if always else ''} them otherwise"
    )
    if always and not same_type:
        return failed(s, "key_schema", "VERSION_TRAP", head, schema.evidence)
    if same_type:
        sentence = (
            f"{head}: rows that were seen before {'come' if always else 'may come'} through again, without an"
            " error."
        )
    else:
        sentence = f"{head}: the first batch then fails because the key does not fit the state."
    return Verdict(
        risks=(
            Risk(
                "VERSION_TRAP",
                sentence,
                (schema.evidence,),
                DUPLICATES,
                "certain" if always else "needs_input",
            ),
        )
    )


def _types(schema: StateSchema) -> list[object]:
    fields = schema.key.get("fields")
    return (
        [field.get("type") for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []
    )
