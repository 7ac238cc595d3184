"""The state steps of the first batch: operators against operator metadata, the state folder, the state
schemas, the state files."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from core.analysis.forecast.context import RestartContext, Verdict, failed
from core.analysis.forecast.model import DataEffect, Risk
from core.analysis.forecast.sources import ranges
from core.analysis.forecast.versions import V40, V42, V43
from core.checkpoint.model import CommitEntry, OperatorState, StateFile
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.restore_chain import CommittedIds, expected_partition_ids, first_missing
from core.checkpoint.state import read_schemas, state_inventory
from core.checkpoint.state_names import DEFAULT_STORE, plain_number
from core.messages import Sentence, say
from core.sparklogs.evidence import Certainty, Evidence, Problem
from core.sparklogs.json_text import parse_object

AGGREGATION = "spark.sql.streaming.aggregation.stateFormatVersion"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
LOST = DataEffect("loss", "loss", "loss")
AGAIN = DataEffect("duplicates", "duplicates", "duplicates")


def check_operators(s: RestartContext) -> Verdict:
    """Operator metadata against the query's stateful operators (4.0 and newer; others compare nothing)."""
    wanted = s.query.operators
    if not s.checkpoint.has_state and not wanted:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    operators = state_inventory(s.checkpoint).operators if s.checkpoint.has_state else ()
    recorded = {op.operator_id: op.name for op in operators if op.metadata_raw is not None}
    evidence = tuple(Evidence(f"state/{i}/_metadata") for i in recorded)
    elsewhere: list[str] = []
    for op in operators:
        verdict = _own_metadata(s, op)
        if verdict is not None and verdict.ok is False:
            return verdict
        elsewhere += verdict.not_checked if verdict is not None else ()
    if wanted is None:
        note = say("forecast_steps.same_operators")
        return Verdict(evidence=evidence, note=note, not_checked=tuple(elsewhere))
    asked = dict(enumerate(wanted))
    if s.version < V40:
        return _before_operator_metadata(s, asked, operators)
    if not recorded:
        return Verdict(note=say("forecast_steps.no_operator_metadata"), certainty="inferred")
    if recorded == asked:
        return Verdict(evidence=evidence)
    why = say("forecast_steps.operators_differ", recorded=_named(recorded), wanted=_named(asked))
    return failed(s, "operators_differ", "OPERATORS_DIFFER", why, *evidence)


def _named(operators: Mapping[int, str | None]) -> list[Sentence]:
    return [
        say("forecast_steps.operator", name=name, operator_id=operator_id)
        for operator_id, name in sorted(operators.items())
    ]


def _own_metadata(s: RestartContext, op: OperatorState) -> Verdict | None:
    """transformWithState needs its operator metadata and the schema files that it names; other operators do
    without."""
    is_transform = (op.name or "").startswith("transformWithState")
    schemas = [file for file in op.own_files if file.kind == "schema"]
    if s.version < V40 or s.first_batch == 0 or not (is_transform or schemas):
        return None
    reason = "STATE_DEFINITION_UNREADABLE"
    if not any(file.kind == "metadata" for file in op.own_files):
        at = Evidence(f"state/{op.operator_id}/_metadata")
        details = {"batch": s.first_batch, "operator": op.operator_id}
        return failed(
            s,
            "operator_metadata_missing",
            reason,
            say("forecast_steps.operator_metadata_needed", at=str(at)),
            at,
            details=details,
        )
    present = {file.path for file in schemas}
    for path in _schema_paths(op):
        own = _below(path, s.location)
        if own is None:  # a copy of a checkpoint reads the files of the original
            return Verdict(not_checked=(say("forecast_steps.open_schema_elsewhere", path=path),))
        if own not in present:
            why = say("forecast_steps.schema_file_needed", path=own)
            return failed(s, "schema_file_missing", reason, why, Evidence(own), details={"file": path})
    return None


def _schema_paths(op: OperatorState) -> list[str]:
    """The absolute paths of the schema files that the operator metadata names."""
    lines = (op.metadata_raw or "").split("\n")
    try:
        stores = parse_object(lines[1]).get("stateStoreInfo") if len(lines) > 1 else None
    except ValueError:
        return []
    named = (
        [store.get("stateSchemaFilePaths") for store in stores if isinstance(store, dict)]
        if isinstance(stores, list)
        else []
    )
    return [path for paths in named if isinstance(paths, list) for path in paths if isinstance(path, str)]


def _below(path: str, location: str) -> str | None:
    """A path below the checkpoint, relative to it; None when it lies elsewhere. The two may be spelled
    differently (file:/x, /x)."""
    plain, root = urlsplit(path).path or path, (urlsplit(location).path or location).rstrip("/") + "/"
    return plain[len(root) :] if plain.startswith(root) else None


