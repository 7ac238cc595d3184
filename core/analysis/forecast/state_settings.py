"""The settings that offsets/N pins, against the state that is there: formats, number of partitions, store,
codec.

They win over the session's, so only a hand can have changed them; one that is absent has an old default. All
was observed by editing real checkpoints and starting Spark 3.5, 4.0 and 4.3 on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import DUPLICATES, EXACT, LOSS, UNKNOWN, DataEffect, Risk
from core.analysis.forecast.step_verdict import Verdict, failed
from core.analysis.forecast.versions import V41, V42, V43
from core.checkpoint.conf import ROW_CHECKSUM_KEY, codec_named
from core.checkpoint.model import CommitEntry, OffsetEntry, OperatorState
from core.checkpoint.restore_chain import store_directory
from core.checkpoint.state import CODEC_KEY, PARTITIONS_KEY, PROVIDER_KEY, provider_of_class, state_inventory
from core.checkpoint.state_names import plain_number
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence

JOIN = "symmetricHashJoin"
JOIN_FORMAT_KEY = "spark.sql.streaming.join.stateFormatVersion"
# Formats of the state's rows by the operators that they are about; what is absent is format 1.
FORMATS = {
    "stateStoreSave": "spark.sql.streaming.aggregation.stateFormatVersion",
    JOIN: JOIN_FORMAT_KEY,
}
PACKED_FILES = ("delta", "snapshot", "changelog")  # packed with the codec of the settings


def check_settings(s: RestartContext) -> Verdict:
    """The settings of offsets/N against those of the batch before, and the number of partitions against those
    that are there."""
    newest, before = s.newest, _entry_with_settings(s)
    if not s.is_stateful:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    if newest is None:
        return Verdict("cannot_be_judged", note=say("forecast_steps.no_newest_offsets"))
    at = Evidence(newest.evidence.path, 2)
    if before is not None and before.conf:
        verdict = _other_format(s, newest, before) or _other_rows(s, newest, before)
        if verdict is not None:
            return verdict
    risk = _repartitioned_join(s)
    if risk is None and before is not None:
        risk = _other_partitions(s, newest, before)
    risk = risk or next(_unread_partitions(s), None)
    if risk is not None:
        return Verdict(evidence=(at,), risks=(risk,))
    if before is None:
        return Verdict("does_not_apply", note=say("forecast_steps.no_earlier_configs"))
    return Verdict(evidence=(at,))


def _entry_with_settings(s: RestartContext) -> OffsetEntry | None:
    """offsets/N-1; the one before it when that was edited and has no settings, from which nothing follows."""
    before = s.offset_entry(s.previous)
    if before is None or before.conf:
        return before
    earlier = s.offset_entry(s.checkpoint.previous_offset_id(before.batch_id))
    return earlier if earlier is not None and earlier.conf else before


def _other_format(s: RestartContext, newest: OffsetEntry, before: OffsetEntry) -> Verdict | None:
    """Rows of another format than the state has do not fit its schema."""
    names = {op.name for op in state_inventory(s.checkpoint).operators} if s.checkpoint.has_state else set()
    for name, key in FORMATS.items():
        was, now = before.conf.get(key, "1"), newest.conf.get(key, "1")
        if was != now and name in names:
            at, why = _differs(newest, before, key, now, was)
            return failed(s, "value_schema", "SETTINGS_CHANGED", why, at)
    return None


def _differs(
    newest: OffsetEntry, before: OffsetEntry, key: str, now: str, was: str
) -> tuple[Evidence, Sentence]:
    """Where offsets/N has a setting that offsets/N-1 had otherwise, and the sentence that says so."""
    at = Evidence(newest.evidence.path, 2)
    why = say(
        "forecast_steps.state_format_differs",
        at=str(at),
        key=key,
        now=now,
        before=before.evidence.path,
        was=was,
    )
    return at, why


def _other_rows(s: RestartContext, newest: OffsetEntry, before: OffsetEntry) -> Verdict | None:
    """Row checksums: rows without them cannot be read once they are asked for, and the other way round."""
    was, now = (entry.conf.get(ROW_CHECKSUM_KEY, "false") for entry in (before, newest))
    if was == now or s.version < V42 or not s.checkpoint.has_state or s.first_batch == 0:
        return None
    at, why = _differs(newest, before, ROW_CHECKSUM_KEY, now, was)
    if now == "true":
        return failed(s, "state_file_damaged", "SETTINGS_CHANGED", why, at)
    return Verdict("cannot_be_judged", (at,), why, "needs_input", not_checked=(why,))


def _other_partitions(s: RestartContext, newest: OffsetEntry, before: OffsetEntry) -> Risk | None:
    was, now = (plain_number(entry.conf.get(PARTITIONS_KEY, "")) for entry in (before, newest))
    if None in (was, now) or was == now or s.n is None or s.checkpoint.is_repartition(s.n):
        return None
    at = Evidence(newest.evidence.path, 2)
    sentence = say(
        "forecast_steps.partitions_differ", at=str(at), now=now, before=before.evidence.path, was=was
    )
    return Risk("SETTINGS_CHANGED", sentence, (at,), _forgotten(s))


def _repartitioned_join(s: RestartContext) -> Risk | None:
    """A join with state format 4 whose partitions Spark has moved, before a batch with data ran on it: Spark
    leaves values of it that the query cannot decode (12 runs of Spark 4.3.0 with formats 2, 3 and 4; all of
    those with 4 failed in the first batch that met such rows)."""
    ck, batch = s.checkpoint, s.n
    while batch is not None and ck.is_no_data(batch) and not ck.is_repartition(batch):
        batch = ck.previous_offset_id(batch)
    if batch is None or not ck.is_repartition(batch):
        return None
    entry = s.offset_entry(batch)
    if entry is None or entry.conf.get(JOIN_FORMAT_KEY) != "4" or not ck.has_state:
        return None
    operators = [op.operator_id for op in state_inventory(ck).operators if op.name == JOIN]
    if not operators:
        return None
    at = Evidence(entry.evidence.path, 2)
    sentence = say("forecast_steps.join_repartitioned", at=str(at), batch=batch, operator_id=operators[0])
    return Risk("JOIN_REPARTITIONED", sentence, (at,), UNKNOWN, "inferred")


def _unread_partitions(s: RestartContext) -> Iterator[Risk]:
    """Partitions beyond the number that have the version which the first batch loads: their rows belong to
    this state, and are not read. What a repartition leaves behind ends before that version."""
    if not s.checkpoint.has_state or s.from_scratch:
        return
    for op in state_inventory(s.checkpoint).operators:
        extra = extra_partitions(op, s.loading.first_batch)
        if extra:
            sentence = say(
                "forecast_steps.partitions_unread",
                operator_id=op.operator_id,
                extra=len(extra),
                expected=op.expected_partitions,
                first=extra[0],
                version=s.loading.first_batch,
            )
            at = Evidence(f"state/{op.operator_id}/{extra[0]}")
            yield Risk("EXTRA_PARTITIONS", sentence, (at,), _forgotten(s, op), "inferred")


def extra_partitions(op: OperatorState, version: int) -> list[int]:
    """The ids of partitions that the recorded number does not reach and that have state of ``version``."""
    expected = op.expected_partitions
    if expected is None or version == 0:
        return []
    return sorted(
        {
            part.partition_id
            for part in op.partitions
            if part.partition_id >= expected and (part.newest_version or 0) >= version
        }
    )


def _forgotten(s: RestartContext, *operators: OperatorState) -> DataEffect:
    """What can follow when rows of the state are not found: a deduplication lets rows through again, every
    other operator begins its results from scratch."""
    data = EXACT
    for op in operators or state_inventory(s.checkpoint).operators:
        data = data.plus(DUPLICATES if (op.name or "").startswith("dedupe") else LOSS)
    return data.may()


def check_store(s: RestartContext) -> Verdict | None:
    """The store and the codec that offsets/N names, against the files: None when they fit, or nothing tells.

    Spark looks for the files of the store that is named there, from version 1 on.
    """
    newest = s.newest
    operators = state_inventory(s.checkpoint).operators
    if newest is None or not operators:
        return None
    named = provider_of_class(newest.conf.get(PROVIDER_KEY))
    commit = s.commit(s.c)
    uses_hdfs = named == "hdfs" if named is not None else any(op.provider == "hdfs" for op in operators)
    if uses_hdfs and isinstance(commit, CommitEntry) and commit.format_version == 2 and s.version >= V43:
        why = say("forecast_steps.ids_not_supported", path=commit.evidence.path)
        at = Evidence(commit.evidence.path, 1)
        return failed(s, "checkpoint_ids_not_supported", "STATE_IDS_OF_ANOTHER_VERSION", why, at)
    if s.first_batch == 0:
        return None
    verdict = _ids_without_files(s)
    if verdict is not None:
        return verdict
    other = next((op for op in operators if op.partitions and named not in (None, op.provider)), None)
    if other is not None and other.provider != "unknown":
        at = Evidence(newest.evidence.path, 2)
        found = other.provider
        why = say("forecast_steps.store_differs", at=str(at), named=named, found=found, version=s.first_batch)
        error = "delta_missing" if named == "hdfs" else "rocksdb_missing"
        if named == "hdfs" and other.format_version == 2 and s.version < V41:
            error = "ids_over_hdfs"
        details = _first_file(s, other, named)
        return failed(s, error, "SETTINGS_CHANGED", why, at, Evidence(_place(other)), details=details)
    return _other_codec(s, newest)


def _ids_without_files(s: RestartContext) -> Verdict | None:
    """A commit of version 2 over RocksDB files without ids: the batch is computed, and its state cannot be
    committed."""
    commit = s.commit_entry(s.c)
    if commit is None or commit.format_version != 2 or commit.state_unique_ids or s.version < V43:
        return None
    operators = state_inventory(s.checkpoint).operators
    if not any(op.provider == "rocksdb" and op.format_version == 1 and op.partitions for op in operators):
        return None
    why = say("forecast_steps.commit_ids_without_files", path=commit.evidence.path)
    at = Evidence(commit.evidence.path, 1)
    return failed(s, "commit_ids_without_files", "STATE_IDS_OF_ANOTHER_VERSION", why, at)


def unknown_store(s: RestartContext) -> Verdict | None:
    """A class that only offsets/N names and that is none of Spark's: nothing says that it exists. It is
    looked up while the batch is planned."""
    newest, before = s.newest, s.offset_entry(s.previous)
    named = newest.conf.get(PROVIDER_KEY) if newest is not None else None
    if newest is None or before is None or named is None or provider_of_class(named) is not None:
        return None
    was = before.conf.get(PROVIDER_KEY)
    if was is None or was == named:
        return None
    at, why = _differs(newest, before, PROVIDER_KEY, named, was)
    return failed(
        s, "class_not_found", "SETTINGS_CHANGED", why, at, details={"name": named}, certainty="inferred"
    )


def _place(op: OperatorState) -> str:
    return store_directory(op.operator_id, op.partitions[0].partition_id, op.stores[0])


def _first_file(s: RestartContext, op: OperatorState, named: str | None) -> Mapping[str, object]:
    """The file that Spark misses first: that of version 1."""
    directory = f"{s.location}/{_place(op)}"
    return {
        "file": f"{directory}/1.{'delta' if named == 'hdfs' else 'changelog'}",
        "zip": f"{directory}/{s.first_batch}.zip",
    }


def _other_codec(s: RestartContext, newest: OffsetEntry) -> Verdict | None:
    """A codec that only offsets/N names: the files are packed with the one before. Zips know none."""
    before = s.offset_entry(s.previous)
    if before is None:
        return None
    was, now = (codec_named(entry.conf.get(CODEC_KEY)) for entry in (before, newest))
    packed = next((path for op in state_inventory(s.checkpoint).operators for path in _packed(s, op)), None)
    if was == now or packed is None:
        return None
    at = Evidence(newest.evidence.path, 2)
    why = say(
        "forecast_steps.codec_differs", at=str(at), now=str(now), before=before.evidence.path, was=str(was)
    )
    error = {"zstd": "state_not_zstd", "lz4": "state_not_lz4"}.get(now or "", "state_not_of_codec")
    return failed(s, error, "SETTINGS_CHANGED", why, at, Evidence(packed))


def _packed(s: RestartContext, op: OperatorState) -> Iterator[str]:
    """Files that Spark unpacks for the version of the first batch: changes after the newest zip, or all of
    an HDFS-backed store."""
    for part in op.partitions:
        loaded = [f for f in part.files if f.version is not None and f.version <= s.first_batch]
        zips = max((f.version or 0 for f in loaded if f.kind == "zip"), default=0)
        for file in loaded:
            if file.kind in PACKED_FILES and (file.version or 0) > zips:
                yield file.path
