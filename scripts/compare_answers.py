#!/usr/bin/env python3
"""What every verb answers on every sample and every corpus entry, kept and compared: the proof that a change
of structure kept the facts.

    scripts/compare_answers.py collect DIR [--checkout PATH] [--python PY] [--only NAME ...]
    scripts/compare_answers.py diff BEFORE AFTER

``collect`` runs the code of a checkout (default: the one this script belongs to) in one process over the
samples and the corpus of this checkout and writes one JSON file per run: exit status, the answer or the
sentence on stderr. ``diff`` prints what differs: facts (numbers, ids, enums, evidence, exit status), fields
that were added, sentences in which a number changed, generated code, other wording. Its exit status is 1 when
facts differ. Versions and the times of reading are left out.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path
from typing import Any, Literal

PROJECT = Path(__file__).resolve().parent.parent
NOT_A_CHECKPOINT = "spark-single-files"
FILE_TIME_S = 1_795_176_000  # of the unpacked corpus, so that two collections see the same times
OPTIONS = ("full_refresh", "backup_and_backfill", "reset")
ERRORS = {
    "kafka": (
        "org.apache.spark.sql.streaming.StreamingQueryException: Some data may have been lost because they"
        " are not available in Kafka any more; either the data was aged out by Kafka or the topic may have"
        " been deleted before all the data in the topic was processed.\n"
        "Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException\n"
    ),
    "state": (
        "Caused by: org.apache.spark.SparkException:"
        " [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred during loading state."
        " Error reading delta file file:/data/checkpoint/state/0/0/2.delta of HDFSStateStoreProvider[id ="
        " (op=0,part=0),dir = file:/data/checkpoint/state/0/0]: file:/data/checkpoint/state/0/0/2.delta does"
        " not exist. SQLSTATE: 58030\n"
    ),
    "unknown": "a text in which nobody recognises an error\n",
}

CLOCKS = {  # metrics that differ from run to run
    "spark_checkpoint_read_seconds",
    "spark_checkpoint_survey_timestamp_seconds",
    "spark_checkpoint_survey_duration_seconds",
}
IGNORED = {"version", "read_at", "asked_at_ms", "read_at_ms", "age_seconds", "seconds"}
OF_THE_MOMENT = {"answer.moment_ms", "answer.sha256", "answer.size_bytes"}
"""An evidence file holds the moment at which it was taken."""
WORDING = {
    *(
        "sentence",
        "action",
        "note",
        "why",
        "because",
        "then",
        "what",
        "title",
        "text",
        "reason",
        "sink_why",
        "spark_why",
    ),
    *(
        "repeats",
        "loses",
        "skips",
        "trap",
        "cost",
        "general",
        "facts",
        "not_checked",
        "checked",
        "warnings",
        "caution",
    ),
    *(
        "means",
        "not_in_files",
        "reasons",
        "progress_tracking_why",
        "no_code",
        "trouble",
        "retention",
        "stderr",
        "sink",
    ),
}
NAMES = (
    "id",
    "key",
    "name",
    "path",
    "option",
    "batch",
    "start",
    "platform",
    "partition",
)  # what tells list entries apart
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
AGE = re.compile(r"\b\d[\d,]*(?:\.\d+)? (?:d|h|min|s|ms)(?: \d+ (?:h|min|s))? ago\b")

Sort = Literal["fact", "added", "number", "wording", "code"]
HEADINGS: dict[Sort, str] = {
    "fact": "Facts that differ",
    "added": "Fields that were added",
    "number": "Sentences in which a number differs",
    "code": "Generated code that differs",
    "wording": "Wording",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the place in the answer, and what stands there before and after."""

    sort: Sort
    path: str
    before: str
    after: str


# --- collecting ---


def unpack(entry: Path, target: Path) -> Path:
    """A corpus entry as a directory, with a fixed time on every file. Binary files without content become
    empty."""
    root = target / entry.stem
    for path, file in json.loads(entry.read_text(encoding="utf-8"))["files"].items():
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(
            file["text"].encode() if "text" in file else base64.b64decode(file.get("base64", ""))
        )
        os.utime(place, (FILE_TIME_S, FILE_TIME_S))
    return root


