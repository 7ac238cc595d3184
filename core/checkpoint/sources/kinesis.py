"""Amazon Kinesis in three connectors: qubole's, awslabs' and Databricks'. Sequence numbers have 56 digits:
comparable, not countable."""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.sources.base import Advance, Capabilities, ResumePoint, SourceContext
from core.checkpoint.sources.forms import (
    COPY_THE_LOGS,
    as_int,
    as_object,
    counted,
    listed,
    malformed,
    no_option,
    shortened,
    unknown_advance,
)


class Shards(Capabilities):
    """What the three have in common: shards by name, no countable position, no start per shard."""

    label = "Kinesis"
    copy_note = COPY_THE_LOGS

    def shards(self, offset: object) -> dict[str, str] | None:
        """Shard -> where it stands, in words; None when the offset does not have this form."""
        raise TypeError(f"{type(self).__name__} names no shards")

    def recognises(self, offset: object) -> bool:
        return self.shards(offset) is not None

    def positions(self, offset: object) -> Mapping[str, int]:
        return {}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(sorted(self.shards(offset) or {}))

    def first_start(self, context: SourceContext) -> object | None:
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        before, after = self.shards(start), self.shards(end)
        note = "Sequence numbers are not counts."
        if before is not None and after is not None:
            moved = [shard for shard in after if before.get(shard) != after[shard]]
            note = f"{len(moved)} of {len(after)} shards moved; sequence numbers are not counts."
        return unknown_advance("records", note, self.partitions(end))

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """No per-shard start exists (documented): start earlier and remove repeats at the target."""
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            "Kinesis has no start per shard: initialPosition is latest, trim_horizon or one time for all"
            " shards. Choose a time a little before the last committed batch and remove the repeats at the"
            f" target. {self.copy_note}",
            repeats=(
                "with a time: the records from it to the last committed position; with trim_horizon all that"
                " the stream still keeps"
            ),
            skips="with latest: everything not yet read; with a time that is early enough nothing",
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        shards = self.shards(offset)
        if shards is None:
            return f"Not a {self.label} offset."
        places = [f"{shard} {where}" for shard, where in sorted(shards.items())]
        return f"{counted(len(shards), 'shards')}: {listed(places, 2)}"


class KinesisQubole(Shards):
    """qubole's connector: where the batch STARTS per shard; what was read is in
    ``sources/<n>/shard-commit/<batch>/<shard>``."""

    name = "kinesis"
    label = "Kinesis (qubole connector)"
    copy_note = (
        "The offset log names where the batch started; what was read of each shard is below"
        " `sources/<n>/shard-commit`."
    )

    def shards(self, offset: object) -> dict[str, str] | None:
        fields = as_object(offset)
        if "streamName" not in as_object(fields.get("metadata")):
            return None
        shards: dict[str, str] = {}
        for name, value in fields.items():
            if name == "metadata":
                continue
            kind = as_object(value).get("iteratorType")
            if not isinstance(kind, str) or not self._is_own(as_object(value)):
                return None
            shards[name] = f"{shortened(kind, 40)} {shortened(as_object(value).get('iteratorPosition'), 60)}"
        return shards or None

    def _is_own(self, shard: Mapping[str, object]) -> bool:
        return True


class KinesisAwslabs(KinesisQubole):
    """awslabs' connector: the same form with ``subSequenceNumber`` and ``isLast`` per shard."""

    name = "kinesis_awslabs"
    label = "Kinesis (awslabs connector)"
    copy_note = (
        "The offset log names where the batch started; what was read of each shard is below"
        " `sources/<n>/shard-commit` or in DynamoDB."
    )

    def _is_own(self, shard: Mapping[str, object]) -> bool:
        return "subSequenceNumber" in shard or "isLast" in shard


class KinesisDatabricks(Shards):
    """Databricks' connector: an array with the last sequence number per shard, inclusive, and how far behind
    it was in time."""

    name = "kinesis_databricks"
    label = "Kinesis (Databricks)"
    copy_note = "A copy of the offsets into a new checkpoint was not tried on Databricks."

    def shards(self, offset: object) -> dict[str, str] | None:
        if not isinstance(offset, list) or not offset:
            return None
        shards: dict[str, str] = {}
        for entry in offset:
            shard = as_object(as_object(entry).get("shard"))
            name = shard.get("shardId")
            if not isinstance(name, str) or "lastSeqNum" not in as_object(entry):
                return None
            fields = as_object(entry)
            where = f"after {shortened(fields['lastSeqNum'], 60)}" + (
                ", closed" if fields.get("closed") is True else ""
            )
            shards[name] = where + (
                f", {behind} ms behind"
                if (behind := _number(fields.get("msBehindLatest"))) is not None
                else ""
            )
        return shards


def _number(value: object) -> int | None:
    """A number that may be written as a JSON string."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 18:
        return int(value)
    return as_int(value)


KINESIS = KinesisQubole()
KINESIS_AWSLABS = KinesisAwslabs()
KINESIS_DATABRICKS = KinesisDatabricks()
