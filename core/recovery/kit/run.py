"""One run of a script: its values, what it has changed so far, and what an earlier run recorded."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from core.recovery.kit.files import Files
from core.recovery.kit.session import classic_session
from core.recovery.kit.words import Checks, Refused

LOOK_AGAIN_SECONDS: float = 5
QUIET_DAYS = 7


class Run:
    """The values that every script has at its top, by their names in small letters, and what this run has
    done.
    A place that is not known is empty; a batch that is not known is None. Values of one recipe alone are
    handed to its steps by the script.
    """

    ending_of_3 = "The verification FAILED: do not start the query before the cause is known."
    ending_of_5 = "Done, but NOT PROVEN: see what is NOT CHECKED above."
    ending_of_0 = "Done and proven on the files."

    def __init__(self, script: Mapping[str, Any]) -> None:
        self.made_by: str = script["MADE_BY"]
        self.old_checkpoint: str = script["OLD_CHECKPOINT"] or ""
        self.new_checkpoint: str = script["NEW_CHECKPOINT"] or ""
        self.backup: str = script.get("BACKUP") or ""
        self.query_id: str | None = script["QUERY_ID"]
        self.last_committed: int | None = script["LAST_COMMITTED_BATCH"]
        self.newest_offset: int | None = script["NEWEST_OFFSET"]
        self.pending: int | None = script["PENDING_BATCH"]
        self.sink: str | None = script.get("SINK")
        self.sink_path: str = script.get("SINK_PATH") or ""
        self.sink_is_ours: bool = bool(script.get("SINK_IS_OURS"))
        self.plan: list[str] = script["PLAN"]
        self.missing = [f"{name}: {why}" for name, why in script["REQUIRED"].items() if not script.get(name)]
        self.look: Callable[[Run], Any] = script["look"]
        self.recover: Callable[[Run], Checks] = script["recover"]
        self.plan_id = self._plan_id()
        self.is_stopped = False
        self.afterwards = ""  # the last line; without it the one about the new location
        self.changed: list[str] = []  # what this run has changed so far, and how to undo it
        self.rehearsed_in = ""  # where the copies of a rehearsal are
        self._spark: Any = None

    def _plan_id(self) -> str:
        """The same in every run of this script; a script made for another batch or with other values has
        another one."""
        places = [self.old_checkpoint or None, self.new_checkpoint or None]
        batches = [self.query_id, self.last_committed, self.pending]
        kept = [*batches, *places, self.sink, self.sink_path or None, self.plan]
        return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:16]

    def load(self) -> None:
        """What has to be there before Spark is started: nothing for a repair, which does not run the
        query."""

    def session(self) -> Any:
        """Spark, for :meth:`begin`."""
        return classic_session()

    def originals(self) -> list[str]:
        """The places that a rehearsal must leave as they are."""
        return [self.old_checkpoint, self.backup]

    def begin(self, spark: Any) -> None:
        """From here on there is a session."""
        self._spark = spark
        self.files = Files(spark)

    @property
    def spark(self) -> Any:
        """The session of Spark."""
        return self._spark

    @property
    def is_made(self) -> bool:
        """Whether an earlier run has made the new checkpoint."""
        return self.files.exists(self.new_checkpoint)

    @property
    def building(self) -> str:
        """The name under which the new checkpoint is written until it is complete."""
        return self.new_checkpoint.rstrip("/") + ".preparing"

    @property
    def record_place(self) -> str:
        """Where this script records what it has done."""
        return self.new_checkpoint.rstrip("/") + ".recovery.json"

    def read_record(self) -> dict[str, Any] | None:
        """What an earlier run of this script recorded, None when there was none."""
        if not self.files.exists(self.record_place):
            return None
        record: dict[str, Any] = json.loads(self.files.read(self.record_place))
        if record.get("plan") != self.plan_id:
            raise Refused(
                f"{self.record_place} was written by another plan. Choose another location for "
                "NEW_CHECKPOINT."
            )
        return record

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Records what the next run of this script has to know: the whole record or none, because who
        runs a killed script again needs one that can be read."""
        place, unfinished = self.record_place, f"{self.record_place}.unfinished"
        text = json.dumps({"plan": self.plan_id, "made_by": self.made_by, **record}, indent=1)
        self.changed.append(f"{place} is this script's own record; undo: remove it")
        if self.read_record() == json.loads(text):
            return
        self.files.replace(unfinished, text)
        if self.files.exists(place):
            self.files.put_aside(place)
        self.files.rename(unfinished, place)

    def record_once(self, record: Mapping[str, Any]) -> None:
        """Records it, unless an earlier run of this script has."""
        if not self.is_made and self.read_record() is None:
            self.write_record(record)


