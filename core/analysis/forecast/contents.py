"""The level deep: what is inside the state files, and whether every file is the one its checksum was written
for.

Facts come from ``core.checkpoint.state_content``; what Spark does with a damaged state file is judged in
``damaged_files``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from core.analysis.forecast.damaged_files import SHOWN, damaged_files
from core.analysis.forecast.join_damage import damaged_joins
from core.analysis.forecast.misplaced_rows import misplaced_rows, wrong_state
from core.analysis.forecast.model import UNKNOWN, Damage, DataEffect
from core.analysis.forecast.replaced_files import batch_before_file, replaced_files
from core.analysis.forecast.skipped import skipped_up_to
from core.analysis.forecast.versions import V40, Version
from core.checkpoint import Checkpoint
from core.checkpoint.conf import ROW_CHECKSUM_KEY
from core.checkpoint.model import OffsetEntry, OperatorState
from core.checkpoint.operator_metadata import StateSchema, parse_operator_metadata, parse_schemas
from core.checkpoint.state import (
    committed_ids,
    read_definitions,
    read_schemas,
    state_checksums,
    state_inventory,
)
from core.checkpoint.state_content.checksums import Mismatch, hidden_name, verify_hidden
from core.checkpoint.state_content.inspection import Inspection, Progress, StoreFacts, inspect_stores
from core.checkpoint.state_content.placement import Placement, placement
from core.connectors.model import SinkState
from core.messages import say
from core.sparklogs.evidence import Evidence, Problem
from core.storage import FileInfo

PARTITIONS_KEY = "spark.sql.shuffle.partitions"

CONTENTS = "contents"  # the slot of a checkpoint that keeps what was read
_LOGS = ("offsets", "commits")
_FILES_AT_ONCE = 1_000  # log files that are read together


@dataclass(frozen=True, slots=True)
class ContentReport:
    """What the contents show, and what was and was not looked at."""

    damage: tuple[Damage, ...]
    checked: tuple[str, ...]
    not_checked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContentFacts:
    """What one reading of every state file gave, under no Spark's rules yet.

    ``version`` is the state version that the next batch loads, None when nothing was decoded;
    ``altered_logs`` are log files that do not match their hidden checksum, ``unread_logs`` counts those that
    were not reached.
    """

    version: int | None
    inspection: Inspection
    stores: tuple[StoreFacts, ...]
    altered_logs: tuple[str, ...]
    unread_logs: int
    unplaced: tuple[str, ...]


def loaded_version(ck: Checkpoint, sink: SinkState | None = None) -> int | None:
    """The state version that is loaded first: N when batch N runs (again), N + 1 when N is committed, and the
    one behind the batches that the sink is known to skip. None without logs."""
    last = skipped_up_to(ck, sink)
    if last is not None:
        return last + 1
    following = ck.next_batch
    if following.newest_offset is not None:
        return following.batch_id
    return None if following.newest_commit is None else following.newest_commit + 1


def read_contents(
    ck: Checkpoint,
    sink: SinkState | None = None,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> ContentFacts:
    """Decodes every state file that the retained versions up to the one that is loaded first need, each once,
    and verifies both kinds of checksum.

    ``seconds``: the time it may take; what was not reached is named. ``progress`` gets the state files done
    and all of them. Files that a running query changed or removed meanwhile are looked at a second time, and
    only what is still so is reported. Raises StorageError when the location cannot be read.
    """
    ends_at = None if seconds is None else clock() + seconds

    def is_over() -> bool:
        return ends_at is not None and clock() >= ends_at

    logs = _logs(ck)
    version = loaded_version(ck, sink)
    altered, unread = _altered_logs(ck, logs, is_over)
    if altered:  # a running query may have been between the two files
        again = set(_altered_logs(ck, _logs(ck.refresh()), lambda: False)[0])
        altered = [path for path in altered if path in again]
    if not ck.has_state or version is None:
        return ContentFacts(None, Inspection((), 0), (), tuple(altered), unread, ())
    places, unplaced = _placements(ck)
    look = _Look(ck, version, places, is_over, progress)
    inspection = look.everything()
    facts = tuple(look.confirmed(inspection))
    return ContentFacts(version, inspection, facts, tuple(altered), unread, tuple(unplaced))


def judge_contents(
    ck: Checkpoint, facts: ContentFacts, spark: Version, *, reported: frozenset[str] = frozenset()
) -> ContentReport:
    """What the contents mean for a start of ``spark``. ``reported``: paths that other findings name."""
    found: list[Damage] = []
    checked: list[str] = []
    not_checked: list[str] = []
    altered = list(facts.altered_logs)
    stores = facts.stores
    if facts.version is not None:
        found += _definitions(ck, spark, reported)
        needed = needed_files(stores, facts.version)
        altered += [path for item in stores for path in _altered_state(item)]
        found += damaged_files(ck, stores, facts.version, spark, reported)
        misplaced, unexplained = misplaced_rows(stores)
        found += [*_altered_values(stores, needed), *_differing(stores, needed), *misplaced]
        found += damaged_joins(stores, _schemas(ck), evicts=_may_have_watermark(ck))
        found += replaced_files(ck, stores, needed, _older_state)
        checked += _checked(facts.inspection, stores)
        not_checked += [*_not_checked(ck, facts.inspection, stores), *facts.unplaced]
        not_checked += unexplained
    elif ck.has_state:
        not_checked.append(say("findings_checks.unchecked_no_version"))
    if altered:
        found.append(_altered(altered))
    if facts.unread_logs:
        not_checked.append(say("findings_checks.unchecked_hidden", files=facts.unread_logs))
    else:
        checked.append(say("findings_checks.checked_hidden"))
    return ContentReport(tuple(found), tuple(checked), tuple(dict.fromkeys(not_checked)))


def needed_files(stores: Sequence[StoreFacts], version: int) -> frozenset[str]:
    """The files that a start at a state version loads, by path: of each store the newest full one and the
    changes after it."""
    found: set[str] = set()
    for item in stores:
        steps = [step for step in item.store.steps if step.version <= version]
        start = max((step.version for step in steps if step.full is not None), default=0)
        for step in steps:
            file = step.full if step.version == start else step.change if step.version > start else None
            found |= {file.path} if file is not None else set()
    return frozenset(found)


def _older_state(operator: OperatorState) -> DataEffect:
    """What older rows in the state can do: an aggregation closes a window twice, or without its rows."""
    return UNKNOWN if operator.name == "stateStoreSave" else wrong_state(operator)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look into the state files, and a second one at what was wrong."""

    ck: Checkpoint
    version: int
    placements: Mapping[tuple[int, str], Placement]
    is_over: Callable[[], bool]
    progress: Progress | None

    def everything(self) -> Inspection:
        return self._inspect(self.ck, None, self.is_over, self.progress)

    def confirmed(self, inspection: Inspection) -> list[StoreFacts]:
        """The facts, with those of stores where something is wrong as they are after a second listing."""
        doubtful = {item.store.place for item in inspection.stores if _is_doubtful(item)}
        if not doubtful:
            return list(inspection.stores)
        fresh = self.ck.refresh()
        again = self._inspect(fresh, frozenset(doubtful), lambda: False, None)
        second = {item.store.place: item for item in again.stores}
        return [
            _in_both(item, second.get(item.store.place)) if item.store.place in doubtful else item
            for item in inspection.stores
        ]

    def _inspect(
        self,
        ck: Checkpoint,
        only: frozenset[str] | None,
        is_over: Callable[[], bool],
        progress: Progress | None,
    ) -> Inspection:
        return inspect_stores(
            ck.door,
            state_inventory(ck).operators,
            self.version,
            committed_ids(ck),
            hidden=state_checksums(ck),
            placements=self.placements,
            has_row_checksums=ck.conf.get(ROW_CHECKSUM_KEY) == "true",
            only=only,
            is_over=is_over,
            progress=progress,
        )