def collect(target: Path, checkout: Path, python: str, only: Sequence[str]) -> int:
    """Runs everything in one process of ``python`` with the code of ``checkout``; returns how many answers
    were kept."""
    sys.path.insert(0, str(PROJECT))
    from scripts.restore_times import restore

    restore()
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.json"):
        old.unlink()
    scratch = Path(tempfile.gettempdir()).resolve() / f"answers-{secrets.token_hex(8)}"
    scratch.mkdir()
    try:
        prepare(scratch)
        subprocess.run(
            [python, str(Path(__file__).resolve()), "run", str(target.resolve()), str(scratch), *only],
            check=True,
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout.resolve())},
        )
    finally:
        shutil.rmtree(scratch)
    return sum(1 for _ in target.glob("*.json"))


def prepare(scratch: Path) -> None:
    """Puts into ``scratch`` what the runs need beside the samples: the corpus, error texts, an empty
    directory."""
    for entry in sorted((PROJECT / "tests" / "corpus").glob("*.json")):
        if entry.stem != NOT_A_CHECKPOINT:
            unpack(entry, scratch / "corpus")
    for name, text in ERRORS.items():
        (scratch / f"{name}.txt").write_text(text, encoding="utf-8")
    (scratch / "empty").mkdir()


def run(target: Path, scratch: Path, only: Sequence[str]) -> None:
    """Inside the process with the code to look at: every run, one file each."""
    for name, place, beside in _places(scratch):
        if only and name not in only:
            continue
        facts = _kept(target, name, "inspect", ["inspect", str(place)], scratch)
        connectors = _connectors(facts, beside)
        for label, arguments in _runs(place, scratch):
            _kept(target, name, label, arguments, scratch)
            if connectors and arguments[0] in ("forecast", "check", "resume", "recover", "report"):
                _kept(target, name, f"{label}+connectors", [*arguments, *connectors], scratch)


def _places(scratch: Path) -> Iterator[tuple[str, Path, Path | None]]:
    samples = PROJECT / "sample_checkpoints"
    for path in sorted(samples.glob("*/checkpoint")):
        yield path.parent.name, path, path.parent
    for path in sorted((scratch / "corpus").iterdir()):
        yield path.name, path, None
    yield "nothing-there", scratch / "nothing", None
    yield "empty-directory", scratch / "empty", None
    yield "not-a-checkpoint", samples, None
    yield "a-file", samples / "files-stopped-cleanly" / "times.json", None


def _connectors(facts: Any, beside: Path | None) -> list[str]:
    found: list[str] = []
    if beside is not None and (beside / "sink").is_dir():
        found += ["--sink", str(beside / "sink")]
    if beside is not None and (beside / "source").is_dir():
        for source in facts.get("sources", []):
            if source["kind"] in ("file", "delta"):
                found += ["--source", f"{source['key']}={beside / 'source'}"]
    return found


def _runs(place: Path, scratch: Path) -> Iterator[tuple[str, list[str]]]:
    at = str(place)
    yield "forecast", ["forecast", at]
    yield "forecast-3.5", ["forecast", at, "--spark", "3.5", "--new-data", "yes"]
    yield (
        "forecast-changed",
        ["forecast", at, "--sources", "2", "--operators", "dedupe", "--fail-on-data-loss", "false"],
    )
    yield "forecast-usage", ["forecast", at, "--sources", "0"]
    yield "forecast-unknown-source", ["forecast", at, "--set", "source.none.topics=a"]
    for level in ("quick", "normal", "deep"):
        yield f"check-{level}", ["check", at, "--level", level]
    yield "check-usage", ["check", at, "--level", "deepest"]
    yield "resume", ["resume", at]
    yield "resume-0", ["resume", at, "--batch", "0"]
    yield "recover", ["recover", at]
    for option in OPTIONS:
        yield f"recover-{option}", ["recover", at, "--option", option]
    yield (
        "recover-answers",
        ["recover", at, "--option", "reset", "--set", "sink=delta", "--set", "source_complete=yes"],
    )
    yield "recover-usage", ["recover", at, "--set", "sink=none-of-these"]
    yield "changes", ["changes", at]
    yield (
        "changes-asked",
        [
            "changes",
            at,
            "--set",
            "change.keys=user:string",
            "--set",
            "change.spark=3.5",
            "--set",
            "sink=file",
        ],
    )
    yield "changes-usage", ["changes", at, "--set", "change.nothing=1"]
    yield "compare", ["compare", at, at]
    yield "evidence", ["evidence", at, "--to", str(scratch / "evidence.zip"), "--overwrite"]
    yield "incidents", ["incidents", at]
    yield "report", ["report", at]
    yield "report-html", ["report", at, "--format", "html", "--level", "deep"]
    yield "report-chat", ["report", at, "--format", "chat"]
    yield "survey", ["survey", at]
    yield "survey-quick", ["survey", at, "--level", "quick"]
    yield "metrics", ["metrics", at]
    yield "state", ["state", at]
    yield "state-replay", ["state", at, "--replay"]
    yield "rows", ["rows", at]
    yield "rows-left-largest", ["rows", at, "--side", "left", "--largest", "values", "--reveal"]
    for error in ERRORS:
        yield f"explain-{error}", ["explain", at, "--error", str(scratch / f"{error}.txt")]