@contextmanager
def under_another_name(run: Run) -> Iterator[str]:
    """Where the new checkpoint is written until it is complete, so that under its name it is complete or not
    there at all. What an interrupted run left there is put aside."""
    files, building, at = run.files, run.building, len(run.changed)
    if files.exists(building):
        files.put_aside(building)
    run.changed.append(f"{building} is an unfinished checkpoint; undo: remove it")
    yield building
    files.rename(building, run.new_checkpoint)
    run.changed[at] = f"{run.new_checkpoint} is a new checkpoint; undo: remove it"


def check_new_place(run: Run) -> None:
    """Refuses a new checkpoint that this script has not made."""
    if run.read_record() is None and run.is_made:
        raise Refused(
            f"{run.new_checkpoint} exists and was not made by this script. Choose another location for "
            "NEW_CHECKPOINT."
        )


def check_stopped(run: Run) -> None:
    """Refuses while the old query may still run. A query without new data writes nothing, so a quiet
    checkpoint proves nothing."""
    files, old = run.files, run.old_checkpoint
    if not old:
        if not run.is_stopped:
            raise Refused(
                "There is no checkpoint that shows whether the query still runs. Stop it, switch off "
                "automatic restarts, then add --query-is-stopped."
            )
        return
    if not files.exists(old):
        return  # an earlier run of this script has renamed it
    looks = []
    for number in range(2):
        if number:
            time.sleep(LOOK_AGAIN_SECONDS)
        looks.append({log: files.times(f"{old}/{log}") for log in ("offsets", "commits")})
    if looks[0] != looks[1]:
        raise Refused(
            "The old query is running: its logs changed within seconds. Stop it and switch off automatic "
            "restarts, then make a new plan."
        )
    newest = max((time_ms for log in looks[1].values() for time_ms in log.values()), default=0)
    minutes = max(0, int((time.time() * 1000 - newest) / 60000))
    if not run.is_stopped and minutes < QUIET_DAYS * 24 * 60:
        raise Refused(
            f"The checkpoint changed {minutes} minutes ago, and a query that waits for data writes nothing: "
            "it may still be running. Stop it, switch off automatic restarts, then add --query-is-stopped."
        )


def check_unmoved(run: Run, checkpoint: str) -> None:
    """Refuses when the checkpoint is not the one that the plan was made for."""
    for log, expected in (("commits", run.last_committed), ("offsets", run.newest_offset)):
        numbers = run.files.numbers(f"{checkpoint}/{log}")
        newest = numbers[-1] if numbers else None
        if newest != expected:
            raise Refused(
                f"The newest file in {log} is {newest}, the plan was made for {expected}: the query has run "
                "since. Stop it and make a new plan."
            )


def check_apart(run: Run, *others: str) -> None:
    """Refuses a new checkpoint that lies inside another place, or the other way round."""
    new = run.new_checkpoint
    for other in others:
        for one, directory in ((new, other), (other, new)):
            if run.files.is_inside(one, directory):
                raise Refused(f"{one} lies inside {directory}. Choose another location for NEW_CHECKPOINT.")