def _is_doubtful(facts: StoreFacts) -> bool:
    is_misplaced = facts.misplaced is not None and facts.misplaced.rows > 0
    return bool(facts.faults or facts.differing) or is_misplaced or not facts.is_settled


def _in_both(first: StoreFacts, second: StoreFacts | None) -> StoreFacts:
    """What both looks saw. A store that is gone at the second look, or keeps changing, shows nothing."""
    if second is None or not second.is_settled:
        return replace(first, faults=(), differing=(), misplaced=None, is_settled=False)
    seen = {(fault.file.path, fault.kind) for fault in first.faults}
    differing = {file.path for file in first.differing}
    faults = (
        second.faults
        if not first.is_settled
        else tuple(f for f in second.faults if (f.file.path, f.kind) in seen)
    )
    return replace(
        second,
        faults=faults,
        differing=tuple(f for f in second.differing if not first.is_settled or f.path in differing),
    )


def _logs(ck: Checkpoint) -> dict[str, FileInfo]:
    """The files of the logs by path, hidden ones included."""
    listed = ck.door.list(["", *_LOGS, *ck.source_directories]).values()
    return {path: info for item in listed for path, info in item.files.items()}


def _hidden(files: Mapping[str, FileInfo]) -> dict[str, FileInfo]:
    """Hadoop's checksum files."""
    return {
        path: info for path, info in files.items() if info.name.startswith(".") and info.name.endswith(".crc")
    }