def _before_operator_metadata(
    s: RestartContext, asked: dict[int, str], operators: tuple[OperatorState, ...]
) -> Verdict:
    """To 3.5 nothing compares operators: one that is gone is not missed, another one in its place does not
    fit the schema of its state."""
    if operators and not asked:
        effects = [AGAIN if (op.name or "").startswith("dedupe") else LOST for op in operators]
        data = DataEffect()
        for effect in effects:
            data = data.plus(effect)
        sentence = say("forecast_steps.state_dropped", spark=s.version)
        return Verdict(risks=(Risk("STATE_DROPPED", sentence, (Evidence("state"),), data),))
    other = next(
        (op for op in operators if op.name is not None and asked.get(op.operator_id, op.name) != op.name),
        None,
    )
    if other is not None:
        now = asked[other.operator_id]
        why = say("forecast_steps.operator_replaced", operator_id=other.operator_id, name=other.name, now=now)
        return failed(
            s,
            "key_schema",
            "OPERATORS_DIFFER",
            why,
            Evidence(f"state/{other.operator_id}"),
            certainty="inferred",
        )
    return Verdict(
        "cannot_be_judged",
        note=say("forecast_steps.operators_not_compared", spark=s.version),
        certainty="needs_input",
    )


def check_folder(s: RestartContext) -> Verdict:
    """``state/`` must be there and hold something for every batch after batch 0 (4.2 and newer say so; older
    ones fail at the files)."""
    if not s.is_stateful:
        newest = s.commit(s.c)
        if s.query.operators is None and isinstance(newest, CommitEntry) and newest.next_watermark_ms:
            note = say("forecast_steps.open_stateful")
            return Verdict("does_not_apply", note=say("forecast_steps.stateless"), not_checked=(note,))
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    if s.first_batch == 0:
        return Verdict("does_not_apply", note=say("forecast_steps.batch_0_needs_no_state"))
    if s.checkpoint.has_state and not s.state_is_empty:
        return Verdict(evidence=(Evidence("state"),))
    added = not s.checkpoint.has_state and s.query.operators is not None
    why = say("forecast_steps.state_folder_added" if added else "forecast_steps.state_folder")
    on_rocksdb = s.newest is not None and "RocksDB" in s.newest.conf.get(PROVIDER, "")
    error = "state_folder_missing_rocksdb" if on_rocksdb else "state_folder_missing"
    certainty: Certainty = (
        "certain" if s.checkpoint.has_state or s.query.operators is not None else "inferred"
    )
    return failed(s, error, "STATE_FOLDER_MISSING", why, Evidence("state"), certainty=certainty)


def check_settings(s: RestartContext) -> Verdict:
    """The settings that offsets/N pins: they win over the session's, and one that is absent has an old
    default."""
    newest, before = s.newest, s.offset_entry(s.previous)
    if not s.is_stateful:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    if newest is None:
        return Verdict("cannot_be_judged", note=say("forecast_steps.no_newest_offsets"))
    if before is None:
        return Verdict("does_not_apply", note=say("forecast_steps.no_earlier_configs"))
    at = Evidence(newest.evidence.path, 2)
    was, now = before.conf.get(AGGREGATION, "1"), newest.conf.get(AGGREGATION, "1")
    aggregates = s.checkpoint.has_state and any(
        op.name == "stateStoreSave" for op in state_inventory(s.checkpoint).operators
    )
    if was != now and aggregates:
        why = say(
            "forecast_steps.aggregation_format", at=str(at), now=now, before=before.evidence.path, was=was
        )
        return failed(s, "value_schema", "SETTINGS_CHANGED", why, at)
    partitions = [plain_number(entry.conf.get(PARTITIONS, "")) for entry in (before, newest)]
    if (
        None not in partitions
        and partitions[0] != partitions[1]
        and s.n is not None
        and not s.checkpoint.is_repartition(s.n)
    ):
        sentence = say(
            "forecast_steps.partitions_differ",
            at=str(at),
            now=partitions[1],
            before=before.evidence.path,
            was=partitions[0],
        )
        return Verdict(evidence=(at,), risks=(Risk("SETTINGS_CHANGED", sentence, (at,), LOST),))
    return Verdict(evidence=(at,))


