"""The state steps of the first batch behind the operators: the state folder, the state
schemas, the state files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.errors import spark_error
from core.analysis.forecast.join_schema import store_of_another_kind, strict_join, without_rows
from core.analysis.forecast.left_checksums import left_checksum
from core.analysis.forecast.lineage import check_lineage
from core.analysis.forecast.model import Damage, Risk
from core.analysis.forecast.operators import missing_file_error
from core.analysis.forecast.ranges import ranges
from core.analysis.forecast.source_logs import lost_entry
from core.analysis.forecast.stale_snapshots import stale_snapshots
from core.analysis.forecast.state_settings import check_store, unknown_store
from core.analysis.forecast.state_zips import check_sst_files
from core.analysis.forecast.step_verdict import Verdict, failed, unread
from core.analysis.forecast.versions import V40, V42, V43, Version
from core.checkpoint.model import CommitEntry, OperatorState, StateFile
from core.checkpoint.restore_chain import (
    CommittedIds,
    expected_partition_ids,
    first_missing,
    has_families,
)
from core.checkpoint.state import read_schemas, state_inventory
from core.checkpoint.state_names import DEFAULT_STORE
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence, Problem

_FILE_NAME = re.compile(r"[^/\s]+\.(?:delta|snapshot|changelog|zip)\b")

_FIRST_ZIP = re.compile(r"1(_[^./]+)?\.zip")


def check_folder(s: RestartContext) -> Verdict:
    """``state/`` must be there and hold something for every batch after batch 0 (4.2 and newer say so; older
    ones fail at the files)."""
    if not s.is_stateful:
        return _taken_as_stateless(s)
    if s.loading.first_batch == 0:
        return Verdict("does_not_apply", note=say("forecast_steps.batch_0_needs_no_state"))
    if s.checkpoint.has_state and not s.state_is_empty:
        if state_inventory(s.checkpoint).operators:
            return Verdict(evidence=(Evidence("state"),))
        left = left_checksum(s) if s.version >= V40 else None
        if left is not None:
            return left
        why = say("forecast_steps.state_without_files")
        if s.renamed_state is not None:
            why = say("forecast_steps.state_operator_renamed", directory=s.renamed_state)
        known: Certainty = "certain" if s.query.operators is not None else "inferred"
        at = Evidence(s.renamed_state or "state")
        return failed(s.loading, missing_file_error(s), "STATE_FOLDER_MISSING", why, at, certainty=known)
    added = not s.checkpoint.has_state and s.query.operators is not None
    why = say("forecast_steps.state_folder_added" if added else "forecast_steps.state_folder")
    if s.renamed_state is not None:
        why = say("forecast_steps.state_folder_renamed", directory=s.renamed_state)
    certainty: Certainty = (
        "certain" if s.checkpoint.has_state or s.query.operators is not None else "inferred"
    )
    if s.version >= V42 and s.first_batch:  # looked for while the batch is planned
        return failed(
            s, "state_folder_missing", "STATE_FOLDER_MISSING", why, Evidence("state"), certainty=certainty
        )
    return failed(
        s.loading, missing_file_error(s), "STATE_FOLDER_MISSING", why, Evidence("state"), certainty=certainty
    )


def _taken_as_stateless(s: RestartContext) -> Verdict:
    """That no state is needed, and what leaves it open where nobody said what the query has."""
    note = say("forecast_steps.stateless")
    if s.query.operators is not None:
        return Verdict("does_not_apply", note=note)
    certainty: Certainty = "needs_input"
    if s.has_only_foreign_state:
        question = say("forecast_steps.open_foreign_state")
    elif s.lacks_suggested_state:
        question = say("forecast_steps.open_stateful")
    elif s.may_lack_state:
        question = say("forecast_steps.open_state_removed")
    elif s.loading.first_batch == 0:
        return Verdict("does_not_apply", note=note)
    else:
        question, certainty = say("forecast_steps.open_stateless"), "certain"
    return Verdict("does_not_apply", note=note, certainty=certainty, not_checked=(question,))


def check_schema(s: RestartContext) -> Verdict:
    """``state/<op>/0/[<store>/]_metadata/schema``: missing is silently written; empty or cut ends the
    batch."""
    if not s.checkpoint.has_state:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    left = left_checksum(s)
    if left is not None:
        return _beside_tasks(s, left)
    operators = state_inventory(s.checkpoint).operators
    schemas = [
        file
        for op in operators
        for file in (*op.own_files, *(f for part in op.partitions for f in part.files))
        if file.kind == "schema"
    ]
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
            return _beside_tasks(s, failed(s, "schema_cut", finding_id, why, item.evidence))
        if isinstance(item, Problem) and item.condition == "bad_shape":
            why = say("forecast_steps.definition_damaged", path=item.evidence.path, clause=item.clause)
            return failed(s, "schema_no_type", "STATE_SCHEMA_UNREADABLE", why, item.evidence)
        if isinstance(item, Problem) and item.condition == "unknown_version":
            highest, version = 3 if s.version >= V40 else 2, item.raw[2:20].decode("utf-8", "replace")
            why = say("forecast_steps.schema_version", path=item.evidence.path, clause=item.clause)
            details = {"highest": highest, "version": version.removeprefix("v").split("\0")[0]}
            return failed(s, "schema_version", "STATE_SCHEMA_UNREADABLE", why, item.evidence, details=details)
    damaged = [d for d in s.contents.damage if d.id in _DEFINITIONS] if s.contents is not None else []
    if damaged:
        return _stopped_by(s, damaged[0])
    swapped = next((found for op in operators if (found := store_of_another_kind(s, op))), None)
    if swapped is not None:
        return _beside_tasks(s, swapped)
    if not schemas:
        return Verdict(note=say("forecast_steps.no_schema"), certainty="inferred")
    evidence = tuple(Evidence(file.path) for file in schemas[:4])
    open_ends = [say("forecast_steps.open_schema")]
    for op in operators:
        strict = strict_join(s, op, read[op.operator_id])
        if strict is None:
            continue
        idle = [
            part.key
            for part in ranges(s)
            if (
                part.end_text is not None and not part.differs
                if s.runs_again
                else s.query.new_data != "no" and bool(lost_entry(s, part))
            )
        ]
        if idle:
            return without_rows(s, op, strict, idle)
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


def _beside_tasks(s: RestartContext, verdict: Verdict) -> Verdict:
    """To 3.5 the task of partition 0 reads the schema, while those of the others load their files."""
    if s.version >= V40 or s.first_batch == 0:
        return verdict
    ids = _ids_of(s, s.first_batch)
    others = [
        other
        for op in state_inventory(s.checkpoint).operators
        for partition_id, other in _failures(s, op, s.first_batch, ids)
        if partition_id != 0
    ]
    return _one_of([verdict, *others], s.version)


def check_files(s: RestartContext) -> Verdict:
    """Every partition of every store must be able to load the version that the first batch which reads
    anything starts from."""
    if not s.checkpoint.has_state or not s.is_stateful:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    verdict = unknown_store(s)
    if verdict is not None:
        return verdict
    s = s.loading
    version = s.first_batch
    verdict = check_store(s)
    if verdict is not None:
        return verdict
    if version == 0:
        return Verdict("does_not_apply", note=say("forecast_steps.batch_0_empty_state"))
    ids = _ids_of(s, version)
    newest = s.commit(s.c)
    for op in state_inventory(s.checkpoint).operators:
        if op.format_version == 2 and isinstance(newest, Problem) and newest.is_read_failure:
            return unread(newest)  # the ids stand in it
        if op.format_version == 2:
            verdict = (
                _without_ids(s, op)
                if s.ids_are_missing
                else _ids_of_fewer_partitions(s, op) or _ids_of_another_version(s, op, version)
            )
            if verdict is not None:
                return verdict
        failures = _failures(s, op, version, ids)
        if failures:
            return _one_of([verdict for _, verdict in failures], s.version)
        verdict = check_lineage(s, op, version, ids)
        if verdict is not None:
            return verdict
        verdict = check_sst_files(s, op, version, ids)
        if verdict is not None:
            return verdict
    return _contents(s)


def _failures(
    s: RestartContext, op: OperatorState, version: int, ids: CommittedIds
) -> list[tuple[int, Verdict]]:
    """The partitions that cannot load the version, with the first that is wrong in each."""
    found = []
    for partition_id in expected_partition_ids(op):
        verdicts = (_one_store(s, op, partition_id, store, version, ids) for store in op.stores)
        verdict = next((verdict for verdict in verdicts if verdict is not None), None)
        if verdict is not None:
            found.append((partition_id, verdict))
    return found


def _one_of(failures: Sequence[Verdict], spark: Version) -> Verdict:
    """The failure of tasks that run side by side: the first one, with what all their errors have in common.
    Which task fails first is chance."""
    first = failures[0]
    errors = [verdict.error for verdict in failures if verdict.error is not None]
    forms = {(error.condition, error.error_class) for error in errors}
    if len(forms) > 1 and spark < V40:
        return replace(first, error=spark_error("any", spark, {}))
    names = {_FILE_NAME.search(error.message) for error in errors} if len(forms) == 1 else set()
    if first.error is None or len({name and name[0] for name in names}) < 2:
        return first
    cut = first.error.message.partition("/state/")
    return replace(first, error=replace(first.error, message=cut[0] + cut[1]))


_DEFINITIONS = ("STATE_DEFINITION_UNREADABLE", "STATE_SCHEMA_UNREADABLE")


def _contents(s: RestartContext) -> Verdict:
    """What is in the files, at the level deep: the first that stops the start, or what it does to the
    rows."""
    if s.contents is None:
        open_contents = (say("forecast_steps.open_contents"),)
        note = say("forecast_steps.not_opened")
        risks = stale_snapshots(s)
        return Verdict(evidence=(Evidence("state"),), note=note, risks=risks, not_checked=open_contents)
    for damage in s.contents.damage:
        if damage.severity == "blocks_restart" and damage.id not in _DEFINITIONS:
            return _stopped_by(s, damage)
    risks = tuple(
        Risk(damage.id, damage.sentence, damage.evidence, damage.data, damage.certainty)
        for damage in s.contents.damage
        if damage.severity == "data_risk"
    )
    risks = (*stale_snapshots(s), *risks)
    return Verdict(evidence=(Evidence("state"),), risks=risks, not_checked=s.contents.not_checked)


def _stopped_by(s: RestartContext, damage: Damage) -> Verdict:
    details = {name: f"{s.location}/{path}" for name, path in damage.details.items()}
    return failed(
        s,
        damage.error,
        damage.id,
        damage.because,
        *damage.evidence,
        details=details,
        certainty=damage.certainty,
    )


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
    # Without ids Spark takes the names of the zips for plain numbers (seen with 4.3).
    has_zips = any(f.kind == "zip" and f.unique_id for part in op.partitions for f in part.files)
    error = "state_file_damaged" if has_zips else "rocksdb_missing"
    return failed(s, error, "STATE_IDS_OF_ANOTHER_VERSION", why, evidence, details=details)


def _ids_of_fewer_partitions(s: RestartContext, op: OperatorState) -> Verdict | None:
    """Format 2 whose newest commit names files for fewer partitions than offsets/N has."""
    newest = s.commit(s.c)
    named = newest.state_unique_ids.get(str(op.operator_id), ()) if isinstance(newest, CommitEntry) else ()
    if not named or newest is None or (op.expected_partitions or 0) <= len(named):
        return None
    why = say(
        "forecast_steps.ids_of_fewer",
        path=newest.evidence.path,
        count=len(named),
        operator_id=op.operator_id,
        expected=op.expected_partitions,
    )
    details = {"count": len(named)}
    return failed(s, "ids_of_fewer", "SETTINGS_CHANGED", why, newest.evidence, details=details)


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
        if has_families(op) and _FIRST_ZIP.fullmatch(path.rpartition("/")[2]):
            return failed(
                s,
                "families_without_zip",
                "STATE_NOT_RESTORABLE",
                why,
                Evidence(path),
                certainty="certain" if s.version >= V43 else "inferred",  # run with 4.3 only
            )
        if _is_cut_off(op, path, version):
            return failed(s, "base_snapshot_missing", "STATE_NOT_RESTORABLE", why, Evidence(path))
        details = _names(s, path, version, _newest_zip(op, partition_id, store, version))
        return failed(s, *_missing_error(op), why, Evidence(path), details=details)
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


def _is_cut_off(op: OperatorState, path: str, version: int) -> bool:
    """Changelogs of format 2 without the zip that they are built on: Spark finds no base for them, and no
    file is what it misses. Where the newest version has neither, its changelog is what it misses."""
    is_newest = path.rpartition("/")[2].startswith(f"{version}_")
    return op.format_version == 2 and path.endswith(".zip") and not is_newest


def _newest_zip(op: OperatorState, partition_id: int, store: str, version: int) -> int:
    """The version of the newest zip up to ``version``, 0 without one."""
    files = (f for p in op.partitions if (p.partition_id, p.store) == (partition_id, store) for f in p.files)
    found = (f.version for f in files if f.kind == "zip" and f.version is not None and f.version <= version)
    return max(found, default=0)


def _names(s: RestartContext, path: str, version: int, newest_zip: int) -> dict[str, object]:
    """Spark names the changelog after the newest zip even where a later zip is what is missing; with ids the
    changelog of the newest version."""
    folder, _, name = path.rpartition("/")
    after = f"{name.removesuffix('.zip')}.changelog" if "_" in name else f"{newest_zip + 1}.changelog"
    named = f"{folder}/{after}" if path.endswith(".zip") else path
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