# Rows that are not what they should be


def _differing(facts: Sequence[StoreFacts], needed: frozenset[str]) -> Iterator[Damage]:
    for operator_id in dict.fromkeys(item.store.operator.operator_id for item in facts if item.differing):
        items = [item for item in facts if item.differing and item.store.operator.operator_id == operator_id]
        files = [file for item in items for file in item.differing]
        files.sort(key=lambda file: file.path not in needed)
        sentence = (
            say("findings_checks.snapshot_differs", path=files[0].path, version=files[0].version)
            if len(files) == 1
            else say(
                "findings_checks.snapshot_differs_more",
                path=files[0].path,
                version=files[0].version,
                more=len(files) - 1,
            )
        )
        yield Damage(
            "SNAPSHOT_DIFFERS",
            # the next start loads the newest snapshot; older ones matter for a roll-back
            "data_risk" if files[0].path in needed else "attention",
            sentence,
            tuple(Evidence(file.path) for file in files[:SHOWN]),
            "inferred",
            items[0].store.place,
            wrong_state(items[0].store.operator),
        )


# Metadata and schemas


def _definitions(ck: Checkpoint, spark: Version, reported: frozenset[str]) -> Iterator[Damage]:
    """Operator metadata and state schemas must be readable to the last byte. Spark before 4.0 knows only the
    schemas of partition 0."""
    files = [
        (operator, file)
        for operator in state_inventory(ck).operators
        for file in (
            *(operator.own_files if spark >= V40 else ()),
            *(f for p in operator.partitions for f in p.files),
        )
        if file.kind in ("metadata", "schema") and file.path not in reported
    ]
    contents = read_definitions(ck, (file for _, file in files))
    newest = {operator.operator_id: _newest_v2(operator) for operator in state_inventory(ck).operators}
    for operator, file in files:
        data = contents[file.path]
        if (
            not isinstance(data, bytes) or len(data) != file.size_bytes
        ):  # gone, or written again since it was listed
            continue
        parsed = (
            parse_operator_metadata(data, file.path)
            if file.kind == "metadata"
            else parse_schemas(data, file.path, file.store)
        )
        if not isinstance(parsed, Problem):
            continue
        place = str(operator.operator_id)
        if file.kind == "metadata" and "/v2/" not in file.path:
            sentence = say(
                "findings_checks.operator_metadata_unreadable", path=file.path, clause=parsed.clause
            )
            yield Damage(
                "OPERATOR_METADATA_UNREADABLE", "attention", sentence, (parsed.evidence,), place=place
            )
        elif file.kind == "metadata" and file.path != newest[operator.operator_id]:
            continue
        elif parsed.condition == "surplus_bytes":
            sentence = say("findings_checks.surplus_bytes", path=file.path, clause=parsed.clause)
            yield Damage("STATE_FILE_DAMAGED", "note", sentence, (parsed.evidence,), place=place)
        else:
            is_definition = "/_stateSchema/" in file.path or file.kind == "metadata"
            yield Damage(
                "STATE_DEFINITION_UNREADABLE" if is_definition else "STATE_SCHEMA_UNREADABLE",
                "blocks_restart",
                say("findings_checks.definition_unreadable", path=file.path, clause=parsed.clause),
                (parsed.evidence,),
                place=place,
                error="schema_no_type" if parsed.condition == "bad_shape" else "schema_damaged",
                because=say("forecast_steps.definition_damaged", path=file.path, clause=parsed.clause),
            )


