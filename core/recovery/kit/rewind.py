"""rewind: a copy of the checkpoint that stands at an older batch, whose state is complete."""

from __future__ import annotations

import io
import json
import re
import tempfile
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.recovery.kit.copying import Copy
from core.recovery.kit.files import Files, file_log, gone_and_changed, not_the_same
from core.recovery.kit.older_files import check_older_files
from core.recovery.kit.placement import (
    Placed,
    all_rows,
    compared_rows,
    parts_of,
    placed,
    refuse_twice,
    version_of_spark,
)
from core.recovery.kit.read_again import newest_entry, not_asked
from core.recovery.kit.reading_state import reader_settings, root_cause, session_settings
from core.recovery.kit.run import Run
from core.recovery.kit.sink import check_sink_is_ours, sink_numbers
from core.recovery.kit.starting import join_reads, show_unread_state, unread_state
from core.recovery.kit.words import Checks, Refused, is_hidden, show

STATE_FILE = re.compile(
    r"state/[0-9]+/[0-9]+/(?:[^/]+/)?([0-9]+)(?:_[^/.]+)?\.(?:delta|snapshot|zip|changelog)(?:\.crc)?"
)
OPERATOR_METADATA = re.compile(r"state/[0-9]+/_metadata/v2/([0-9]+)")


def own_schema_paths(files: Files, place: str, old: str, new: str) -> str:
    """The metadata of an operator, for a copy of ``old`` at ``new``: transformWithState names its schema
    files by absolute paths, in the copy they are those of the copy."""
    text = files.read(place)
    version, line = text.split("\n", 1)
    content = json.loads(line)
    named = [store.get("stateSchemaFilePaths") or [] for store in content["stateStoreInfo"]]
    for paths in named:
        for number, path in enumerate(paths):
            if not files.is_inside(path, old):
                raise Refused(
                    f"{place} names the schema file {path} of another checkpoint, so a copy would depend on "
                    "that."
                )
            inside = files.plain_path(path)[len(files.plain_path(old)) :]
            paths[number] = files.qualified(new) + inside
    return version + "\n" + json.dumps(content, separators=(",", ":")) if any(named) else text


