"""Damaged state files: what Spark does with each. Needed by the next start or not, replaced by an older
snapshot or not.

The rules were observed by damaging real checkpoints and starting Spark 4.3 on them; where an older one does
otherwise, the rule says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from core.analysis.forecast.model import EXACT, UNKNOWN, Damage, Severity
from core.analysis.forecast.versions import V41, V42, Version
from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.restore_chain import CommittedIds, first_missing, restorable_versions
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.inspection import Fault, StoreFacts
from core.messages import Sentence, say
from core.sparklogs.evidence import Certainty, Evidence

# So many change files Spark reads at most to do without a damaged snapshot
# (autoSnapshotRepair.maxChangeFileReplay, 4.2 and newer).
MOST_REPLAYED = 500

SHOWN = 20  # files cited by one finding


class _Meaning(NamedTuple):
    """What a fault means: the finding, and what follows."""

    id: str
    severity: Severity
    consequence: Sentence


@dataclass(slots=True)
class _Group:
    """Files that show the same thing in one operator: one finding."""

    finding_id: str
    severity: Severity
    operator_id: int
    consequence: Sentence
    faults: list[Fault] = field(default_factory=list)


def damaged_files(
    ck: Checkpoint, facts: Sequence[StoreFacts], version: int, spark: Version, reported: frozenset[str]
) -> Iterator[Damage]:
    """What the faults mean for a start of ``spark`` that loads ``version``. ``reported``: paths that other
    findings name already."""
    committed = committed_ids(ck)
    groups: dict[tuple[str, Severity, int, Sentence], _Group] = {}
    ruined: set[str] = set()
    for item in facts:
        worst = _worst_of_each_file(item, spark)
        full = [step.full.path for step in item.store.steps if step.full is not None]
        fatal = {path for path, fault in worst.items() if _is_fatal(fault, item.store.operator, spark)}
        ruined |= fatal
        severities = _severities(item, fatal, version, spark, committed)
        removed = _in_removal(worst) - severities.keys() - set(full[-1:])
        for path, fault in worst.items():
            if path in reported:
                continue
            if path in removed:
                meaning = _Meaning("STATE_FILE_DAMAGED", "note", say("findings_checks.file_in_removal"))
            else:
                meaning = _meaning(
                    fault, path in fatal, severities.get(path), path in full[-1:], version, spark
                )
            key = (meaning.id, meaning.severity, item.store.operator.operator_id, meaning.consequence)
            groups.setdefault(key, _Group(*key)).faults.append(fault)
        yield from _lineage(item, version, committed)
    newest = _newest_intact(ck, ruined, committed, version) if groups else None
    yield from (_finding(group, newest) for group in groups.values())


def _in_removal(worst: Mapping[str, Fault]) -> set[str]:
    """Zips that lack ``.sst`` files: where no start needs them, Spark may be removing them. It removes what
    only old versions name before their zips (seen with 4.3 under a query that ran)."""
    return {
        path
        for path, fault in worst.items()
        if isinstance(fault.reason, Sentence) and fault.reason.key == "state_files.needs_missing"
    }


def _worst_of_each_file(facts: StoreFacts, spark: Version) -> dict[str, Fault]:
    """One fault for each file: one that Spark fails on before others. Hidden checksums that nobody reads are
    another finding."""
    found: dict[str, Fault] = {}
    for fault in facts.faults:
        known = found.get(fault.file.path)
        if fault.kind not in ("hidden_checksum", "altered") and (
            known is None or _is_fatal(fault, facts.store.operator, spark)
        ):
            found[fault.file.path] = fault
    return found


def _is_fatal(fault: Fault, operator: OperatorState, spark: Version) -> bool:
    """Whether a Spark that reads the file fails on it."""
    if fault.kind == "visible_checksum":
        # 4.1 verifies Spark's own checksum of every state file, 4.2 and newer only with state checkpoint
        # format 2.
        return spark >= V41 and (operator.format_version == 2 or spark < V42)
    # Up to 4.0 lz4-java 1.8 unpacks the block; from 4.1 on a newer one refuses it (seen: 3.5, 4.0, 4.3).
    return fault.kind == "content" or (fault.kind == "refused" and spark >= V41)


def _severities(
    facts: StoreFacts, fatal: set[str], version: int, spark: Version, committed: CommittedIds
) -> dict[str, Severity]:
    """Of the damaged files those that the start needs: it fails on them, or (attention) goes on without."""
    if not fatal:
        return {}
    operator, partition = facts.store.operator, facts.store.partition
    where = (partition.partition_id, partition.store, version, committed)
    if first_missing(operator, *where) is not None:
        return {}  # the start fails anyhow, which is a finding of its own
    files = tuple(replace(file, size_bytes=0) if file.path in fatal else file for file in partition.files)
    without = replace(
        operator,
        partitions=tuple(replace(p, files=files) if p is partition else p for p in operator.partitions),
    )
    is_blocked = first_missing(without, *where) is not None
    full = [step for step in facts.store.steps if step.full is not None]
    intact = max(
        (step.version for step in full if step.full is not None and step.full.path not in fatal), default=0
    )
    newest = full[-1].version if full else 0
    is_skipped = newest > intact
    if not is_blocked and is_skipped:
        is_blocked = spark < V42 or version - intact > MOST_REPLAYED
    # Spark starts at the newest full file; 4.2 and newer go back to an older one when they must.
    start = newest if spark < V42 else intact
    needed = (
        [step.change for step in facts.store.steps if step.version > start and step.change is not None]
        if is_blocked
        else []
    )
    needed += [full[-1].full] if is_skipped and full[-1].full is not None else []
    return {
        file.path: "blocks_restart" if is_blocked else "attention" for file in needed if file.path in fatal
    }


def _meaning(
    fault: Fault, is_fatal: bool, needed: Severity | None, is_newest: bool, version: int, spark: Version
) -> _Meaning:
    """Finding id, severity, and what follows. ``is_newest``: the store has no newer full file."""
    finding_id = "STATE_CHECKSUM_MISMATCH" if fault.kind == "visible_checksum" else "STATE_FILE_DAMAGED"
    if not is_fatal and fault.kind == "visible_checksum":
        return _Meaning(finding_id, "note", say("findings_checks.checksum_not_read", spark=spark))
    if fault.kind == "rows" and is_newest:
        return _Meaning(finding_id, "data_risk", say("findings_checks.rows_damaged", version=version))
    if fault.kind == "rows":
        return _Meaning(finding_id, "attention", say("findings_checks.file_not_needed"))
    if not is_fatal and fault.kind == "refused":
        return _Meaning(finding_id, "attention", say("findings_checks.refused_by_newer", spark=spark))
    if not is_fatal:
        return _Meaning(finding_id, "note", say("findings_checks.tail_not_read"))
    if needed == "blocks_restart":
        return _Meaning(finding_id, needed, say("findings_checks.file_needed", version=version))
    if needed == "attention":
        return _Meaning(
            finding_id, needed, say("findings_checks.file_repaired", version=version, spark=spark)
        )
    return _Meaning(finding_id, "attention", say("findings_checks.file_not_needed"))


def _finding(group: _Group, newest: int | None) -> Damage:
    first = group.faults[0]
    sentence = _damage(group)
    if group.severity == "blocks_restart":
        sentence = (
            say("findings_checks.damaged_way_back", sentence=sentence, version=newest, batch_id=newest - 1)
            if newest
            else say("findings_checks.damaged_no_way_back", sentence=sentence)
        )
    evidence = [Evidence(path) for fault in group.faults for path in (fault.file.path, *fault.others)]
    certainty: Certainty = (
        "certain" if all(fault.certainty == "certain" for fault in group.faults) else "inferred"
    )
    place = f"{group.operator_id}/{first.file.partition_id}/{first.file.store}"
    return Damage(
        group.finding_id,
        group.severity,
        sentence,
        tuple(evidence[:SHOWN]),
        certainty,
        place,
        # a batch that needs the rows of a damaged block fails, another one runs without them
        data=UNKNOWN if group.severity == "data_risk" else EXACT,
        error="sst_size" if _is_size(first) else "state_content_damaged",
        details={"path": first.file.path},
        because=say("forecast_steps.state_damaged", path=first.file.path, reason=first.reason),
        intact_batch=newest - 1 if newest and group.severity == "blocks_restart" else None,
    )


def _is_size(fault: Fault) -> bool:
    """Whether a file that a zip names has another length than the zip says."""
    return isinstance(fault.reason, Sentence) and fault.reason.key == "state_files.needs_size"


def _damage(group: _Group) -> Sentence:
    first, more = group.faults[0], len(group.faults) - 1
    path, reason, consequence = first.file.path, first.reason, group.consequence
    if not more:
        return say(
            "findings_checks.not_as_written" if group.severity == "note" else "findings_checks.damaged",
            path=path,
            reason=reason,
            consequence=consequence,
        )
    return say(
        "findings_checks.not_as_written_more" if group.severity == "note" else "findings_checks.damaged_more",
        path=path,
        reason=reason,
        more=more,
        consequence=consequence,
    )


def _newest_intact(ck: Checkpoint, ruined: set[str], committed: CommittedIds, version: int) -> int | None:
    """The newest version that every partition of every store can rebuild without the damaged files."""
    common: set[int] | None = None
    for operator in state_inventory(ck).operators:
        partitions = tuple(
            replace(p, files=tuple(replace(f, size_bytes=0) if f.path in ruined else f for f in p.files))
            for p in operator.partitions
        )
        versions = set(restorable_versions(replace(operator, partitions=partitions), committed, version))
        common = versions if common is None else common & versions
    return max(common or (), default=None)


def _lineage(facts: StoreFacts, version: int, committed: CommittedIds) -> Iterator[Damage]:
    """The versions that the newest changelog of format 2 says it is built from must be there under the ids it
    names."""
    store = facts.store
    if not facts.lineage or any(step.version == version and step.full is not None for step in store.steps):
        return
    if (
        first_missing(store.operator, store.partition.partition_id, store.partition.store, version, committed)
        is not None
    ):
        return
    there = {(file.version, file.unique_id, file.kind) for file in store.partition.files}
    for item in sorted(facts.lineage, key=lambda entry: -entry.version):
        if (item.version, item.unique_id, "zip") in there:
            return
        if (item.version, item.unique_id, "changelog") not in there:
            newest = max(
                (step.change for step in store.steps if step.change is not None),
                key=lambda file: file.version or 0,
            )
            missing = f"{newest.path.rpartition('/')[0]}/{item.version}_{item.unique_id}.changelog"
            sentence = say(
                "findings_checks.lineage_missing", path=newest.path, missing=missing, version=version
            )
            yield Damage(
                "STATE_NOT_RESTORABLE",
                "blocks_restart",
                sentence,
                (Evidence(missing), Evidence(newest.path)),
                place=store.place,
                error="rocksdb_missing",
                details={"file": missing, "zip": missing},
                because=say("forecast_steps.lineage_missing", path=newest.path, missing=missing),
            )
            return
