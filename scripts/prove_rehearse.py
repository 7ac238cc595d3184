"""Rehearse really broken checkpoints and changed queries, restart the originals, and compare: outcome, batch,
error, rows, and that nothing of checkpoint, source and sink was touched; also when the rehearsal is killed or
its scratch place is full.

Called by `scripts/prove-rehearse`. One session makes and restarts the queries; each rehearsal is the program
in a process of its own. Delta runs on the Spark that has it, Kafka on a real broker.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.kafka.scene import Stage
from tests.support.changed_queries import Changes
from tests.support.delta import DeltaEngine
from tests.support.kafka import Broker
from tests.support.oracle import Oracle
from tests.support.processes import all_ended, group_of
from tests.support.rehearsal_proof import (
    CHANGED,
    DAMAGED,
    DELTA,
    KAFKA,
    PATIENT,
    Incident,
    Trial,
    changed,
    command,
    damaged,
    of_delta,
    of_kafka,
    prove,
)
from tests.support.scratch import scratch_root
from tests.support.small_disk import mounted
from tests.support.spark import PROJECT, connector_jars, start_session, stop_session

PAGE = PROJECT / "docs" / "rehearse.md"
BEGIN, END = "<!-- proof -->", "<!-- end of proof -->"
OF_FILES = 14  # damaged checkpoints of file sources
KILLED = {False: "kill -9 of the command", True: "kill -9 of the command and of its Spark"}
FULL = "a disk of"
DISKS = ("256k", "2m", "8m", "24m")


@dataclass(frozen=True)
class Cut:
    """A rehearsal that was cut off. ``how``: by what; ``ended``: what it said, or how it was removed."""

    name: str
    how: str
    ended: str
    unchanged: bool
    removed: bool

    @property
    def is_right(self) -> bool:
        """Whether it left nothing, and the original as it was."""
        return self.unchanged and self.removed


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a rehearsal did not do what the restart did, or left something."""
    parser = argparse.ArgumentParser(prog="scripts/prove-rehearse", description=__doc__)
    parser.add_argument("--only", default="", help="only incidents whose name contains this")
    parser.add_argument("--log", type=Path, help="append what was done to this file, and count those in it")
    parser.add_argument("--write", action="store_true", help="put the table into docs/rehearse.md")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="prove-rehearse-", dir=scratch_root()) as scratch:
        trials, cuts = run(Path(scratch), asked.only, asked.log)
    text = table(trials, cuts)
    print(f"\n{text}")
    if asked.write:
        old = PAGE.read_text(encoding="utf-8")
        assert BEGIN in old, f"{PAGE} has no place for the table"
        pattern = f"{re.escape(BEGIN)}.*?{re.escape(END)}"
        new = re.sub(pattern, lambda _: f"{BEGIN}\n{text}\n{END}", old, flags=re.DOTALL)
        PAGE.write_text(new, encoding="utf-8")
    return int(not all([each.is_right for each in trials] + [each.is_right for each in cuts]))


def earlier(log: Path | None) -> tuple[list[Trial], list[Cut]]:
    """What earlier calls have done; the newest of each counts."""
    found: dict[str, dict[str, Any]] = {}
    if log is not None and log.exists():
        for text in log.read_text(encoding="utf-8").splitlines():
            told = json.loads(text)
            found[f"{told['name']} {told.get('how')}"] = told
    trials = [
        Trial(**{**told, "differs": tuple(told["differs"])}) for told in found.values() if "kind" in told
    ]
    return trials, [Cut(**told) for told in found.values() if "how" in told]


def note(log: Path | None, done: Trial | Cut) -> None:
    """One line of the log."""
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(done)) + "\n")