def check_schema(s: RestartContext) -> Verdict:
    """``state/<op>/0/[<store>/]_metadata/schema``: missing is silently written; empty or cut ends the
    batch."""
    if not s.checkpoint.has_state:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    operators = state_inventory(s.checkpoint).operators
    schemas = [f for op in operators for part in op.partitions for f in part.files if f.kind == "schema"]
    read = {op.operator_id: read_schemas(s.checkpoint, op.operator_id) for op in operators}
    for item in (item for items in read.values() for item in items):
        if isinstance(item, Problem) and item.condition in ("empty", "truncated"):
            why = say(
                "forecast_steps.schema_empty"
                if item.condition == "empty"
                else "forecast_steps.schema_truncated",
                path=item.evidence.path,
            )
            # Spark does not write those with column families a second time, so what to do is another thing.
            finding_id = (
                "STATE_DEFINITION_UNREADABLE"
                if "/_stateSchema/" in item.evidence.path
                else "STATE_SCHEMA_UNREADABLE"
            )
            return failed(s, "schema_cut", finding_id, why, item.evidence)
    if not schemas:
        return Verdict(note=say("forecast_steps.no_schema"), certainty="inferred")
    evidence = tuple(Evidence(file.path) for file in schemas[:4])
    open_ends = [say("forecast_steps.open_schema")]
    for op in operators:
        strict = _strict_join(s, op, read[op.operator_id])
        if strict is None:
            continue
        idle = (
            [part.key for part in ranges(s) if part.end_text is not None and not part.differs]
            if s.runs_again
            else []
        )
        if idle:
            return _join_without_rows(s, op, strict, idle)
        if not s.runs_again:
            open_ends.append(
                say(
                    "forecast_steps.open_join",
                    operator_id=op.operator_id,
                    batch_id=s.first_batch,
                    spark=s.version,
                )
            )
    return Verdict(evidence=evidence, not_checked=tuple(open_ends))


def _strict_join(
    s: RestartContext, op: OperatorState, schemas: tuple[StateSchema | Problem, ...]
) -> StateSchema | None:
    """The schema of a side of a join that a batch without rows does not fit; None when there is none.

    The columns that the join needs are not null in the state; the plan of a side without rows has lost that,
    and up to 3.5 the two do not fit (seen with 3.5; 4.0 runs such a batch). The schema is compared in the
    first batch after a start.
    """
    if op.name != "symmetricHashJoin" or s.version >= V40:
        return None
    rows = (
        item
        for item in schemas
        if isinstance(item, StateSchema) and item.store.endswith("keyWithIndexToValue")
    )
    return next((item for item in rows if _has_required_column(item)), None)


def _has_required_column(schema: StateSchema) -> bool:
    fields = schema.value.get("fields")
    return isinstance(fields, list) and any(
        isinstance(field, dict) and field.get("nullable") is False for field in fields
    )


def _join_without_rows(s: RestartContext, op: OperatorState, strict: StateSchema, idle: list[str]) -> Verdict:
    at = s.newest.evidence if s.newest is not None else Evidence(f"offsets/{s.n}")
    why = say(
        "forecast_steps.join_without_rows",
        batch_id=s.n,
        keys=idle,
        operator_id=op.operator_id,
        path=strict.evidence.path,
    )
    return failed(
        s, "value_schema", "JOIN_BATCH_WITHOUT_ROWS", why, strict.evidence, at, certainty="inferred"
    )


def check_files(s: RestartContext) -> Verdict:
    """Every partition of every store must be able to load the version that the first batch starts from."""
    if not s.checkpoint.has_state or not s.is_stateful:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    version = s.first_batch
    newest = s.commit(s.c)
    hdfs = next((op for op in state_inventory(s.checkpoint).operators if op.provider == "hdfs"), None)
    if (
        hdfs is not None
        and isinstance(newest, CommitEntry)
        and newest.format_version == 2
        and s.version >= V43
    ):
        why = say("forecast_steps.ids_not_supported", path=newest.evidence.path)
        return failed(
            s,
            "checkpoint_ids_not_supported",
            "STATE_IDS_OF_ANOTHER_VERSION",
            why,
            Evidence(newest.evidence.path, 1),
        )
    if version == 0:
        return Verdict("does_not_apply", note=say("forecast_steps.batch_0_empty_state"))
    ids = _ids_of(s, version)
    for op in state_inventory(s.checkpoint).operators:
        if op.format_version == 2:
            verdict = _without_ids(s, op) if s.ids_are_missing else _ids_of_another_version(s, op, version)
            if verdict is not None:
                return verdict
        for partition_id in expected_partition_ids(op):
            for store in op.stores:
                verdict = _one_store(s, op, partition_id, store, version, ids)
                if verdict is not None:
                    return verdict
    return Verdict(evidence=(Evidence("state"),), not_checked=(say("forecast_steps.open_contents"),))


def _ids_of(s: RestartContext, version: int) -> CommittedIds:
    commit = s.commit(version - 1)
    entries = {commit.batch_id: commit.state_unique_ids} if isinstance(commit, CommitEntry) else {}
    return CommittedIds(entries)


