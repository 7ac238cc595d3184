"""Take the recommended recovery option of broken checkpoints as it is handed out, and compare the rows with
the truth; options that cost less are tried on the same files.

Called by `scripts/prove-recommended`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from scripts.prove_recovery import PAGE, put_between
from scripts.samples.stage import MAINTENANCE
from tests.support.delta import DeltaEngine
from tests.support.recommended_proof import GOOD, Trial, incidents, prove
from tests.support.recommended_samples import SAMPLES, prove_sample
from tests.support.recovery_proof import Engine, Here, Truths
from tests.support.scratch import scratch_root
from tests.support.spark import start_session, stop_session

BEGIN, END = "<!-- recommended -->", "<!-- end of recommended -->"
NOT_RUN = ("not made", "not run")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-recommended", description=__doc__)
    parser.add_argument("--fresh", type=int, default=20, metavar="N", help="so many freshly broken ones")
    parser.add_argument("--seed", type=int, default=1, help="of the queries, sinks and kinds of damage")
    parser.add_argument("--without-samples", action="store_true", help="only the freshly broken ones")
    parser.add_argument("--only", action="append", default=[], help="only those whose name has this")
    parser.add_argument("--log", type=Path, help="append the trials to this file, and count those in it")
    parser.add_argument("--keep", type=Path, help="keep what was run below this directory")
    parser.add_argument("--write", action="store_true", help="put the table into docs/recovery.md")
    asked = parser.parse_args(arguments)
    done = earlier(asked.log)
    trials = [*done.values(), *run(asked, set(done))]
    text = table(trials)
    if asked.write:
        put_between(PAGE, BEGIN, END, text)
    print(f"\n{text}")
    return int(any(trial.word not in (*GOOD, *NOT_RUN) for trial in trials))


def run(asked: argparse.Namespace, done: set[tuple[str, str]]) -> list[Trial]:
    """Every sample and every fresh incident that was not run yet."""
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="prove-recommended-", dir=scratch_root()) as scratch:
        place = asked.keep or Path(scratch)
        session = start_session(scratch=place / "spark", extra=MAINTENANCE)
        session.sparkContext.setLogLevel("OFF")
        here, delta = Here(session), DeltaEngine(place / "delta")
        truths = Truths(here, place / "truths")

        def take(kind: str, name: str, call: Callable[[], Trial]) -> None:
            if (kind, name) in done or not all(part in name for part in asked.only):
                return
            trial = call()
            trials.append(trial)
            tell(trial, asked.log)

        for number, incident in enumerate(incidents(asked.seed, asked.fresh)):
            engine: Engine = delta if incident.cell.is_delta else here
            where = place / f"fresh-{number}"
            take(
                "fresh",
                incident.id,
                lambda engine=engine, where=where, incident=incident: prove(  # type: ignore[misc]
                    engine, truths, where, incident, asked.seed
                ),
            )
            if asked.keep is None:
                shutil.rmtree(where, ignore_errors=True)
        for sample in () if asked.without_samples else SAMPLES:
            take("sample", sample, lambda sample=sample: prove_sample(sample, here, delta))  # type: ignore[misc]
        delta.stop()
        stop_session(session, place / "spark")
    return trials


def tell(trial: Trial, log: Path | None) -> None:
    """Says how a trial ended."""
    cheaper = "; ".join(trial.cheaper) or "nothing costs less"
    how = f"{trial.option}; {cheaper}; {trial.seconds} s"
    print(f"{trial.word}: {trial.incident} [{trial.query}] [{how}] {trial.note}", flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial)) + "\n")


def earlier(log: Path | None) -> dict[tuple[str, str], Trial]:
    """The trials of earlier calls; the newest of each counts."""
    found: dict[tuple[str, str], Trial] = {}
    if log is None or not log.exists():
        return found
    for line in log.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        values["cheaper"] = tuple(values["cheaper"])
        trial = Trial(**values)
        found[(trial.kind, trial.id)] = trial
    return found


def table(trials: Sequence[Trial]) -> str:
    """One line each, in Markdown."""
    lines = [f"Spark {version('pyspark')} (Delta: 4.2.0), {datetime.now(UTC):%Y-%m-%d}."]
    for kind, title in (("sample", "samples"), ("fresh", "freshly broken checkpoints")):
        of_kind = [trial for trial in trials if trial.kind == kind]
        counts = Counter(trial.word for trial in of_kind)
        said = ", ".join(f"{n} {word}" for word, n in counts.most_common())
        lines[0] += f" {len(of_kind)} {title}: {said or 'none was run'}."
    lines += [
        "",
        "| what happened | query, sink, state store | recommended | rows | what costs less |",
        "|---|---|---|---|---|",
    ]
    for trial in sorted(trials, key=lambda trial: trial.kind, reverse=True):
        note = f" ({trial.note})" if trial.word in NOT_RUN else ""
        cheaper = ", ".join(trial.cheaper) or "–"
        lines.append(
            f"| {trial.incident} | {trial.query} | {trial.option} | {trial.word}{note} | {cheaper} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