def run(place: Path, only: str, log: Path | None) -> tuple[list[Trial], list[Cut]]:
    """Every incident, then the rehearsals that are cut off."""
    jars = connector_jars()
    extra = {"spark.jars": ",".join(map(str, jars))} if jars else {}
    session = start_session(scratch=place / "spark", extra=extra)
    session.sparkContext.setLogLevel("OFF")
    delta, broker = DeltaEngine(place / "delta"), Broker(place / "broker")
    broker.start()
    trials, cuts = earlier(log)
    done = {trial.name for trial in trials} | {f"{cut.name} {cut.how}" for cut in cuts}
    try:
        oracle = Oracle(session, place / "bases")
        stage_at = place / "stage"
        stage_at.mkdir()
        makers = incidents(
            oracle, Changes(session, place / "changed"), Stage(oracle, broker, stage_at, PATIENT), delta
        )
        for number, (name, make) in enumerate(makers):
            if only in name and name not in done:
                trial = prove(make(place / f"made-{number}"), place / f"rehearsed-{number}", name)
                trials.append(trial)
                note(log, trial)
                print(line(trial), flush=True)
        for cut in cut_off(dict(makers), place, only, done):
            cuts.append(cut)
            note(log, cut)
            print(f"{'ok   ' if cut.is_right else 'WRONG'} {cut.name} | {cut.how} | {cut.ended}", flush=True)
    finally:
        delta.stop()
        broker.stop()
        stop_session(session, place / "spark")
    return trials, cuts


Make = Callable[[Path], Incident]


