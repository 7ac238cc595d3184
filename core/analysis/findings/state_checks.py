"""Checks of ``state/`` beyond what the next batch needs: snapshots left over from before a rollback, missing
metadata, extra partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.analysis.copy_forecast import forecast_rolled_back, why_copy_fails
from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.analysis.findings.state_health import growth_severity
from core.analysis.forecast import Forecast, Query
from core.analysis.forecast.stale_snapshots import MOST_NAMED
from core.analysis.forecast.versions import V40, Version
from core.checkpoint import Checkpoint
from core.checkpoint.left_snapshots import snapshots_of_later_batches
from core.checkpoint.model import OffsetEntry, OperatorState, StateFile
from core.checkpoint.rewind import rewind
from core.checkpoint.state import state_inventory
from core.connectors import ConnectorAnswers
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence


def later_versions(ck: Checkpoint) -> Iterator[Finding]:
    """State that only batches after the newest one can have written: offsets and commits were rolled back."""
    newest = max([*ck.offset_ids, *ck.commit_ids], default=None)
    if newest is None:
        return
    for op in state_inventory(ck).operators:
        later = [
            file
            for file in all_files(op)
            if file.version is not None and file.version > newest + 1 and not _is_newer(ck, file)
        ]
        if not later:
            continue
        snapshots = snapshots_of_later_batches(ck, op)
        if snapshots:
            first = snapshots[0]
            sentence = say(
                "findings_checks.stale_snapshot",
                path=first.path,
                newest=newest,
                loaded_after=(first.version or 0) - 1,
            )
            yield finding(
                "STALE_SNAPSHOT",
                sentence,
                *(Evidence(f.path) for f in snapshots[:MOST_NAMED]),
                severity="attention",  # where the forecast does not name it, the next start loads no state
                place=str(op.operator_id),
            )
        named = max(later, key=lambda file: (file.version or 0, file.path))  # however they are listed
        sentence = say(
            "findings_checks.state_of_later_batches",
            operator_id=op.operator_id,
            highest=named.version or 0,
            newest=newest,
            expected=newest + 1,
        )
        yield finding("STATE_OF_LATER_BATCHES", sentence, Evidence(named.path), place=str(op.operator_id))


def way_back(
    ck: Checkpoint, answer: Forecast, connectors: ConnectorAnswers
) -> tuple[Sentence, int | None, bool]:
    """The batch that the checkpoint can be rolled back to, in one sentence and as a number (None: there is
    none), and whether there is one after which the file sink would skip the batches."""
    best = rewind(ck).newest
    if best is None:
        return say("findings_checks.no_way_back"), None, False
    if why_copy_fails(forecast_rolled_back(ck, best, answer.spark, Query(), connectors)) is not None:
        return say("findings_checks.way_back_fails", batch_id=best), None, False
    sink = answer.sink
    held = sink.holds_up_to_batch if sink is not None and sink.skips_any_query else None
    if held is not None and held > best:
        return say("findings_checks.way_back_skipped", version=best + 1, batch_id=best, held=held), None, True
    return say("findings_checks.way_back", version=best + 1, batch_id=best), best, False


def growth(ck: Checkpoint, entries: Sequence[OffsetEntry]) -> Iterator[Finding]:
    """State that grows while the watermark stands still, by the sizes of its snapshots (the HDFS-backed store
    writes whole ones)."""
    marks = {entry.watermark_ms or 0 for entry in entries}
    if len(entries) < ck.settings.growth_batches or len(marks) > 1:
        return
    for op in state_inventory(ck).operators:
        sizes: dict[int, int] = {}
        snapshots = [file for file in all_files(op) if file.kind == "snapshot"]
        if any(file.size_bytes is None for file in snapshots):
            continue
        for file in snapshots:
            if file.version is not None and file.size_bytes is not None:
                sizes[file.version] = sizes.get(file.version, 0) + file.size_bytes
        kept = [sizes[version] for version in sorted(sizes)]
        if len(kept) < 3 or kept != sorted(kept) or kept[-1] < ck.settings.growth_ratio * kept[0]:
            continue
        sentence = say(
            "findings_checks.state_grows_no_watermark"
            if marks == {0}
            else "findings_checks.state_grows_still",
            operator_id=op.operator_id,
            first_bytes=kept[0],
            last_bytes=kept[-1],
            snapshots=len(kept),
        )
        newest = max(
            (f for f in all_files(op) if f.kind == "snapshot"), key=lambda f: (f.version or 0, f.path)
        )
        yield finding(
            "STATE_GROWS",
            sentence,
            Evidence(newest.path),
            certainty="inferred",
            severity=growth_severity(ck, op),
            place=str(op.operator_id),
        )


def _is_newer(ck: Checkpoint, file: StateFile) -> bool:
    """Written after the logs were listed: by a batch that a running query has planned since."""
    return file.modified_ms is not None and file.modified_ms > ck.read_at_ms


def metadata_and_schemas(ck: Checkpoint, version: Version) -> Iterator[Finding]:
    """Files whose absence Spark does not report, and with them its own checks. Of the schemas that
    transformWithState needs the forecast speaks."""
    for op in state_inventory(ck).operators:
        place = str(op.operator_id)
        if (
            version >= V40
            and op.metadata_raw is None
            and not any(f.kind == "metadata" for f in op.own_files)
            and ck.commit_ids
        ):
            sentence = say("findings_checks.operator_metadata_missing", operator_id=op.operator_id)
            yield finding(
                "OPERATOR_METADATA_MISSING",
                sentence,
                Evidence(f"state/{op.operator_id}/_metadata/metadata"),
                place=place,
            )
        has_schema = any(f.kind == "schema" for f in (*all_files(op), *op.own_files))
        if not has_schema and not op.is_transform and op.partitions and ck.commit_ids:
            sentence = say("findings_checks.state_schema_missing", operator_id=op.operator_id)
            yield finding(
                "STATE_SCHEMA_MISSING",
                sentence,
                Evidence(f"state/{op.operator_id}/0/_metadata/schema"),
                place=place,
            )


def extra_partitions(ck: Checkpoint) -> Iterator[Finding]:
    """Directories of partitions that the pinned number does not reach: their rows are not read."""
    for op in state_inventory(ck).operators:
        expected = op.expected_partitions
        if expected is None:
            continue
        extra = sorted({p.partition_id for p in op.partitions if p.partition_id >= expected and p.files})
        if extra:
            sentence = say(
                "findings_checks.extra_partitions",
                operator_id=op.operator_id,
                extra=len(extra),
                expected=expected,
                first=extra[0],
            )
            yield finding(
                "EXTRA_PARTITIONS",
                sentence,
                Evidence(f"state/{op.operator_id}/{extra[0]}"),
                certainty="inferred",
                place=f"{op.operator_id}/{extra[0]}",
            )


def all_files(op: OperatorState) -> list[StateFile]:
    """The files of every store of every partition."""
    return [file for partition in op.partitions for file in partition.files]
