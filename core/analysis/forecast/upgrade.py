"""What only a change of the Spark version springs: the traps of an upgrade or of a way back (observed between
3.3, 3.5, 4.0, 4.2 and 4.3).

Everything else resumes exactly in both directions, clean or with a pending batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.join_schema import required_keys
from core.analysis.forecast.key_order import HASHED_FROM, hashed_order
from core.analysis.forecast.model import DUPLICATES, UNKNOWN, Risk
from core.analysis.forecast.row_checksums import first_refused
from core.analysis.forecast.step_verdict import Verdict, failed
from core.analysis.forecast.versions import V34, V35, V40, V42, V43, Version, parse_version
from core.checkpoint.conf import ENCODING_KEY, ROW_CHECKSUM_KEY
from core.checkpoint.model import OffsetEntry, OperatorState
from core.checkpoint.operator_metadata import StateSchema, column_fields
from core.checkpoint.source import SOURCE_EVOLUTION
from core.checkpoint.state import read_schemas, state_inventory
from core.checkpoint.written_by import written_by
from core.messages import say
from core.sparklogs.evidence import Evidence

KEY_ORDER = "spark.sql.dropDuplicates.deterministicKeyOrder.enabled"
DEDUPLICATIONS = ("dedupe", "dedupeWithinWatermark")
_FORGOTTEN: Mapping[str, tuple[Version, str]] = {
    KEY_ORDER: (V43, "false"),
    ROW_CHECKSUM_KEY: (V42, "false"),
    ENCODING_KEY: (V40, "unsaferow"),
}
"""Settings on which the rows of the state depend: since which version they are pinned, and what a start takes
where they are not."""


def check_named_sources(s: RestartContext) -> Verdict | None:
    """4.2 with named sources keeps offset log version 1, which 4.3 refuses to name (observed 4.2 -> 4.3)."""
    newest = s.newest
    if (
        newest is None
        or newest.format_version != 1
        or s.version < V43
        or newest.conf.get(SOURCE_EVOLUTION) != "true"
    ):
        return None
    why = say("forecast_steps.named_sources_4_2", path=newest.evidence.path, spark=s.version)
    return failed(
        s, "evolution_on_v1", "VERSION_TRAP", why, Evidence(newest.evidence.path, 2), certainty="inferred"
    )


def check_upgrade(s: RestartContext) -> Verdict:
    """What another version than the writing one cannot read, or interprets differently."""
    if s.is_writer and _is_of_its_writer(s):
        return Verdict("does_not_apply", note=say("forecast_steps.same_version", spark=s.version))
    not_checked = [say("forecast.open_ansi")] if _crosses_4_0(s) and s.version >= V40 else []
    if not s.checkpoint.has_state or not s.is_stateful or s.from_scratch:
        return Verdict("does_not_apply", note=say("forecast_steps.no_state"), not_checked=tuple(not_checked))
    risks: list[Risk] = []
    for op in state_inventory(s.checkpoint).operators:
        for check in (_row_checksum, _rocksdb_files, _transform, _dedup_key, _join):
            verdict = check(s, op)
            if verdict is None:
                continue
            if verdict.ok is False:
                return verdict
            risks += verdict.risks
    return Verdict(risks=tuple(risks), not_checked=tuple(not_checked))


def forgotten_settings(s: RestartContext) -> list[str]:
    """The settings of the state that a failed start of this version leaves out of its offsets, and without
    which the Spark that wrote the state does not find its rows there.

    Observed with 4.3 and 3.5.9: after a failed start of 3.5.9 a dropDuplicates of five columns and state with
    row checksums fail on 4.3 too; without such a setting, and after a failed start of a newer version, which
    pins the old values, the Spark that wrote the state goes on exactly.
    """
    conf = s.newest.conf if s.newest is not None and s.with_state and s.is_stateful else {}
    return [
        key
        for key, (since, otherwise) in _FORGOTTEN.items()
        if s.version < since and conf.get(key, otherwise) != otherwise
        if key != KEY_ORDER or _has_hashed_key(s)
    ]


def _has_hashed_key(s: RestartContext) -> bool:
    """Whether a dropDuplicates has so many columns that their order in the key depends on the settings."""
    return any(_hashed_key(s, op) is not None for op in state_inventory(s.checkpoint).operators)


def _hashed_key(s: RestartContext, op: OperatorState) -> StateSchema | None:
    """The schema of such a dropDuplicates (within a watermark or not); None for every other operator."""
    if op.name not in DEDUPLICATIONS:
        return None
    schemas = (item for item in read_schemas(s.checkpoint, op.operator_id) if isinstance(item, StateSchema))
    schema = next(schemas, None)
    return schema if schema is not None and len(schema.key_columns) >= HASHED_FROM else None


def _of_the_state(s: RestartContext) -> OffsetEntry | None:
    """The offset entry of the Spark that wrote the state: the newest committed one. A failed start of another
    version leaves an offset entry of its own in front of it (observed 3.5 -> 4.0 -> 4.3, and 4.3 -> 4.0 ->
    4.3)."""
    return (s.offset_entry(s.c) if s.runs_again else None) or s.newest


def _writer(s: RestartContext) -> tuple[Version | None, Version | None]:
    """At least and at most which version wrote the state, as far as that is known."""
    entry, commit = _of_the_state(s), s.commit_entry(s.c)
    if entry is None or entry is s.newest:
        written = s.checkpoint.written_by
    else:
        written = written_by([entry], [commit] if commit is not None else [])
    at_least = parse_version(written.at_least) if written.at_least else None
    return at_least, parse_version(written.at_most) if written.at_most else None


def _is_of_its_writer(s: RestartContext) -> bool:
    at_least, at_most = _writer(s)
    return (at_least is None or s.version >= at_least) and (at_most is None or s.version <= at_most)


def _crosses_4_0(s: RestartContext) -> bool:
    at_least, at_most = _writer(s)
    if s.version >= V40:
        return at_most is not None and at_most < V40
    return at_least is not None and at_least >= V40


def _row_checksum(s: RestartContext, op: OperatorState) -> Verdict | None:
    written = _of_the_state(s)
    if written is None or written.conf.get(ROW_CHECKSUM_KEY) != "true" or s.version >= V42:
        return None
    at = Evidence(written.evidence.path, 2)
    why = say("forecast_steps.row_checksums", at=str(at), spark=s.version)
    if op.provider == "hdfs" and (file := first_refused(s, op, s.first_batch)) is not None:
        refused = say("forecast_steps.row_checksums_refused", why=why, path=file.path)
        return failed(s, "row_checksum_unknown", "VERSION_TRAP", refused, at, Evidence(file.path))
    if op.provider == "hdfs":
        return Verdict(
            risks=(
                Risk(
                    "VERSION_TRAP",
                    say("forecast.checksums_wrong_numbers", why=why),
                    (at,),
                    UNKNOWN,
                ),
            )
        )
    # Seen with 3.5.9: without a watermark nothing walks through the rows, and no key is found.
    if op.provider == "rocksdb" and s.version < V40 and not written.watermark_ms:
        sentence = say("forecast.checksums_begin_again", why=why)
        return Verdict(risks=(Risk("VERSION_TRAP", sentence, (at,), UNKNOWN),))
    error = "row_checksum_on_rocksdb" if op.provider == "rocksdb" else "row_checksum_unknown"
    return failed(s, error, "VERSION_TRAP", why, at)


def _rocksdb_files(s: RestartContext, op: OperatorState) -> Verdict | None:
    if op.provider != "rocksdb" or s.version >= V35:
        return None
    files = [file for part in op.partitions for file in part.files]
    version = s.first_batch
    changelog = next((f for f in files if f.kind == "changelog" and f.version == version), None)
    has_zip = any(f.kind == "zip" and f.version == version for f in files)
    if changelog is not None and not has_zip:
        path = f"{changelog.path.rpartition('/')[0]}/{version}.zip"
        why = say("forecast_steps.changelog_unknown", version=version, path=changelog.path, spark=s.version)
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
        why = say("forecast_steps.rocksdb_too_new", spark=s.version, path=sst.path)
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
    if s.version >= V40 or not op.is_transform:
        return None
    why = say("forecast_steps.no_transform", operator_id=op.operator_id, spark=s.version)
    return failed(
        s, "no_transform", "VERSION_TRAP", why, Evidence(f"state/{op.operator_id}"), fails_at="start"
    )


def _dedup_key(s: RestartContext, op: OperatorState) -> Verdict | None:
    """dropDuplicates (within a watermark or not) of five columns or more: the columns of the key are in
    another order, so old keys are not found."""
    newest, written = s.newest, _of_the_state(s)
    if newest is None or written is None:
        return None
    as_given = newest.conf.get(KEY_ORDER) == "true" and s.version >= V43
    always = written.conf.get(KEY_ORDER) == "true" and not as_given
    if not always and not _crosses_4_0(s):
        return None
    schema = _hashed_key(s, op)
    if schema is None:
        return None
    count, now = len(schema.key_columns), hashed_order(schema.key_columns, s.version)
    if now == schema.key_columns:
        return None
    # Spark hashes the names as the query spells them: those in the state are these when they are in the order
    # of the Spark that wrote it.
    before = hashed_order(schema.key_columns, V35 if s.version >= V40 else V40)
    is_known = now is not None and (always or schema.key_columns == before)
    types = dict(zip(schema.key_columns, _types(schema), strict=False))
    fits = now is not None and [types.get(name) for name in now] == list(types.values())
    if is_known and not fits:
        why = say("forecast.key_order_fails", operator_id=op.operator_id, columns=count, spark=s.version)
        return failed(s, "key_schema", "VERSION_TRAP", why, schema.evidence)
    if is_known:
        sentence = say(
            "forecast.key_order_repeats", operator_id=op.operator_id, columns=count, spark=s.version
        )
    elif len({str(kind) for kind in types.values()}) == 1:
        sentence = say(
            "forecast.key_order_may_repeat", operator_id=op.operator_id, columns=count, spark=s.version
        )
    else:
        sentence = say(
            "forecast.key_order_may_fail", operator_id=op.operator_id, columns=count, spark=s.version
        )
    return Verdict(
        risks=(
            Risk(
                "VERSION_TRAP",
                sentence,
                (schema.evidence,),
                DUPLICATES.may(),  # of rows that come again
                "certain" if is_known else "needs_input",
            ),
        )
    )


def _join(s: RestartContext, op: OperatorState) -> Verdict | None:
    return required_keys(s, op) if _crosses_4_0(s) else None


def _types(schema: StateSchema) -> list[object]:
    return [field.get("type") for field in column_fields(schema.key)]