def _newest_v2(operator: OperatorState) -> str | None:
    files = [file.path for file in operator.own_files if file.kind == "metadata" and "/v2/" in file.path]
    return max(files, key=lambda path: int(path.rpartition("/")[2]), default=None)


# Hidden checksums that Spark does not look at


def _altered_logs(
    ck: Checkpoint, files: Mapping[str, FileInfo], is_over: Callable[[], bool]
) -> tuple[list[str], int]:
    """Log files that do not match their hidden checksum, and how many were not reached."""
    pairs = [
        (files[_data_path(path)], info)
        for path, info in _hidden(files).items()
        if _data_path(path) in files
        and (files[_data_path(path)].size_bytes or 0) <= ck.settings.source_log_bytes
    ]
    found: list[str] = []
    for start in range(0, len(pairs), _FILES_AT_ONCE):
        if is_over():
            return found, len(pairs) - start
        some = pairs[start : start + _FILES_AT_ONCE]
        contents = ck.door.read([info for pair in some for info in pair])
        for info, checksum_info in some:
            data, checksum = contents[info.path], contents[checksum_info.path]
            if (
                isinstance(data, bytes)
                and isinstance(checksum, bytes)
                and isinstance(verify_hidden(data, checksum), Mismatch)
            ):
                found.append(info.path)
    return found, 0


def _data_path(path: str) -> str:
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}{name[1:-4]}"


def _altered_state(facts: StoreFacts) -> list[str]:
    damaged = {fault.file.path for fault in facts.faults if fault.kind == "content"}
    return [f.file.path for f in facts.faults if f.kind == "hidden_checksum" and f.file.path not in damaged]


def _altered_values(facts: Sequence[StoreFacts], needed: frozenset[str]) -> Iterator[Damage]:
    """Files whose codec keeps no checksum and that are not those their checksum was written for: Spark reads
    other values without an error (observed with zstd, Spark 4.3)."""
    found = [
        (fault, item.store.operator) for item in facts for fault in item.faults if fault.kind == "altered"
    ]
    found.sort(key=lambda pair: pair[0].file.path not in needed)
    if not found:
        return
    (first, operator), path = found[0], found[0][0].file.path
    sentence = (
        say("findings_checks.values_altered", path=path, reason=first.reason)
        if len(found) == 1
        else say("findings_checks.values_altered_more", path=path, reason=first.reason, more=len(found) - 1)
    )
    evidence = [Evidence(name) for fault, _ in found for name in (fault.file.path, *fault.others)]
    place = f"{first.file.operator_id}/{first.file.partition_id}/{first.file.store}"
    yield Damage(
        "STATE_FILE_ALTERED",
        # a file that only an older version needs does no harm to the next start
        "data_risk" if path in needed else "attention",
        sentence,
        tuple(evidence[:SHOWN]),
        place=place,
        data=wrong_state(operator),
        intact_batch=min(
            (
                batch
                for fault, _ in found
                if fault.file.path in needed and (batch := batch_before_file(fault.file)) is not None
            ),
            default=None,
        ),
    )