class RolledBack(Copy):
    """Logs up to a batch, state up to its version (a later snapshot would be loaded unchecked one day), the
    whole source logs without ``left_out``, damaged entries that only later batches had."""

    def __init__(
        self,
        run: Run,
        to_batch: int,
        left_out: Sequence[str] = (),
        sources: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(run)
        self.to_batch, self.left_out, self.not_asked = to_batch, left_out, sources or {}
        self.changed: list[str] = []  # about input files that are read again

    def is_wanted(self, path: str) -> bool:
        """What the batch had, and nothing of later ones."""
        if path in self.left_out:
            return False
        log, _, name = path.partition("/")
        if log in ("offsets", "commits"):
            return name.isascii() and name.isdigit() and int(name) <= self.to_batch
        state, metadata = STATE_FILE.fullmatch(path), OPERATOR_METADATA.fullmatch(path)
        if state:
            return int(state[1]) <= self.to_batch + 1
        return metadata is None or int(metadata[1]) <= self.to_batch

    def altered(self, path: str) -> str | None:
        """A new query ID for a Delta sink; schema files are named where they are in the copy."""
        run = self.run
        if path == "metadata" and run.sink == "delta":
            return json.dumps({"id": (run.read_record() or {})["query_id"]})
        if OPERATOR_METADATA.fullmatch(path):
            old = run.old_checkpoint
            return own_schema_paths(run.files, f"{old}/{path}", old, run.new_checkpoint)
        return None

    def check_sink(self) -> None:
        """The sink must stand at the batch; that it is the sink of this query can be answered for, this
        cannot."""
        run, to_batch = self.run, self.to_batch
        check_sink_is_ours(run, run.old_checkpoint, to_batch)
        if run.sink == "file" and max(sink_numbers(run.files, run.sink_path) or [-1]) != to_batch:
            raise Refused(
                f"The file sink log in {run.sink_path} does not end at batch {to_batch}: Spark would skip the"
                " batches that it has, new rows included."
            )

    def plan(self) -> dict[str, int]:
        """The files to copy. Refuses when one that a start reads is missing."""
        wanted, to_batch = self.sizes(), self.to_batch
        before = max(to_batch - 1, 0)
        for path in ["metadata", f"offsets/{to_batch}", f"offsets/{before}", f"commits/{to_batch}"]:
            if path not in wanted:
                raise Refused(
                    f"{self.run.old_checkpoint}/{path} is missing, so the checkpoint cannot be rolled back to"
                    f" batch {to_batch}."
                )
        return wanted

    @property
    def newest(self) -> int:
        """The newest batch in the logs of the old checkpoint."""
        files, old = self.run.files, self.run.old_checkpoint
        return max(files.numbers(f"{old}/offsets") + files.numbers(f"{old}/commits"))

    def show_plan(self, wanted: dict[str, int]) -> None:
        """For the dry run: what is copied, and what is read again."""
        run, files, old, first = self.run, self.run.files, self.run.old_checkpoint, self.to_batch + 1
        everything = {path for path in files.sizes(old) if not is_hidden(path)}
        self.show_what_is_copied(wanted, len(everything - set(wanted)))
        newest = self.newest
        show(f"The first start runs batch {first}; what batches {first} to {newest} had read is read again.")
        if run.sink in ("kafka", "foreach_append"):
            show("This sink gets the rows of these batches a second time.")
        for _, text in not_asked(self.not_asked, first, newest):
            show(f"NOT CHECKED: {text}")

    def record(self) -> dict[str, Any]:
        """The new query ID is made once."""
        return {"query_id": str(uuid.uuid4())}

    def check_inputs(self, file_sources: Sequence[Mapping[str, Any]], accept_loss: bool) -> None:
        """Input files that are read again must still be there: Spark reads a file that is gone as an empty
        one. What was changed since is named."""
        run, files, self.changed = self.run, self.run.files, []
        for source in file_sources:
            directory = f"{run.old_checkpoint}/{source['directory']}"
            there = files.names(directory)
            kept = [name for name in there if f"{source['directory']}/{name}" not in self.left_out]
            again = file_log(files, directory, source["read"], newest_entry(kept))
            gone, changed = gone_and_changed(files, again)
            show(
                f"Source {source['key']}: {len(again)} files are read again, all of them in batch "
                f"{self.to_batch + 1}"
            )
            if changed:
                self.changed.append(not_the_same(source["key"], changed, len(again)))
                show(f"NOT CHECKED: {self.changed[-1]}")
            if gone and not accept_loss:
                raise Refused(
                    f"{len(gone)} of {len(again)} files that would be read again are gone, for example "
                    f"{gone[0]}: their rows would be missing. Put them back, or set ACCEPT_LOSS = True."
                )

    def check_ends(self) -> Checks:
        """The logs of the copy end at the batch; what the sink has was answered for, or asked."""
        run, to_batch = self.run, self.to_batch
        checks: Checks = [(None, text) for text in self.changed]
        checks += not_asked(self.not_asked, to_batch + 1, self.newest)
        if run.sink == "delta" and run.sink_is_ours:
            checks.append((None, f"that the table stands at batch {to_batch}: SINK_IS_OURS is set"))
        ends = [run.files.numbers(f"{run.new_checkpoint}/{log}")[-1:] for log in ("offsets", "commits")]
        good = ends == [[to_batch], [to_batch]]
        return [*checks, (good, f"offsets and commits end at batch {to_batch}")]


class State:
    """The state after a batch, loaded by Spark from the old checkpoint and from the copy. ``operators``: id,
    name and stores of each."""

    def __init__(
        self,
        run: Run,
        to_batch: int,
        operators: Sequence[Mapping[str, Any]],
        state_format: int,
        codec: str | None,
    ) -> None:
        self.run, self.to_batch, self.operators = run, to_batch, operators
        self.format, self.codec = state_format, codec
        self.rows: dict[str, int] = {}
        self.placed: list[Placed] = []
        self.older: Checks = []
        self.sst_files = 0

    def look(self, wanted: Mapping[str, int]) -> None:
        """Loads all of it from the old checkpoint; refuses damage."""
        run, old = self.run, self.run.old_checkpoint
        if self.has_reader:
            self.rows = self.load(old)
            self.placed = placed(run, old, self.to_batch, parts_of(self.operators), self.format)
            refuse_twice(self.placed, self.to_batch, "Choose an earlier batch.")
            for each in self.placed:
                if each.part.is_transform and not each.why_not:
                    show(f"State of {each.part} after batch {self.to_batch}: {each.rows} rows")
            for good, text in self.lines():
                show(f"{'State' if good else 'NOT CHECKED'}: {text}")
        elif self.operators:
            show_unread_state(run, old)
        self.sst_files = self.check_sst_files(wanted)
        self.older = check_older_files(run, old, self.to_batch)
        for _, text in self.older:
            show(f"NOT CHECKED: {text}")

    def parts(self) -> Iterator[tuple[str, dict[str, str]]]:
        """How a person calls each part of the state, and the options with which the state reader reads it."""
        for operator in self.operators:
            stores = operator["stores"] or ["default"]
            if (operator["name"] or "").startswith("transformWithState"):
                continue  # it needs the names of state variables; :meth:`compared` reads the rows as they are
            if operator["name"] == "symmetricHashJoin":
                parts = join_reads(stores)
            else:
                parts = {part: {} if part == "default" else {"storeName": part} for part in stores}
            for part, option in parts.items():
                what = f"operator {operator['id']} ({operator['name']}), {part}"
                yield what, {"operatorId": str(operator["id"]), **option}

    @property
    def has_reader(self) -> bool:
        """Whether this Spark has a state reader."""
        return version_of_spark(self.run.spark) >= (4, 0)

    def load(self, checkpoint: str) -> dict[str, int]:
        """The number of rows of every part: loading them reads every partition."""
        with session_settings(self.run.spark, reader_settings(self.format)):
            rows = self.counted(checkpoint)
        for name, count in rows.items():
            show(f"State of {name} after batch {self.to_batch}: {count} rows")
        return rows

    def counted(self, checkpoint: str) -> dict[str, int]:
        """The number of rows of every part."""
        spark, to_batch, rows = self.run.spark, self.to_batch, {}
        for name, options in self.parts():
            reader = spark.read.format("statestore").option("batchId", str(to_batch)).options(**options)
            try:
                rows[name] = reader.load(checkpoint).count()
            except Exception as error:
                raise Refused(
                    f"The state of {name} after batch {to_batch} cannot be loaded from {checkpoint}: "
                    f"{root_cause(error)}. Choose an earlier batch."
                ) from error
        return rows

    def check(self) -> Checks:
        """The copy has the state of the old checkpoint."""
        if not self.operators:
            return []
        if not self.has_reader:
            return [*unread_state(self.run.spark), *self.older]
        checks: Checks = [*self.older]
        if self.rows:
            try:
                again = self.load(self.run.new_checkpoint)
            except Refused as reason:
                return [(False, str(reason))]
            text = f"the state reader loads every partition of the copy at version {self.to_batch + 1}"
            checks.append((again == self.rows, f"{text}, with the rows of the old checkpoint"))
        checks += [self.compared(each) for each in self.placed if each.part.is_transform]
        checks += self.lines()
        if self.codec != "lz4":
            text = f"single flipped bits in state files: {self.codec} keeps no checksum of the content"
            checks.append((None, text))
        if self.sst_files:
            text = f"every block of the {self.sst_files} SST files that are loaded has its checksum"
            checks.append((True, text))
        return checks

    def lines(self) -> Checks:
        """How the rows are spread; of transformWithState that is not read, :meth:`compared` says so."""
        found = self.placed
        return [each.line() for each in found if not (each.part.is_transform and each.why_not)]

    def compared(self, found: Placed) -> tuple[bool | None, str]:
        """Whether the copy has the rows of transformWithState of the old checkpoint."""
        run, part = self.run, found.part
        if found.why_not:
            return None, f"the state of {part}: {found.why_not}; the first start loads it"
        with session_settings(run.spark, reader_settings(self.format)):
            try:
                was, now = (
                    all_rows(run.spark, place, self.to_batch, part)
                    for place in (run.old_checkpoint, run.new_checkpoint)
                )
                return compared_rows(was, now, found.rows, part)
            except Exception as error:
                return False, f"the state of {part} cannot be compared: {root_cause(error)}"

    def needed_sst_files(self, wanted: Mapping[str, int]) -> list[str]:
        """The SST files of the zip that each store loads; every zip has a list of its own."""
        zips: dict[str, dict[int, list[str]]] = {}
        for path in wanted:
            version = STATE_FILE.fullmatch(path)
            if version and path.endswith(".zip"):
                zips.setdefault(path.rpartition("/")[0], {}).setdefault(int(version[1]), []).append(path)
        found = set()
        for directory, versions in zips.items():
            for path in versions[max(versions)]:
                content = self.run.files.read_bytes(f"{self.run.old_checkpoint}/{path}")
                with zipfile.ZipFile(io.BytesIO(content)) as packed:
                    listed = json.loads(packed.read("metadata").decode().split("\n", 1)[1])
                found |= {f"{directory}/SSTs/{each['dfsSstFileName']}" for each in listed["sstFiles"]}
        return sorted(found)

    def check_sst_files(self, wanted: Mapping[str, int]) -> int:
        """Refuses a damaged SST file; gives their number. It reads the checksum of every block: the state
        reader does not notice every flipped bit in one."""
        spark, old = self.run.spark, self.run.old_checkpoint
        paths = self.needed_sst_files(wanted)
        if not paths:
            return 0
        spark._jvm.org.rocksdb.RocksDB.loadLibrary()
        options = spark._jvm.org.rocksdb.Options()
        with tempfile.TemporaryDirectory() as scratch:
            for number, path in enumerate(paths):
                local = Path(scratch) / f"{number}.sst"
                reader = spark._jvm.org.rocksdb.SstFileReader(options)
                try:
                    self.run.files.copy(f"{old}/{path}", f"file://{local}", True)
                    reader.open(str(local))
                    reader.verifyChecksum()
                except Exception as error:
                    raise Refused(
                        f"{old}/{path} is damaged: {root_cause(error)}. Choose an earlier batch."
                    ) from error
                finally:
                    reader.close()
                local.unlink()
        show(f"Every block of the {len(paths)} SST files that are loaded has its checksum.")
        return len(paths)
