"""Amazon Kinesis in three connectors: qubole's, awslabs' and Databricks'. Sequence numbers have 56 digits:
comparable, not countable."""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.sources.base import Advance, Capabilities, ResumePoint, SourceContext
from core.checkpoint.sources.forms import (
    as_int,
    as_object,
    malformed,
    no_option,
    shortened,
    unknown_advance,
)
from core.messages import say


class Shards(Capabilities):
    """What the three have in common: shards by name, no countable position, no start per shard."""

    label = "Kinesis"

    def resume_note(self) -> str:
        """Why no start is exact, and what may be tried."""
        raise TypeError(f"{type(self).__name__} has no start")

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
        note = say("sources_other.sequence_numbers")
        if before is not None and after is not None:
            moved = [shard for shard in after if before.get(shard) != after[shard]]
            note = say("sources_other.shards_moved", moved=len(moved), shards=len(after))
        return unknown_advance("records", note, self.partitions(end))

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """No per-shard start exists (documented): start earlier and remove repeats at the target."""
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            self.resume_note(),
            repeats=say("sources_other.kinesis_repeats"),
            skips=say("sources_other.kinesis_skips"),
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        shards = self.shards(offset)
        if shards is None:
            return say("sources.not_of_kind", label=self.label)
        places = [
            say("sources_other.shard", shard=shard, place=where) for shard, where in sorted(shards.items())
        ]
        return say("sources_other.shards", count=len(shards), places=places)


class KinesisQubole(Shards):
    """qubole's connector: where the batch STARTS per shard; what was read is in
    ``sources/<n>/shard-commit/<batch>/<shard>``."""

    name = "kinesis"
    label = "Kinesis (qubole connector)"

    def resume_note(self) -> str:
        return say("sources_other.kinesis_qubole")

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

    def resume_note(self) -> str:
        return say("sources_other.kinesis_awslabs")

    def _is_own(self, shard: Mapping[str, object]) -> bool:
        return "subSequenceNumber" in shard or "isLast" in shard


class KinesisDatabricks(Shards):
    """Databricks' connector: an array with the last sequence number per shard, inclusive, and how far behind
    it was in time."""

    name = "kinesis_databricks"
    label = "Kinesis (Databricks)"

    def resume_note(self) -> str:
        return say("sources_other.kinesis_databricks")

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
            last, behind = shortened(fields["lastSeqNum"], 60), _number(fields.get("msBehindLatest"))
            is_closed = fields.get("closed") is True
            if behind is None:
                shards[name] = (
                    say("sources_other.shard_closed", last=last)
                    if is_closed
                    else say("sources_other.shard_after", last=last)
                )
            elif is_closed:
                shards[name] = say("sources_other.shard_closed_behind", last=last, behind=behind)
            else:
                shards[name] = say("sources_other.shard_behind", last=last, behind=behind)
        return shards


def _number(value: object) -> int | None:
    """A number that may be written as a JSON string."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 18:
        return int(value)
    return as_int(value)


KINESIS = KinesisQubole()
KINESIS_AWSLABS = KinesisAwslabs()
KINESIS_DATABRICKS = KinesisDatabricks()
