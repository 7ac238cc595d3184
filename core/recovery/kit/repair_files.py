"""repair_files: a copy of the checkpoint in which single files are left out, written or copied."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from core.recovery.kit.older_files import check_older_files
from core.recovery.kit.run import Run, check_apart, check_unmoved, under_another_name
from core.recovery.kit.session import check_connectors
from core.recovery.kit.sink import delta_history, sink_numbers
from core.recovery.kit.starting import absolute_paths, newest_in, show_unread_state, with_new_paths
from core.recovery.kit.words import Checks, Refused, show

OR_OPTION = "Correct SINK_PATH, or choose another option."


class RepairedFiles:
    """The copy. ``repairs``: what is done to which file, what it was and why; ``again_from``: the first batch
    that is planned again, ``again_is_same``: with the end offsets that it had."""

    def __init__(
        self, run: Run, repairs: Sequence[Mapping[str, Any]], again_from: int | None, again_is_same: bool
    ) -> None:
        self.run, self.repairs = run, repairs
        self.again_from, self.again_is_same = again_from, again_is_same

    def check_connector(self) -> None:
        """Refuses when the sink has to be asked, and this Spark cannot."""
        if self.again_from is not None:
            check_connectors(self.run.spark, {self.run.sink} & {"delta"})

    def check_places(self) -> None:
        """Refuses what is not a checkpoint, one that has moved, and a directory of somebody else."""
        run, files = self.run, self.run.files
        check_apart(run, run.old_checkpoint)
        if not files.exists(f"{run.old_checkpoint}/offsets"):
            raise Refused(f"{run.old_checkpoint} has no offsets: it is not a checkpoint.")
        if run.read_record() is None and files.names(run.new_checkpoint):
            raise Refused(
                f"{run.new_checkpoint} is not empty and was not made by this script. Choose another location "
                "for NEW_CHECKPOINT."
            )
        check_unmoved(run, run.old_checkpoint)

    def check_as_planned(self) -> None:
        """Refuses when a file is no longer as it was when the plan was made."""
        files = self.run.files
        for repair in self.repairs:
            place = f"{self.run.old_checkpoint}/{repair['file']}"
            now = files.digest(place) if files.exists(place) else None
            if now != repair["was"]:
                raise Refused(
                    f"{repair['file']} is not as it was when this plan was made: the query has run, or "
                    "somebody changed it. Make a new plan."
                )
            words = {
                "leave_out": "is left out",
                "write": "is written new",
                "copy": f"becomes a copy of {repair['source']}",
            }
            show(f"{repair['file']} {words[repair['does']]}. {repair['why']}")

    def show_what_the_sink_does(self) -> None:
        """For the dry run, as long as the copy is not made."""
        if self.run.read_record() is None or not self.run.is_made:
            for good, text in self.check_sink():
                show(f"{'Sink' if good else 'Sink, NOT CHECKED'}: {text}")
            show_unread_state(self.run, self.run.old_checkpoint)

    def make(self) -> dict[str, Any]:
        """The copy, unless an earlier run made it; gives its record. Refuses when the query has run with
        it."""
        run = self.run
        record = run.read_record()
        if record is not None and self.has_run(record):
            raise Refused(
                f"{run.new_checkpoint} was made by this script, and the query has run with it since. Nothing "
                "is left to do."
            )
        return record if record is not None and run.is_made else self.copy(record or {})

    def has_run(self, record: Mapping[str, Any]) -> bool:
        """Whether the query has run with the repaired copy since."""
        files, new = self.run.files, self.run.new_checkpoint
        logs = ("commits", "offsets")
        return any(files.numbers(f"{new}/{log}")[-1:] > record["newest"][log] for log in logs)

    def copy(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Under another name first; a text that an earlier run made (a new query ID) is made only once."""
        run, files = self.run, self.run.files
        old, new = run.old_checkpoint, run.new_checkpoint
        changed = {repair["file"]: repair for repair in self.repairs}
        texts: dict[str, str] = record.get("texts") or {
            name: self.text_of(repair) for name, repair in changed.items() if repair["does"] != "leave_out"
        }
        paths = absolute_paths(files, old)
        texts |= {name: with_new_paths(run, texts[name]) for name in paths if name in texts}
        copied = 0
        with under_another_name(run) as building:
            for directory in ("offsets", "commits", "sources"):
                files.make(f"{building}/{directory}")
            for name in files.walk(old):
                if name in changed:
                    continue
                if name in paths:
                    texts[name] = with_new_paths(run, files.read(f"{old}/{name}"))
                    continue
                if files.copy_exactly(f"{old}/{name}", f"{building}/{name}") is None:
                    raise Refused(
                        f"{name} was removed while the checkpoint was copied: its query is still running. "
                        "Stop it first."
                    )
                copied += 1
            for name, text in texts.items():
                files.write(f"{building}/{name}", text)
            newest = {log: files.numbers(f"{building}/{log}")[-1:] for log in ("commits", "offsets")}
            done: dict[str, Any] = {"texts": texts, "newest": newest}
            run.write_record(done)
            if files.exists(new):  # an empty directory
                files.put_aside(new)
        show(f"Repaired copy: {copied} files as they were, {len(texts)} written, in {new}")
        return done

    def text_of(self, repair: Mapping[str, Any]) -> str:
        """The content of a file that is written."""
        if repair["does"] == "copy":
            return self.run.files.read(f"{self.run.old_checkpoint}/{repair['source']}")
        text: str | None = repair["text"]
        return text if text is not None else json.dumps({"id": str(uuid.uuid4())})

    def compare(self, record: Mapping[str, Any]) -> Checks:
        """Old and new, file by file and by content: they differ in the repaired files only."""
        files, texts = self.run.files, record["texts"]
        old, new = files.walk(self.run.old_checkpoint), files.walk(self.run.new_checkpoint)
        left_out = {repair["file"] for repair in self.repairs if repair["does"] == "leave_out"}
        wanted = (set(old) | set(texts)) - left_out
        wrong = sorted(wanted ^ set(new))
        for name in sorted(wanted & set(new)):
            here = files.digest(f"{self.run.new_checkpoint}/{name}")
            if name in texts:
                same = here == hashlib.sha256(texts[name].encode()).hexdigest()
            else:
                same = here == files.digest(f"{self.run.old_checkpoint}/{name}")
            wrong += [] if same else [name]
        if wrong:
            return [(False, f"{len(wrong)} files differ from the plan, for example {wrong[0]}")]
        kept = len(wanted) - len(texts)
        text = f"the copy has {len(new)} files; {kept} of them have the content of the old checkpoint"
        committed = newest_in(files, self.run.new_checkpoint, "commits")
        older = (
            check_older_files(self.run, self.run.old_checkpoint, committed) if committed is not None else []
        )
        return [(True, f"{text}, the others are those of the plan"), *older]

    # ---------------------------------------------------------------- what the sink does

    def newest_in_sink(self) -> int:
        """The newest batch of this query in a sink that keeps a log of batches; -1 when it has none."""
        run = self.run
        if run.sink == "file":
            return max(sink_numbers(run.files, run.sink_path) or [-1])
        ours = delta_history(run).where("operation = 'STREAMING UPDATE'")
        found = [row["operationParameters"] for row in ours.collect()]
        mine = [each for each in found if run.query_id is None or each.get("queryId") == run.query_id]
        return max((int(each["epochId"]) for each in mine), default=-1)

    def check_sink(self) -> Checks:
        """Whether the sink may have a batch that is planned again. Refuses where it would skip new rows."""
        run, again = self.run, self.again_from
        if again is None:
            return [(True, "no batch that the sink may have is planned again")]
        if run.sink == "foreach_merge":
            text = f"batch {again} is planned again; rows of it that the sink has replace themselves by key"
            return [(True, text)]
        if run.sink not in ("file", "delta") or not run.sink_path:
            text = f"whether rows of batch {again}, which is planned again, have reached the sink"
            return [(None, f"{text}: a sink that appends has them twice then")]
        last = self.newest_in_sink()
        if self.again_is_same:
            text = f"batch {again} runs again with the end offsets it had; the sink ends at batch {last}"
            return [(True, f"{text} and skips what it has")]
        if last >= again:
            raise Refused(
                f"The sink already has batch {last}, and batch {again} would be planned again with other end "
                f"offsets: it would be skipped, and new rows in it would be lost. {OR_OPTION}"
            )
        text = f"the sink ends at batch {last}: it has nothing of batch {again}, which is planned again"
        return [(True, text)]
