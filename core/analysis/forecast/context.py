"""What the steps look at: the checkpoint, the version whose rules apply, the query, and what follows from the
newest ids.

Words as in Spark: N is the highest id in ``offsets/``, C the highest in ``commits/``.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.analysis.forecast.changed_directory import was_changed
from core.analysis.forecast.contents import ContentReport
from core.analysis.forecast.model import (
    DataEffect,
    Effect,
    Level,
    Query,
    SinkKind,
)
from core.analysis.forecast.skipped import after_skipped, skipped_up_to
from core.analysis.forecast.versions import V35, Version
from core.checkpoint.model import CommitEntry, OffsetEntry, SourceOffset
from core.checkpoint.next_batch import NextBatch
from core.checkpoint.source import SOURCE_EVOLUTION, is_number, without_own_log
from core.checkpoint.source_log import FileLog, read_file_log
from core.checkpoint.sources.base import SourceKind
from core.checkpoint.sources.files import FILES
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import KAFKA
from core.checkpoint.sources.other import UNKNOWN
from core.checkpoint.state import state_inventory
from core.checkpoint.state_names import operator_put_away
from core.connectors.model import ConnectorAnswers, SinkState
from core.connectors.sink import as_answered, sink_state
from core.sparklogs.compactible import CompactibleLog, compactible_log
from core.sparklogs.evidence import Evidence, Problem
from core.sparklogs.names import is_hidden_checksum
from core.storage.lazy import lazy

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint

_OF_A_VERSION = ("delta", "snapshot", "zip", "changelog")
# Checksums and unfinished writes of state files that are gone.
_BESIDE_STATE = re.compile(
    rf"\.\d+(_\S+)?\.({'|'.join(_OF_A_VERSION)})\..*|\.(schema|metadata|[0-9a-f-]+\.sst)\.crc"
)
OLDER_READ = 8  # offset entries that tell a batch without data from a newest offset that was set back by hand


@dataclass(frozen=True, slots=True)
class Range:
    """One source's part of batch N: its lines in offsets/N and offsets/N-1. ``end`` None = the source has no
    line in offsets/N."""

    key: str
    start: SourceOffset | None
    end: SourceOffset | None

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Where the end offset stands; () without one."""
        return (self.end.evidence,) if self.end is not None else ()

    @property
    def start_text(self) -> str | None:
        """The start offset as written; None when there is none."""
        return self.start.raw if self.start is not None else None

    @property
    def end_text(self) -> str | None:
        """The end offset as written; None for ``-`` and for a missing line."""
        return self.end.raw if self.end is not None else None

    @property
    def differs(self) -> bool:
        """Whether Spark has to ask the source for this range: compared as values, as Spark does."""
        if self.start_text is None or self.end_text is None:
            return self.start_text != self.end_text
        return parse(self.start_text) != parse(self.end_text)