def _altered(paths: Sequence[str]) -> Damage:
    sentence = (
        say("findings_checks.altered_one", path=paths[0])
        if len(paths) == 1
        else say("findings_checks.altered", path=paths[0], more=len(paths) - 1)
    )
    evidence = [Evidence(path) for name in paths for path in (name, hidden_name(name))]
    return Damage("HADOOP_CHECKSUM_MISMATCH", "note", sentence, tuple(evidence[:SHOWN]))


# What was looked at


def _placements(ck: Checkpoint) -> tuple[dict[tuple[int, str], Placement], list[str]]:
    """How rows are spread, by operator and store, and where that could not be computed."""
    found: dict[tuple[int, str], Placement] = {}
    reasons: dict[str, list[int]] = {}
    is_changed = any(change.key == PARTITIONS_KEY for change in ck.conf_changes())
    schemas = _schemas(ck)
    for operator in state_inventory(ck).operators:
        for store in operator.stores:
            answer = (
                say("findings_checks.partitions_changed")
                if is_changed
                else placement(operator, store, schemas.get((operator.operator_id, store)), ck.conf)
            )
            if isinstance(answer, Placement):
                found[operator.operator_id, store] = answer
            elif operator.expected_partitions != 1:
                reasons.setdefault(answer, []).append(operator.operator_id)
    texts: list[str] = [
        say("findings_checks.unchecked_partitions", operators=list(dict.fromkeys(ids)), why=why)
        for why, ids in reasons.items()
    ]
    return found, texts


def _may_have_watermark(ck: Checkpoint) -> bool:
    """Whether the newest batch has a watermark, or does not tell."""
    newest = ck.offset(ck.offset_ids[-1]) if ck.offset_ids else None
    return not isinstance(newest, OffsetEntry) or newest.watermark_ms != 0


def _schemas(ck: Checkpoint) -> dict[tuple[int, str], StateSchema]:
    """The schemas that can be read, by operator id and store."""
    return {
        (operator.operator_id, schema.store): schema
        for operator in state_inventory(ck).operators
        for schema in read_schemas(ck, operator.operator_id)
        if isinstance(schema, StateSchema)
    }


def _checked(inspection: Inspection, facts: Iterable[StoreFacts]) -> list[str]:
    rows = [item.count.keys for item in facts]
    known = [keys for keys in rows if keys is not None]
    texts: list[str] = []
    if inspection.files:
        texts.append(say("findings_checks.checked_contents", files=inspection.files))
    if known:
        texts.append(say("findings_checks.checked_rows", rows=sum(known), known=len(known), stores=len(rows)))
    return texts


def _not_checked(ck: Checkpoint, inspection: Inspection, facts: Sequence[StoreFacts]) -> list[str]:
    texts: list[str] = []
    if inspection.not_reached:
        whole = inspection.not_reached + sum(item.is_complete for item in facts)
        texts.append(say("findings_checks.unchecked_stores", left=inspection.not_reached, stores=whole))
    changing = sum(not item.is_settled for item in facts)
    if changing:
        texts.append(say("findings_checks.unchecked_changing", stores=changing))
    texts += [
        say("findings_checks.unchecked_skipped", reason=reason)
        for reason in dict.fromkeys(reason for item in facts for reason in item.skipped)
    ]
    if unguarded := sum(item.unguarded for item in facts):
        texts.append(say("findings_checks.unchecked_values", files=unguarded))
    if any(
        file.kind == "sst"
        for operator in state_inventory(ck).operators
        for p in operator.partitions
        for file in p.files
    ):
        texts.append(say("findings_checks.unchecked_sst"))
    return texts