def incidents(oracle: Oracle, changes: Changes, stage: Stage, delta: DeltaEngine) -> list[tuple[str, Make]]:
    """Each with what makes it in a place of its own."""
    chosen = DAMAGED[:: len(DAMAGED) // OF_FILES][:OF_FILES]
    with_sink = [case for case in DAMAGED if case.base == "stateless" and case.name in WITH_SINK]
    found: list[tuple[str, Make]] = [
        (f"{case.base}: {case.name}", partial(damaged, oracle, case)) for case in chosen
    ]
    for case in with_sink:
        made = partial(damaged, oracle, case, with_sink=True)
        found.append((f"{case.base} with its sink: {case.name}", made))
    found += [(name, partial(changed, changes, name)) for name in CHANGED]
    found += [(name, partial(of_kafka, stage, name)) for name in KAFKA]
    return [*found, *((name, partial(of_delta, delta, name)) for name in DELTA)]


WITH_SINK = ("clean", "commit_missing")


# ---------------------------------------------------------------- cut off


SLOW = """import os, time
open({pid!r}, "w").write(str(os.getpid()))
from pyspark.sql import functions as F


def slow(value):
    time.sleep(600)
    return value


def transform(df):
    return df.withColumn("slow", F.udf(slow, "string")(F.lit("x")))
"""


def cut_off(makers: dict[str, Make], place: Path, only: str, done: set[str]) -> Iterator[Cut]:
    """Killed in the middle of a batch, alone and with its Spark, and on disks that are too small."""
    kinds = ("stateless with its sink: clean", "kafka: new records", "delta: new rows")
    for number, name in enumerate(kinds):
        if only not in name:
            continue
        for with_spark in (False, True):
            if f"{name} {KILLED[with_spark]}" in done:
                continue
            at = place / f"killed-{number}-{with_spark}"
            yield killed(name, makers[name](at / "made"), at, with_spark=with_spark)
    for number, size in enumerate(DISKS):
        name = ("stateless with its sink: clean", "delta: new rows")[number % 2]
        if only in name and f"{name} {FULL} {size}" not in done:
            at = place / f"full-{number}"
            yield full(name, makers[name](at / "made"), at, size)


def killed(name: str, incident: Incident, place: Path, *, with_spark: bool) -> Cut:
    """kill -9 while a batch runs."""
    scratch, query, noted = place / "scratch", place / "query.py", place / "pid"
    scratch.mkdir(parents=True)
    query.write_text(SLOW.format(pid=str(noted)), encoding="utf-8")
    before = incident.state()
    process = command(incident, query, scratch)
    until = time.monotonic() + 280
    offsets = {path.name for path in (incident.checkpoint / "offsets").glob("[0-9]*")}
    while time.monotonic() < until and process.poll() is None:
        planned = {path.name for path in scratch.glob("*/new/checkpoint/offsets/[0-9]*")}
        if planned - offsets:
            break
        time.sleep(0.1)
    else:
        process.kill()
        _out, err = process.communicate(timeout=60)
        said = (err.strip().splitlines() or [""])[-1]
        return Cut(name, KILLED[with_spark], f"no batch was planned: {said}", False, False)
    worker = int(noted.read_text())
    pids = [*group_of(worker), process.pid]
    os.kill(process.pid, signal.SIGKILL)
    if with_spark:
        os.kill(worker, signal.SIGKILL)
    process.communicate(timeout=60)
    is_over = all_ended(pids)
    unchanged = incident.state() == before
    ended = f"{len(pids)} processes ended"
    if with_spark:  # nobody was left to remove it: the next rehearsal does
        left = bool(list(scratch.iterdir()))
        query.write_text("x = 1\n", encoding="utf-8")
        command(incident, query, scratch).communicate(timeout=120)
        ended += ", the next rehearsal removed what was left" if left else ""
    until = time.monotonic() + 20
    while list(scratch.iterdir()) and time.monotonic() < until:
        time.sleep(0.1)
    removed = is_over and not list(scratch.iterdir())
    return Cut(name, KILLED[with_spark], ended, unchanged and incident.state() == before, removed)


def full(name: str, incident: Incident, place: Path, size: str) -> Cut:
    """A scratch place without room."""
    scratch, query = place / "scratch", place / "query.py"
    query.parent.mkdir(parents=True, exist_ok=True)
    query.write_text(incident.query, encoding="utf-8")
    before = incident.state()
    with mounted(scratch, size):
        process = command(incident, query, scratch)
        out, err = process.communicate(timeout=300)
        left = list(scratch.iterdir())
    last = err.strip().splitlines()[-1] if err.strip() else ""
    said = out and process.returncode in (0, 1)
    ended = f"exit status {process.returncode}: " + ("it ran" if said else last.replace(str(place), "..."))
    is_plain = "Traceback" not in err and (bool(said) or process.returncode == 10)
    return Cut(name, f"{FULL} {size}", ended, incident.state() == before, is_plain and not left)


# ---------------------------------------------------------------- the table


def line(trial: Trial) -> str:
    """A trial for the terminal."""
    mark = "ok   " if trial.is_right else "WRONG"
    more = f" | {'; '.join(trial.differs)}" if trial.differs else ""
    left = "" if trial.unchanged else " | CHANGED"
    happened = f"{trial.outcome} {trial.batch} {trial.error} | {trial.rows} rows | {trial.seconds} s"
    return f"{mark} {trial.name} | {happened}{more}{left}"


def table(trials: Sequence[Trial], cuts: Sequence[Cut]) -> str:
    """What happened, in Markdown."""
    same = sum(trial.is_right for trial in trials)
    good = sum(cut.is_right for cut in cuts)
    lines = [
        f"Spark {version('pyspark')} (Delta: 4.2.0), {datetime.now(UTC):%Y-%m-%d}: {same} of {len(trials)}"
        f" incidents the same as the real restart; {good} of {len(cuts)} that were cut off left nothing.",
        "Checkpoint, source and sink had the same content, sizes and times before and after each.",
        "",
        "| incident | kind | what the restart did | rows | the rehearsal |",
        "|---|---|---|---|---|",
    ]
    for trial in trials:
        happened = trial.outcome if trial.batch is None else f"{trial.outcome}, batch {trial.batch}"
        error = f": `{trial.error}`" if trial.error else ""
        word = "the same" if trial.is_right else f"**not the same**: {'; '.join(trial.differs)}"
        lines.append(
            f"| {trial.name} | {trial.kind} | {happened}{error} | {trial.rows} | {word} |".replace("\n", " ")
        )
    lines += ["", "| cut off | by | what followed |", "|---|---|---|"]
    for cut in cuts:
        word = "" if cut.is_right else " **something was left or changed**"
        lines.append(f"| {cut.name} | {cut.how} | {cut.ended}{word} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