@dataclass
class RestartContext:
    """One look at one checkpoint under one version's rules. ``contents``: what is in the state files, at the
    level deep. ``skipped``: the look is at the batch after this one, which the sink has and skips."""

    checkpoint: Checkpoint
    version: Version
    query: Query
    level: Level = "normal"
    connectors: ConnectorAnswers = field(default_factory=ConnectorAnswers)
    is_writer: bool = True
    from_scratch: bool = field(default=False)
    contents: ContentReport | None = None
    skipped: int | None = None

    @property
    def with_state(self) -> bool:
        """Whether the state files are listed."""
        return self.level != "quick"

    @lazy
    def sink(self) -> SinkState | None:
        """What the sink holds of this query; None when it was not asked."""
        if self.connectors.sink is None:
            return None
        there = self.connectors.sink
        return as_answered(self.checkpoint, sink_state(self.checkpoint, there), there, self.query.sink)

    @lazy
    def next_batch(self) -> NextBatch:
        """The first batch, as the names in the logs have it."""
        found = self.checkpoint.next_batch
        return found if self.skipped is None else after_skipped(found, self.skipped)

    @property
    def n(self) -> int | None:
        """The highest id in ``offsets/``."""
        return self.next_batch.newest_offset

    @property
    def c(self) -> int | None:
        """The highest id in ``commits/``."""
        return self.next_batch.newest_commit

    @lazy
    def previous(self) -> int | None:
        """The offset id that batch N starts from: N-1, or with asynchronous progress the greatest smaller
        one; None for N = 0."""
        if not self.n:
            return None
        if self.checkpoint.is_async:
            return self.checkpoint.previous_offset_id(self.n)
        return self.n - 1

    @property
    def runs_again(self) -> bool:
        """Whether the first batch already has an offset file: batch N without its commit, or with a commit
        that is not the newest."""
        return self.next_batch.is_rerun and not self.from_scratch

    @property
    def hands_out(self) -> bool:
        """Whether batch N runs again and the sink takes its rows."""
        return self.runs_again and self.loading is self

    @lazy
    def loading(self) -> RestartContext:
        """The look at the first batch that reads anything: this one, or where the sink has the pending batch
        the one after it."""
        if self.from_scratch or self.skipped is not None:
            return self
        last = skipped_up_to(self.checkpoint, self.sink)
        if last is None:
            return self
        behind = copy(self)  # with all that was read
        vars(behind).pop("next_batch", None)
        behind.skipped = last
        return behind

    @property
    def first_batch(self) -> int:
        """The id of the first batch that runs when something runs."""
        return 0 if self.from_scratch else self.next_batch.batch_id

    @property
    def is_stateful(self) -> bool:
        """Whether the query has stateful operators, by what is asked for or else by what is in the
        checkpoint."""
        if self.query.operators is not None:
            return bool(self.query.operators)
        return self.was_written_stateful

    @property
    def was_written_stateful(self) -> bool:
        """Whether the query that wrote the checkpoint had stateful operators, by what is in it."""
        has_state = self.checkpoint.has_state and not self.has_only_foreign_state
        return has_state or self.was_stateful or self.renamed_state is not None

    @property
    def renamed_state(self) -> str | None:
        """A directory that was ``state/`` and was put away, while that is gone; or one that was an
        operator's, while ``state/`` has no other."""
        if not self.checkpoint.has_state:
            return next(iter(self.put_away("state")), None)
        found = self.operators_put_away
        return found[0] if found and not state_inventory(self.checkpoint).file_count else None

    @lazy
    def operators_put_away(self) -> tuple[str, ...]:
        """Directories below ``state/`` that hold an operator's files and have a name that Spark does not see
        (``state/0_old``)."""
        if not self.checkpoint.has_state or not self.with_state:
            return ()
        leftovers = state_inventory(self.checkpoint).leftovers
        found = {operator_put_away(item.path) for item in leftovers if item.kind == "foreign"}
        return tuple(sorted(filter(None, found)))

    def put_away(self, *names: str) -> tuple[str, ...]:
        """What lies beside ``offsets/`` and has one of these names in its own: people put a directory away
        like this (``state_old``, ``commits.bak``)."""
        form = re.compile(rf"(?i)(.*[^a-z])?({'|'.join(names)})([^a-z].*)?")
        beside = (item.path for item in self.checkpoint.leftovers if item.kind == "foreign")
        return tuple(path for path in beside if "/" not in path and form.fullmatch(path))

    def handed_out_again(self, *kinds: SinkKind) -> DataEffect:
        """Rows of a committed batch that the sink gets a second time, at these kinds of sink.

        A stateless batch hands out what it reads. What a stateful one hands out depends on its output mode,
        its watermark and its state, so that it may have been nothing; neither does a batch without data.
        """
        again: dict[SinkKind, Effect] = dict.fromkeys(kinds, "duplicates")
        effect = DataEffect(
            again.get("append", "exact"), again.get("overwrite", "exact"), again.get("skip", "exact")
        )
        has_rows = not self.is_stateful and self.n is not None and not self.checkpoint.is_no_data(self.n)
        return effect if has_rows else effect.may()

    @lazy
    def was_stateful(self) -> bool:
        """Whether the logs show a stateful query although ``state/`` is gone: ids of state files, batches
        without data.

        A watermark is no such mark: it moves in a stateless query with ``withWatermark`` too (seen with 4.3).
        Neither does a query leave one that never ran a batch without data. Real-time mode (commits of version
        2) and continuous mode log batches without data for stateless queries too. So does a hand: a newest
        offset that was set back to the one before counts only with a watermark that rose for it and a source
        log that is not ahead of it.
        """
        newest = self.commit_entry(self.c)
        if newest is not None and (newest.state_unique_ids or newest.format_version > 1):
            return bool(newest.state_unique_ids)
        if self.checkpoint.is_continuous or self.n is None:
            return False
        quiet = self._batches_without_data()
        if quiet == [self.n]:  # by hand, or the first batch without data that was read
            self.checkpoint.load(self.checkpoint.offset_ids[-OLDER_READ:])
            quiet = self._batches_without_data()
        earlier = [batch_id for batch_id in quiet if batch_id != self.n]
        if len(earlier) > 1 or any(self._moved_watermark(batch_id) for batch_id in earlier):
            return True
        is_planned = bool(self.file_logs) and not self.has_unplanned_files
        return self.n in quiet and self._moved_watermark(self.n) and is_planned

    @property
    def lacks_suggested_state(self) -> bool:
        """Whether there is no state, nobody said what the query has, and it has a watermark: most queries
        with one keep state, and would not run without it."""
        newest = self.commit_entry(self.c)
        is_open = not self.is_stateful and self.query.operators is None and not self.has_only_foreign_state
        return is_open and newest is not None and bool(newest.next_watermark_ms)

    @lazy
    def may_lack_state(self) -> bool:
        """Whether there is no state, nobody said what the query has, and something was removed from the
        checkpoint directory, or put into it, after the newest commit. What lies there now does not explain
        it."""
        ck = self.checkpoint
        is_open = not self.is_stateful and self.query.operators is None and not ck.has_state
        is_explained = (
            ck.query_id is None
            or ck.door.is_changed  # by what is put back, or left out
            or any("/" not in item.path for item in ck.leftovers)
        )
        return is_open and not is_explained and was_changed(ck, "")

    @lazy
    def may_lack_an_operator(self) -> bool:
        """The same of ``state/``: whether the directory of an operator may have been removed from it."""
        if not self.checkpoint.has_state or self.query.operators is not None or not self.with_state:
            return False
        inventory = state_inventory(self.checkpoint)
        is_explained = any(item.path.count("/") == 1 for item in inventory.leftovers)
        return bool(inventory.operators) and not is_explained and was_changed(self.checkpoint, "state")

    def _batches_without_data(self) -> list[int]:
        read = set(self.checkpoint.loaded_ids)  # an entry before these is not worth a request
        known = [i for i in read if self.checkpoint.previous_offset_id(i) in read]
        return sorted(i for i in known if self.checkpoint.is_no_data(i))

    def _moved_watermark(self, batch_id: int) -> bool:
        """Whether the watermark of a batch is higher than that of the one before, which is why a stateful
        query plans a batch without data."""
        entry = self.offset_entry(batch_id)
        before = self.offset_entry(self.checkpoint.previous_offset_id(batch_id))
        return (
            entry is not None
            and before is not None
            and (entry.watermark_ms or 0) > (before.watermark_ms or 0)
        )

    @property
    def ids_are_missing(self) -> bool:
        """State checkpoint format 2 (the files carry ids) without a commit that names them."""
        newest = self.commit_entry(self.c)
        return newest is None or not newest.state_unique_ids

    @property
    def nothing_runs(self) -> bool:
        """There is nothing to do until data arrives, and the caller says that there is none; or what arrives
        first counts as done.

        Files that are in a source's log and in no batch yet count as new data, and so does a broker that has
        something else than was read.
        """
        is_new = self.has_unplanned_files or self.has_other_offsets or self.has_lost_offsets
        is_idle = (self.query.new_data == "no" and not is_new) or self.counts_new_files_as_done
        return is_idle and not self.runs_again and not self.from_scratch

    @lazy
    def counts_new_files_as_done(self) -> bool:
        """Whether the log of every source lacks just its last entry: the next files that are listed get the
        log ID that the offsets count as done, and no batch runs for them."""
        lines = self.newest.sources if self.newest is not None else ()
        ends = {line.key: FILES.value(parse(line.raw)) for line in lines if line.raw is not None}
        return bool(ends) and all(
            end is not None and self.kind(key).has_own_log and self.newest_log_id(key) == end - 1
            for key, end in ends.items()
        )

    def newest_log_id(self, key: str) -> int:
        """The newest id in the log of a file source; -1 when there is none."""
        log = self.file_logs.get(key)
        return log.newest_id if log is not None and log.newest_id is not None else -1

    def has_untold_log(self, key: str) -> bool:
        """Whether nothing tells which directory below ``sources/`` is a file source's: a DataFrame used twice
        (``a.union(b).union(a)``) leaves more lines than directories, and lines with the same offsets in every
        entry look alike; or 4.2 has named them in an offset log of version 1. Else the number or the name
        tells, and a directory that was renamed is missing."""
        if self.newest is None or self.newest.format_version >= 2:
            return False
        is_named = self.newest.conf.get(SOURCE_EVOLUTION) == "true"
        sources = self.checkpoint.sources
        is_open = any(source.key == key and source.directory is None for source in sources)
        owned = {source.directory for source in sources}
        others = {
            path
            for path in self.source_directories
            if path not in owned and (is_named or (key != "0" and is_number(path.rsplit("/", 1)[-1])))
        }
        return is_open and self.kind(key).has_own_log and bool(others)

    @lazy
    def has_other_offsets(self) -> bool:
        """Whether a Kafka broker that was asked ends elsewhere than the newest offsets, or has other
        partitions."""
        for key, answer in self.connectors.brokers.items():
            line = self.newest.source(key) if self.newest is not None else None
            positions = KAFKA.positions(parse(line.raw)) if line is not None and line.raw is not None else {}
            topics = {name.rpartition("-")[0] for name in positions} | set(self.query.topics.get(key, ()))
            log_ends = {
                f"{topic}-{partition}": here.log_end
                for (topic, partition), here in answer.partitions.items()
                if topic in topics
            }
            if (
                answer.trouble is None
                and positions
                and None not in log_ends.values()
                and log_ends != positions
            ):
                return True
        return False

    @lazy
    def has_lost_offsets(self) -> bool:
        """Whether a source has ``-`` in committed offsets/N: what it read before is new data then."""
        newest = self.newest
        return newest is not None and any(line.raw is None for line in newest.sources)

    @lazy
    def has_unplanned_files(self) -> bool:
        """Whether the log of a file source goes on after the newest offset, or lacks more than the last entry
        before it: the files of lost entries are new to Spark."""
        for line in self.newest.sources if self.newest is not None else ():
            end = FILES.value(parse(line.raw)) if line.raw is not None else None
            if end is None or not self.kind(line.key).has_own_log or self.has_untold_log(line.key):
                continue
            newest = self.newest_log_id(line.key)
            if newest > end or newest < end - 1:
                return True
        return False

    def offset(self, batch_id: int | None) -> OffsetEntry | Problem | None:
        """The offset entry of a batch; None when the file is not there (or when there is no such id)."""
        return (
            None
            if batch_id is None or batch_id not in self.checkpoint.offset_files
            else self.checkpoint.offset(batch_id)
        )

    def commit(self, batch_id: int | None) -> CommitEntry | Problem | None:
        """The commit entry of a batch; None when the file is not there."""
        return (
            None
            if batch_id is None or batch_id not in self.checkpoint.commit_files
            else self.checkpoint.commit(batch_id)
        )

    def offset_entry(self, batch_id: int | None) -> OffsetEntry | None:
        """The offset entry of a batch when it is there and readable."""
        entry = self.offset(batch_id)
        return entry if isinstance(entry, OffsetEntry) else None

    def commit_entry(self, batch_id: int | None) -> CommitEntry | None:
        """The commit entry of a batch when it is there and readable."""
        entry = self.commit(batch_id)
        return entry if isinstance(entry, CommitEntry) else None

    @lazy
    def newest(self) -> OffsetEntry | None:
        """The entry of ``offsets/N`` when it is readable."""
        return self.offset_entry(self.n)

    @lazy
    def location(self) -> str:
        """The location as it reads in Spark's messages."""
        return self.checkpoint.door.origin.url

    @lazy
    def is_local(self) -> bool:
        """Whether Hadoop keeps checksum side files here (the local file system)."""
        return self.checkpoint.door.origin.is_local

    @lazy
    def offset_checksums(self) -> frozenset[int]:
        """Ids that have a checksum side file in ``offsets/`` and no log file."""
        return self.checkpoint.stale_checksums("offsets")

    @lazy
    def commit_checksums(self) -> frozenset[int]:
        """Ids that have a checksum side file in ``commits/`` and no log file."""
        return self.checkpoint.stale_checksums("commits")

    @lazy
    def later_state(self) -> tuple[Evidence, ...]:
        """State of the version after the next one, which only a batch after N can have written: offsets and
        commits were rolled back.

        A file of a much later version alone is junk: versions have no gaps.
        """
        if not self.checkpoint.has_state or self.n is None or not self.with_state:
            return ()
        if self.has_only_foreign_state:
            return ()
        files = (
            f
            for op in state_inventory(self.checkpoint).operators
            for part in op.partitions
            for f in part.files
        )
        return tuple(Evidence(path) for path in sorted(f.path for f in files if f.version == self.n + 2)[:1])

    @lazy
    def state_holds_anything(self) -> bool:
        """Whether there is anything below ``state/``, also what is none of Spark's files; Hadoop's local file
        system shows no hidden checksum files."""
        listing = self.checkpoint.door.list(["state"])["state"]
        names = [name for name in listing.names() if not is_hidden_checksum(name)]
        return bool(listing.directories or (names if self.is_local else listing.files))

    @lazy
    def has_only_foreign_state(self) -> bool:
        """Whether ``state/`` has files and none of Spark's: they make no query stateful. Neither does one
        file alone that only has the name of one: Spark 3.5 and newer write a schema and the metadata of the
        operator first."""
        if not self.checkpoint.has_state or not self.with_state:
            return False
        inventory = state_inventory(self.checkpoint)
        if not inventory.file_count:
            names = [item.path.rpartition("/")[2] for item in inventory.leftovers]
            is_spark_s = any(map(_BESIDE_STATE.fullmatch, names)) or bool(self.operators_put_away)
            return bool(names) and not is_spark_s
        kinds = [f.kind for op in inventory.operators for f in op.own_files]
        kinds += [f.kind for op in inventory.operators for part in op.partitions for f in part.files]
        is_alone = len(kinds) == 1 and inventory.file_count == 1 and kinds[0] in _OF_A_VERSION
        return is_alone and self.version >= V35

    @lazy
    def state_is_empty(self) -> bool:
        """There is nothing below ``state/`` that Spark would see: no file, and no directory (a file system
        keeps empty ones, an object store does not)."""
        return not state_inventory(self.checkpoint).file_count and not self.state_holds_anything

    @lazy
    def source_directories(self) -> tuple[str, ...]:
        """The directories below ``sources/``."""
        return self.checkpoint.source_directories

    @lazy
    def kinds(self) -> dict[str, SourceKind]:
        """Source key -> its kind, as far as its offsets tell."""
        return {source.key: source.kind for source in self.checkpoint.sources}

    def kind(self, key: str) -> SourceKind:
        """The kind of this source; the unknown kind for a source that no offset names."""
        return self.kinds.get(key, UNKNOWN)

    @lazy
    def file_logs(self) -> dict[str, CompactibleLog]:
        """The logs of the file sources by source key: one listing each, nothing read."""
        directories = {
            s.key: s.directory
            for s in self.checkpoint.sources
            if s.kind.has_own_log and s.directory and s.key not in self.without_own_log
        }
        if (
            not self.checkpoint.sources
        ):  # without an offset nothing tells the kinds; only file sources write more than an entry 0
            directories = {path.removeprefix("sources/"): path for path in self.source_directories}
        listings = self.checkpoint.door.list(directories.values(), known_there=True) if directories else {}
        logs = {key: compactible_log(listings[directory]) for key, directory in directories.items()}
        return logs if self.checkpoint.sources else {key: log for key, log in logs.items() if log.newest_id}

    @lazy
    def without_own_log(self) -> frozenset[str]:
        """File sources whose log is gone, because they are at another place than the one whose log is
        there."""
        return without_own_log(self.checkpoint.sources, self.connectors.urls)

    def file_log(self, key: str) -> FileLog:
        """What the log of a file source says, of the files that a start of Spark reads; read on first use and
        kept as long as the checkpoint. Empty for a source without such a log, and where only names are looked
        at."""
        log = self.file_logs.get(key)
        if log is None or not self.with_state:
            return FileLog()
        ck = self.checkpoint
        return ck.kept(f"file log {key}", lambda: read_file_log(ck.door, log, ck.settings))
