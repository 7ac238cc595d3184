"""restore_backup: a verified backup, copied into a new directory."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from core.recovery.kit.placement import Placed, placed_in, refuse_twice
from core.recovery.kit.read_again import files_again, not_asked
from core.recovery.kit.run import Run, check_apart, under_another_name
from core.recovery.kit.sink import delta_history, sink_numbers
from core.recovery.kit.starting import newest_in, offset_file, show_unread_state, with_new_paths
from core.recovery.kit.words import Checks, Refused, show

OR_SINK = "Correct SINK_PATH, restore the sink to the same batch too, or use a new output."


class Restored:
    """The backup in a new directory. ``new_query_id``: for a Delta table that was restored."""

    def __init__(
        self,
        run: Run,
        new_query_id: bool,
        file_sources: Mapping[str, str] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self.run, self.backup, self.new_query_id = run, run.backup, new_query_id
        self.file_sources, self.not_asked = file_sources or {}, sources or {}
        self.manifest = self.read_manifest()
        self.placed: list[Placed] = []

    def read_manifest(self) -> dict[str, Any]:
        """The list of the files of the backup."""
        files, place = self.run.files, self.backup.rstrip("/") + ".manifest.json"
        if not files.exists(self.backup):
            raise Refused(f"There is no backup in {self.backup}.")
        if not files.exists(place):
            raise Refused(
                f"{place} is missing, so it cannot be verified that {self.backup} is complete. Only backups "
                "of the option backup are restored."
            )
        manifest: dict[str, Any] = json.loads(files.read(place))
        return manifest

    def check_places(self) -> None:
        """Refuses a directory that is the backup, or the checkpoint in use."""
        run = self.run
        check_apart(run, self.backup)
        if run.old_checkpoint and run.files.is_inside(run.new_checkpoint, run.old_checkpoint):
            raise Refused(
                "A backup is never restored over the checkpoint in use. Choose a new directory for "
                "NEW_CHECKPOINT."
            )

    def check_unused(self) -> None:
        """Refuses a directory with files of somebody else."""
        if self.earlier_run() is None and self.run.files.names(self.run.new_checkpoint):
            raise Refused(
                f"{self.run.new_checkpoint} is not empty. Choose an empty or a new directory for "
                "NEW_CHECKPOINT."
            )

    def check_can_move(self) -> None:
        """Refuses logs that are found by their whole path."""
        for name in self.run.files.walk(self.backup):
            if name.startswith("sources/") and "/_schema_log_" in name:
                raise Refused(
                    f"{name} belongs to a Delta source with schema tracking, which finds its log by the whole"
                    " path: a copy elsewhere does not work."
                )

    def show_what_the_sink_does(self) -> None:
        """For the dry run, as long as the query has not run with the restored checkpoint."""
        batch = self.manifest["batch"]
        show(f"The backup was made after batch {batch}; the restored query begins with batch {batch + 1}.")
        show_unread_state(self.run, self.backup)
        if self.earlier_run() is None or not self.has_run():
            for good, text in self.check_sink():
                show(f"{'Sink' if good else 'Sink, NOT CHECKED'}: {text}")
            for _, text in self.check_read_again():
                show(f"NOT CHECKED: {text}")

    def compare_with_manifest(self, place: str, rewritten: Collection[str] = ()) -> None:
        """Refuses a copy that is not the one of the manifest."""
        files = self.run.files
        wanted = {entry["file"]: entry["sha256"] for entry in self.manifest["files"]}
        there = files.walk(place)
        wrong = sorted(set(wanted) ^ set(there))
        wrong += [
            name
            for name in sorted(set(wanted) & set(there))
            if name not in rewritten and files.digest(f"{place}/{name}") != wanted[name]
        ]
        if wrong:
            raise Refused(
                f"{len(wrong)} files of {place} differ from the manifest, for example {wrong[0]}: this copy "
                "is damaged or was changed."
            )

    def check_placed(self) -> None:
        """Refuses a state in which a key lies in two partitions."""
        self.placed = placed_in(self.run, self.backup)
        refuse_twice(self.placed, self.manifest["batch"], "Choose an earlier backup.")

    def facts(self) -> dict[str, Any]:
        """What the record of this script says about the backup."""
        place = self.run.files.plain_path(self.backup)
        return {"backup": place, "batch": self.manifest["batch"], "new_query_id": self.new_query_id}

    def earlier_run(self) -> dict[str, Any] | None:
        """What an earlier run of this script recorded, None when there was none."""
        record = self.run.read_record()
        if record is not None and any(record.get(name) != value for name, value in self.facts().items()):
            raise Refused(
                f"{self.run.record_place} was written for another backup. Choose another location for "
                "NEW_CHECKPOINT."
            )
        return record

    def has_run(self) -> bool:
        """Whether the query has run with the restored checkpoint since."""
        files, new = self.run.files, self.run.new_checkpoint
        return any(
            files.numbers(f"{new}/{log}")[-1:] > files.numbers(f"{self.backup}/{log}")[-1:]
            for log in ("commits", "offsets")
        )

    def make(self) -> None:
        """The copy, unless an earlier run made it; refuses when the query has run with it since."""
        run, files = self.run, self.run.files
        if self.earlier_run() is not None and files.names(run.new_checkpoint):
            if self.has_run():
                raise Refused(
                    f"{run.new_checkpoint} was made by this script, and the query has run with it since. "
                    "Nothing is left to do."
                )
            return
        backup = self.backup
        with under_another_name(run) as building:
            for entry in self.manifest["files"]:
                name = entry["file"]
                if name == "metadata" and self.new_query_id:
                    files.write(f"{building}/metadata", json.dumps({"id": str(uuid.uuid4())}))
                elif name in self.manifest["absolute_paths"]:
                    files.write(f"{building}/{name}", with_new_paths(run, files.read(f"{backup}/{name}")))
                elif files.copy_exactly(f"{backup}/{name}", f"{building}/{name}") != entry["sha256"]:
                    raise Refused(f"{backup}/{name} changed while it was copied.")
            for name in ("offsets", "commits", "sources"):
                files.make(f"{building}/{name}")
            run.write_record(self.facts())
            if files.exists(run.new_checkpoint):  # an empty directory
                files.put_aside(run.new_checkpoint)
        show(f"Restored: {len(self.manifest['files'])} files in {run.new_checkpoint}")

    def check_content(self) -> Checks:
        """The new directory has the files of the manifest; schema files are named where they are now."""
        rewritten = self.manifest["absolute_paths"]
        changed = {*rewritten, *(["metadata"] if self.new_query_id else [])}
        text = f"all {len(self.manifest['files'])} files have the content of the manifest"
        checks: Checks = [(True, text)]
        try:
            self.compare_with_manifest(self.run.new_checkpoint, changed)
        except Refused as reason:
            checks = [(False, str(reason))]
        for name in rewritten:
            checks += self.check_paths(name)
        return checks

    def check_paths(self, name: str) -> Checks:
        """Every schema file that operator metadata names is there, below the new checkpoint."""
        files, new = self.run.files, self.run.new_checkpoint
        pattern = r'"([^"\\]*/state/[0-9]+/_stateSchema/[^"\\]*)"'
        found = re.findall(pattern, files.read(f"{new}/{name}"))
        lost = [path for path in found if not files.is_inside(path, new) or not files.exists(path)]
        text = f"{name} names {lost[0]}" if lost else f"{name} names its schema files in the new checkpoint"
        return [(bool(found) and not lost, text)]

    @property
    def newest_known(self) -> int | None:
        """The newest batch that the old checkpoint names; None where there is no such checkpoint any more."""
        old = self.run.old_checkpoint
        return newest_in(self.run.files, old, "offsets") if old else None

    def check_read_again(self) -> Checks:
        """What the sources may no longer have of the batches after the backup."""
        files, old = self.run.files, self.run.old_checkpoint
        checks = not_asked(self.not_asked, self.manifest["batch"] + 1, self.newest_known)
        return checks + (files_again(files, old, self.backup, self.file_sources) if old else [])

    # ---------------------------------------------------------------- what the sink does

    def check_sink(self) -> Checks:
        """What the sink does with the batches after the backup. Refuses where new rows would be lost."""
        run, first = self.run, self.manifest["batch"] + 1
        if run.sink == "file":
            numbers = sink_numbers(run.files, run.sink_path)
            if numbers is None:
                raise Refused(
                    f"{run.sink_path} has no _spark_metadata: it is not the output directory of this query's "
                    f"file sink. {OR_SINK}"
                )
            text = self.compare_with_sink(max(numbers), "the file sink log")
            if self.was_written_by_it(numbers):
                return [(True, text)]
            return [
                (
                    None,
                    f"{text}; but its entries were not written while these batches ran: make sure that it is "
                    "this query's output (a copy of it is fine)",
                )
            ]
        if run.sink == "delta":
            return self.check_delta()
        if run.sink == "foreach_merge":
            text = f"every batch from {first} on is produced again, and its rows replace themselves by key"
            return [(True, text)]
        known = self.newest_known
        is_unknown = known is None or known < first
        if run.sink == "foreach_txn" and not is_unknown:
            raise Refused(
                f"Batches after the backup have run (up to {known}): write_batch skips these txnVersions, "
                "whatever rows come with them, new rows included. Give it another txnAppId first, and set "
                'SINK = "foreach_append" or "foreach_merge": their rows are then written again.'
            )
        later = (
            f"every batch from {first} on that was written" if is_unknown else f"batches {first} to {known}"
        )
        if known == first:
            later = f"batch {first}"
        return [
            (
                None,
                f"{later} will be produced again: harmless in a sink with a key, a second time in one that "
                "appends; one that skips batch IDs loses new rows",
            )
        ]

    def was_written_by_it(self, numbers: list[int]) -> bool:
        """Whether the newest entries of the file sink log, which names no query, were written between the
        plan of their batch and that of the next."""
        files, place, backup = self.run.files, self.run.sink_path, self.backup
        written, slack_ms = files.times(f"{place}/_spark_metadata"), files.clock_slack_ms(place, backup)
        planned = {
            number: offset_file(files, backup, number)[0]["batchTimestampMs"]
            for number in files.numbers(f"{backup}/offsets")[-5:]
        }
        mine = [number for number in sorted(numbers)[-5:] if number in planned]
        for number in mine:
            at = written[str(number) if str(number) in written else f"{number}.compact"]
            if at < planned[number] - slack_ms:
                return False
            if number + 1 in planned and at > planned[number + 1] + slack_ms:
                return False
        return bool(mine)

    def compare_with_sink(self, last: int, place: str) -> str:
        """Refuses unless the sink ends where the backup ends, or has the planned batch of the backup."""
        batch, first = self.manifest["batch"], self.manifest["batch"] + 1
        if last == batch:
            text = f"{place} ends at batch {last}, as the backup does"
            return f"{text}: nothing is repeated and nothing is skipped"
        if last == self.manifest["pending"]:
            return (
                f"{place} has batch {last}, which the backup has planned with the same end offsets: it is "
                "skipped, and nothing is lost"
            )
        if last < batch:
            raise Refused(
                f"The newest batch of this query in {place} is {last}, but the backup was made after batch "
                f"{batch}: the rows of the batches between them would be missing. {OR_SINK}"
            )
        raise Refused(
            f"The newest batch of this query in {place} is {last}, but the restored query begins with batch "
            f"{first}: the sink would skip the batches up to {last} whatever they hold, and new rows in them "
            f"would be lost. {OR_SINK} For a Delta table that was restored, set NEW_QUERY_ID = True."
        )

    def check_delta(self) -> Checks:
        """What a Delta table does."""
        run, query, batch = self.run, self.manifest["query_id"], self.manifest["batch"]
        if not run.files.exists(f"{run.sink_path}/_delta_log"):
            raise Refused(f"{run.sink_path} is not a Delta table. {OR_SINK}")
        restored = False
        for commit in delta_history(run).toLocalIterator():
            details = commit["operationParameters"] or {}
            if commit["operation"] == "STREAMING UPDATE" and details.get("queryId") == query:
                last = int(details["epochId"])
                break
            restored = restored or commit["operation"] == "RESTORE"
        else:
            raise Refused(
                f"The history of {run.sink_path} has no batch of this query ({query}): it is another query's "
                f"table, or its history has expired. {OR_SINK}"
            )
        if restored and self.new_query_id:
            text = f"the table was restored after batch {last}"
            return [(None, f"{text}; that it holds exactly the batches up to {batch} is yours to compare")]
        if restored:
            raise Refused(
                f"The table was restored after batch {last}, and it still skips this query's batches up to "
                f"{last}. If it holds exactly the batches up to {batch}, set NEW_QUERY_ID = True."
            )
        return [(True, self.compare_with_sink(last, "the table's history"))]