def _kept(target: Path, name: str, label: str, arguments: list[str], scratch: Path) -> Any:
    from core.cli import main
    from core.messages.words import moment

    written, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(written, encoding="utf-8")
    shown, sys.stdout = sys.stdout, out
    try:
        with redirect_stderr(err):
            status = main([*arguments, "--json"])
    finally:
        sys.stdout = shown
    out.flush()
    text = written.getvalue().decode("utf-8")
    answer = json.loads(portable(text, scratch)) if text else None
    if arguments[0] == "report" and answer is not None:
        text = json.dumps(answer).replace(moment(answer["moment_ms"]), "MOMENT")  # it says when it was made
        answer = json.loads(text)
    kept = {"exit_status": status, "answer": answer, "stderr": portable(err.getvalue(), scratch)}
    (target / f"{name} {label}.json").write_text(json.dumps(kept, indent=1, sort_keys=True), encoding="utf-8")
    return answer or {}


def portable(text: str, scratch: Path) -> str:
    """The text without the place of this checkout and of the scratch directory, and without ages: they grow
    while the answers are collected."""
    from core.incident.report_markdown import escaped

    for place, name in ((PROJECT, "/project"), (scratch, "/scratch")):
        in_json = json.dumps(escaped(str(place)))[1:-1]  # Markdown escapes a "_" at the end of a name
        text = text.replace(str(place), name).replace(in_json, name).replace(escaped(str(place)), name)
    return AGE.sub("AGE ago", text)


# --- comparing ---


def differences(before: Any, after: Any, path: str = "", field: str = "") -> Iterator[Difference]:
    """What differs between two answers. List entries with an id are compared by it."""
    if isinstance(before, dict) and isinstance(after, dict):
        if before.get("name") in CLOCKS:
            return
        for key in [*before, *(key for key in after if key not in before)]:
            there = f"{path}.{key}" if path else key
            if key in IGNORED or there in OF_THE_MOMENT:
                continue
            if key not in before:
                yield Difference("added", there, "", type(after[key]).__name__)
            elif key not in after:
                yield Difference("fact", there, _shown(before[key]), "(the field is gone)")
            else:
                yield from differences(before[key], after[key], there, key)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path, field)
    elif before != after:
        sort = _sort(before, after, path, field)
        yield Difference(
            sort,
            path,
            *(_changed_lines(before, after) if sort == "code" else (_shown(before), _shown(after))),
        )


def _changed_lines(before: str, after: str) -> tuple[str, str]:
    """The lines that only one of two pieces of code has."""
    changes = list(ndiff(before.splitlines(), after.splitlines()))
    old, new = ("\n      ".join(line[2:] for line in changes if line[0] == mark) for mark in "-+")
    return old, new