def _without_ids(s: RestartContext, op: OperatorState) -> Verdict:
    """Format 2 whose newest commit names no files: Spark looks for names without ids, from version 1 on."""
    newest = s.commit(s.c)
    why = (
        say("forecast_steps.ids_missing", operator_id=op.operator_id, path=newest.evidence.path)
        if newest is not None
        else say("forecast_steps.ids_missing_no_commit", operator_id=op.operator_id)
    )
    path = f"state/{op.operator_id}/0/1.changelog"
    details = {"file": f"{s.location}/{path}", "zip": f"{s.location}/{path}"}
    evidence = newest.evidence if newest is not None else Evidence("commits")
    return failed(s, "rocksdb_missing", "STATE_IDS_OF_ANOTHER_VERSION", why, evidence, details=details)


def _ids_of_another_version(s: RestartContext, op: OperatorState, version: int) -> Verdict | None:
    """Format 2 takes the ids of the NEWEST commit, whatever version it needs; with commits missing they are
    another one's."""
    newest = s.commit(s.c)
    if s.c is None or s.c == version - 1 or not isinstance(newest, CommitEntry):
        return None
    if s.c >= version and not s.runs_again:
        return None
    unique_id = next(
        (stores[0] for stores in newest.state_unique_ids.get(str(op.operator_id), ()) if stores), "<id>"
    )
    file = f"state/{op.operator_id}/0/{version}_{unique_id}.changelog"
    why = say(
        "forecast_steps.ids_of_another_version",
        batch_id=s.first_batch,
        version=version,
        commit=s.c,
        other=s.c + 1,
    )
    details = {"file": f"{s.location}/{file}"}
    return failed(
        s, "commit_ids_other_version", "STATE_IDS_OF_ANOTHER_VERSION", why, newest.evidence, details=details
    )


def _one_store(
    s: RestartContext, op: OperatorState, partition_id: int, store: str, version: int, ids: CommittedIds
) -> Verdict | None:
    missing = first_missing(op, partition_id, store, version, ids)
    place = (
        say("forecast_steps.place", operator_id=op.operator_id, partition_id=partition_id)
        if store == DEFAULT_STORE
        else say(
            "forecast_steps.place_store", operator_id=op.operator_id, partition_id=partition_id, store=store
        )
    )
    if missing is not None:
        path = missing.removesuffix(" (0 bytes)")
        if path.endswith("/"):
            path += _first_name(op, partition_id, store, version, ids)
        is_empty = missing.endswith(" (0 bytes)")
        why = say(
            "forecast_steps.state_empty" if is_empty else "forecast_steps.state_missing",
            version=version,
            place=place,
            path=path,
        )
        if is_empty:
            return failed(s, _damage_error(path), "STATE_NOT_RESTORABLE", why, Evidence(path))
        return failed(s, *_missing_error(op), why, Evidence(path), details=_names(s, path, version))
    damaged = _damaged_snapshot(op, partition_id, store, version)
    if damaged is not None and s.version < V42:
        why = say(
            "forecast_steps.snapshot_empty",
            path=damaged.path,
            place=place,
            version=version,
            spark=s.version,
        )
        return failed(s, _damage_error(damaged.path), "STATE_NOT_RESTORABLE", why, Evidence(damaged.path))
    return None


def _first_name(op: OperatorState, partition_id: int, store: str, version: int, ids: CommittedIds) -> str:
    """The file that Spark names when a whole directory is gone: the first of the chain; in format 2 the
    newest, which tells the chain."""
    if op.provider == "hdfs":
        return "1.delta"
    unique_id = (
        ids.of(op.operator_id, partition_id, op.stores.index(store)).get(version)
        if op.format_version == 2
        else None
    )
    return f"{version}_{unique_id}.changelog" if unique_id else "1.changelog"


def _damage_error(path: str) -> str:
    return "state_zip_damaged" if path.endswith(".zip") else "state_file_damaged"


def _missing_error(op: OperatorState) -> tuple[str, str]:
    return ("delta_missing" if op.provider == "hdfs" else "rocksdb_missing", "STATE_NOT_RESTORABLE")


def _names(s: RestartContext, path: str, version: int) -> dict[str, object]:
    """Spark names a changelog even where the zip is what is missing."""
    named = path.removesuffix(".zip") + ".changelog" if path.endswith(".zip") else path
    zip_path = path.rsplit("/", 1)[0] + f"/{version}.zip"
    return {"file": f"{s.location}/{named}", "zip": f"{s.location}/{zip_path}"}


def _damaged_snapshot(op: OperatorState, partition_id: int, store: str, version: int) -> StateFile | None:
    files = [f for p in op.partitions if p.partition_id == partition_id and p.store == store for f in p.files]
    full = [
        (f.version, f)
        for f in files
        if f.kind in ("snapshot", "zip") and f.version is not None and f.version <= version
    ]
    newest = max(full, key=lambda pair: pair[0], default=None)
    return newest[1] if newest is not None and newest[1].size_bytes == 0 else None
