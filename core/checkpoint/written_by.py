"""Which Spark wrote the newest files, told by marks that each version leaves in the logs.

The sets of pinned settings were seen in files written by Spark 3.3.4 to 4.3.0 (9, 10, 11, 15 and 17
settings); those of older versions come from published checkpoints. A version is told by which settings are
there and which are not yet, never by their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.checkpoint.model import CommitEntry, OffsetEntry, WrittenBy
from core.messages import say

_P = "spark.sql."
_S = "spark.sql.streaming."

# (first version that writes them, the settings). Ascending.
_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("2.2", (_P + "shuffle.partitions",)),
    ("2.3", (_S + "stateStore.providerClass",)),
    (
        "2.4",
        (
            _S + "multipleWatermarkPolicy",
            _S + "flatMapGroupsWithState.stateFormatVersion",
            _S + "aggregation.stateFormatVersion",
        ),
    ),
    ("3.0", (_S + "join.stateFormatVersion",)),
    ("3.1", (_S + "stateStore.compression.codec",)),
    ("3.2", (_S + "stateStore.rocksdb.formatVersion",)),
    ("3.3", (_S + "statefulOperator.useStrictDistribution",)),
    ("3.5", (_P + "optimizer.pruneFiltersCanPruneStreamingSubplan",)),
    ("4.0", (_S + "stateStore.encodingFormat",)),
    (
        "4.2",
        (
            _S + "stateStore.rocksdb.mergeOperatorVersion",
            _S + "stateStore.rowChecksum.enabled",
            _S + "queryEvolution.enableSourceEvolution",
            _P + "function.protobufExtensions.enabled",
        ),
    ),
    (
        "4.3",
        (
            _S + "statefulOperator.alwaysNullableOutput.enabled",
            _P + "dropDuplicates.deterministicKeyOrder.enabled",
        ),
    ),
)

# The newest version that still writes exactly these settings, where it is not the same; None = every later
# one may.
_LAST_WITH: Mapping[str, str | None] = {"3.3": "3.4", "4.0": "4.1", "4.3": None}

_KNOWN = frozenset(name for _, names in _MARKS for name in names)


def version_key(version: str) -> tuple[int, ...]:
    """For comparing version texts ("3.10" > "3.5")."""
    return tuple(int(part) for part in version.split("."))


def written_by(offsets: Sequence[OffsetEntry], commits: Sequence[CommitEntry]) -> WrittenBy:
    """What the newest of these entries tell (each sequence ascending, as far as it was read).

    "At least" follows from what is there, "at most" from what is not there yet. Removed by hand, a setting
    makes it look older, so the answer is always inferred.
    """
    if not offsets and not commits:
        return WrittenBy(None, None, say("checkpoint.no_log_read"))
    marks: list[tuple[str, str]] = []
    at_most: str | None = None
    newest = offsets[-1] if offsets else None
    unknown: list[str] = []
    if newest is not None:
        at_most = _from_conf(newest, marks, unknown)
        if newest.format_version == 2:
            marks.append(("4.2", say("checkpoint.mark_format", evidence=newest.evidence, version=2)))
    if commits:
        _from_commit(commits[-1], marks)
    at_least = max((version for version, _ in marks), key=version_key, default=None)
    reasons = [text for version, text in marks if version == at_least]
    if at_most is not None and at_least is not None and version_key(at_most) < version_key(at_least):
        reasons.append(say("checkpoint.although", version=at_most))
        at_most = None
    if unknown:
        at_most = None
        reasons.append(say("checkpoint.unknown_settings", settings=unknown[:3]))
    if newest is not None and newest.conf.get(_S + "stateStore.providerClass", "").startswith(
        "com.databricks."
    ):
        at_most = None
        reasons.append(say("checkpoint.databricks"))
    if at_least is None and at_most is None:
        return WrittenBy(None, None, "; ".join(reasons) or say("checkpoint.no_marks"))
    return WrittenBy(at_least, at_most, "; ".join(reasons))


def _from_conf(entry: OffsetEntry, marks: list[tuple[str, str]], unknown: list[str]) -> str | None:
    conf = entry.conf
    if not conf:
        if entry.timestamp_ms is None:
            return None  # an empty metadata line (continuous mode) says nothing
        marks.append(("2.1", say("checkpoint.mark_no_settings", evidence=entry.evidence)))
        return "2.1"
    known = [version for version, names in _MARKS if any(name in conf for name in names)]
    unknown += sorted(name for name in conf if name not in _KNOWN)
    if not known:
        return None
    newest = known[-1]
    mark = next(name for version, names in _MARKS if version == newest for name in names if name in conf)
    later = next((names[0] for version, names in _MARKS if version_key(version) > version_key(newest)), None)
    if later is None:
        why = say("checkpoint.mark_settings", evidence=entry.evidence, count=len(conf), setting=mark)
    else:
        why = say(
            "checkpoint.mark_settings_without",
            evidence=entry.evidence,
            count=len(conf),
            setting=mark,
            later=later,
        )
    marks.append((newest, why))
    return _LAST_WITH.get(newest, newest)


def _from_commit(entry: CommitEntry, marks: list[tuple[str, str]]) -> None:
    if entry.format_version >= 3:
        marks.append(("4.3", say("checkpoint.mark_format", evidence=entry.evidence, version=3)))
    elif entry.format_version == 2 or entry.state_unique_ids:
        marks.append(("4.0", say("checkpoint.mark_format", evidence=entry.evidence, version=2)))
    elif entry.next_watermark_ms is not None:
        marks.append(("2.4", say("checkpoint.mark_watermark", evidence=entry.evidence)))
    else:
        marks.append(("2.2", say("checkpoint.mark_exists", evidence=entry.evidence)))