def _of_lists(before: list[Any], after: list[Any], path: str, field: str) -> Iterator[Difference]:
    names = next(
        (n for n in NAMES if before and after and _told_apart_by(n, before) and _told_apart_by(n, after)),
        None,
    )
    if names is None:
        for at in range(max(len(before), len(after))):
            here = f"{path}[]"
            if at >= len(before) or at >= len(after):
                old, new = (before[at], None) if at < len(before) else (None, after[at])
                yield Difference(_sort("", "", here, field), here, _shown(old), _shown(new))
            else:
                yield from differences(before[at], after[at], here, field)
        return
    old, new = {_name(e, names): e for e in before}, {_name(e, names): e for e in after}
    for name in [*old, *(name for name in new if name not in old)]:
        here = f"{path}[{name}]"
        if name not in old or name not in new:
            yield Difference("fact", here, _shown(old.get(name)), _shown(new.get(name)))
        else:
            yield from differences(old[name], new[name], here, field)
    if list(old) != list(new) and set(old) == set(new):
        yield Difference("fact", f"{path} (order)", _shown(list(old)), _shown(list(new)))


def _told_apart_by(name: str, entries: list[Any]) -> bool:
    named = all(isinstance(entry, dict) and isinstance(entry.get(name), str | int) for entry in entries)
    return named and len({_name(entry, name) for entry in entries}) == len(entries)


def _name(entry: dict[str, Any], name: str) -> str:
    return str(entry[name])


def _sort(before: Any, after: Any, path: str, field: str) -> Sort:
    if path.startswith("answer.code[") and field == "text":
        return "code"
    if ".before_after[" in path and field in ("start", "says") and _is_text(before) and _is_text(after):
        return "wording" if sorted(_numbers(before)) == sorted(_numbers(after)) else "number"
    if field not in WORDING or path.endswith("error.message") or not (_is_text(before) and _is_text(after)):
        return "fact"
    return "wording" if sorted(_numbers(before)) == sorted(_numbers(after)) else "number"


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _numbers(text: str | None) -> list[str]:
    return [number.replace(",", "") for number in NUMBER.findall(text or "")]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def compare(before: Path, after: Path) -> tuple[dict[Difference, list[str]], int]:
    """The differences of two collections, each with its runs, and how many runs were compared."""
    old, new = ({path.stem: path for path in place.glob("*.json")} for place in (before, after))
    found: dict[Difference, list[str]] = {}
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            missing = Difference(
                "fact", "the run", "there" if name in old else "absent", "there" if name in new else "absent"
            )
            found.setdefault(missing, []).append(name)
            continue
        for each in differences(
            *(json.loads(place[name].read_text(encoding="utf-8")) for place in (old, new))
        ):
            found.setdefault(each, []).append(name)
    return found, len({*old, *new})


def report(found: dict[Difference, list[str]], runs: int, most: int) -> str:
    """The differences for a person, facts first. ``most``: how many characters of a text are shown."""
    lines = [f"{runs:,} runs compared."]
    for sort, heading in HEADINGS.items():
        here = {each: names for each, names in found.items() if each.sort == sort}
        lines += ["", f"{heading}: {len(here)} in {len({n for names in here.values() for n in names})} runs"]
        for each, names in here.items():
            where = f"{len(names)}x, first in {names[0]}" if len(names) > 1 else names[0]
            lines += [
                f"  {each.path}  ({where})",
                f"    - {each.before[:most]}",
                f"    + {each.after[:most]}",
            ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    collecting = verbs.add_parser("collect", help="run every verb and keep the answers")
    collecting.add_argument("target", type=Path, metavar="DIR")
    collecting.add_argument(
        "--checkout", type=Path, default=PROJECT, help="whose code answers (default: this one)"
    )
    collecting.add_argument("--python", default=sys.executable, help="the interpreter (default: this one)")
    collecting.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="these samples and corpus entries only"
    )
    comparing = verbs.add_parser("diff", help="print what differs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--most", type=int, default=400, help="characters of a text that are shown")
    running = verbs.add_parser("run")
    running.add_argument("target", type=Path)
    running.add_argument("scratch", type=Path)
    running.add_argument("only", nargs="*")
    args = parser.parse_args(arguments)
    if args.verb == "collect":
        print(
            f"{collect(args.target, args.checkout, args.python, args.only):,} answers kept in {args.target}"
        )
    elif args.verb == "run":
        run(args.target, args.scratch, args.only)
    else:
        found, runs = compare(args.before, args.after)
        print(report(found, runs, args.most))
        return 1 if any(each.sort == "fact" for each in found) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
