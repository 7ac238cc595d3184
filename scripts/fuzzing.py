"""Mutates checkpoints and runs every verb of the command line on them, in this process.

A case is a number: the same seed and case always give the same checkpoint, mutations and command. A failure
is a traceback, an answer that takes more than 10 seconds, or one that takes more than 1 GB of memory; it is
printed with the command that repeats it.

    scripts/fuzz --seconds 600 [--seed 1] [--pages]
    scripts/fuzz --seed 1 --case 4711 [--keep DIR] [--pages]
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import core.cli as command_line
from core.recovery import OPTION_IDS
from tests.support.build import SAMPLES, corpus_names, sample_names, unpack_corpus
from tests.support.scratch import scratch_root

MOST_SECONDS, MOST_BYTES = 10.0, 1 << 30
MOST_CHANGED = 4 << 20
LARGEST = 2**63 - 1
VERBS = (
    ("inspect",),
    ("inspect", "--json"),
    ("resume",),
    ("resume", "--batch", "{number}"),
    ("forecast",),
    ("forecast", "--spark", "3.5", "{ends}"),
    ("forecast", "{ends}"),
    ("check",),
    ("check", "--level", "quick"),
    ("check", "--level", "deep"),
    ("check", "--level", "deep", "{ends}"),
    ("state",),
    ("state", "--replay", "--json"),
    ("state", "--batch", "{number}"),
    ("rows", "--reveal", "--json"),
    ("rows", "--side", "left", "--largest", "values"),
    ("rows", "--batch", "{number}", "--older-than-watermark"),
    ("recover",),
    ("recover", "{ends}", "--json"),
    ("recover", "--option", "{option}", "--set", "{setting}", "--set", "{setting}"),
    ("explain", "--error", "{error}"),
    ("changes",),
    ("report", "{ends}"),
    ("report", "--format", "html", "--level", "deep"),
    ("report", "--format", "chat"),
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    9,
    99,
    2**31 - 1,
    2**31,
    2**32,
    LARGEST,
    LARGEST + 1,
    -LARGEST - 1,
    10**19,
    10**25,
    10**400,
)
TEXTS = (
    '"',
    "{}",
    "[]",
    "null",
    "-",
    "\x00",
    "\n",
    "\r",
    "é",
    "\ud800",
    "<b>",
    "' OR 1",
    "../..",
    "\\ud800",
    "1e999",
)
NAMES = (
    b"caf\xe9.txt",
    b"007",
    b"99999999999999999999",
    b"9223372036854775807",
    b"9223372036854775807.compact",
    b"99999999999999999999.json",
    b"09223372036854775807.json",
    b".5.crc",
    b"-1",
    b"1_x.zip",
    b"2147483647",
    b"a\nb",
    b"<img src=x>",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a case did that no case may do."""

    seed: int
    case: int
    command: tuple[str, ...]
    what: str
    option: str = ""

    def __str__(self) -> str:
        repeat = f"scripts/fuzz{self.option} --seed {self.seed} --case {self.case}"
        return f"seed {self.seed} case {self.case}: {self.what}\n  repeat: {repeat}"


# Mutations: each changes one thing of the tree.


def files_of(root: Path) -> list[Path]:
    """The files below a directory in an order that does not depend on the machine; those that are read first
    come several times."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    small = [path for path in files if not path.suffix or "_delta_log" in path.parts]
    return files + 3 * small


def replace_number(data: bytes, rng: random.Random) -> bytes:
    """Another number in place of one."""
    spots = list(re.finditer(rb"-?\d+", data))
    if not spots:
        return data
    spot = rng.choice(spots)
    return data[: spot.start()] + str(rng.choice(NUMBERS)).encode() + data[spot.end() :]


def replace_value(data: bytes, rng: random.Random) -> bytes:
    """Another JSON value in place of a text or an object."""
    spots = list(re.finditer(rb'"[^"]*"|\{\}|\[\]|null|true|false', data))
    if not spots:
        return data
    spot = rng.choice(spots)
    text = rng.choice(('""', "null", "{}", "[]", "0", "true", "[{}]", '{"a":{"0":1}}', *TEXTS))
    return data[: spot.start()] + text.encode("utf-8", "surrogatepass") + data[spot.end() :]


def flip(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def flip_header(data: bytes, rng: random.Random) -> bytes:
    """A byte changed behind a mark of a zip, or at one end of the file."""
    marks = [m.start() for m in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06|\x07\x08)", data)]
    at = (rng.choice(marks) if marks else rng.choice((0, max(0, len(data) - 64)))) + rng.randrange(46)
    changed = bytearray(data)
    if at < len(changed):
        changed[at] = rng.randrange(256)
    return bytes(changed)


def truncate(data: bytes, rng: random.Random) -> bytes:
    """The end is gone."""
    return data[: rng.randrange(len(data) + 1)]


def repeat_lines(data: bytes, rng: random.Random) -> bytes:
    """A line many times."""
    lines = data.split(b"\n")
    line = rng.choice((*lines, b"{}", b"-"))
    times = min(rng.choice((1, 50, 4_000)), MOST_CHANGED // (len(line) + 1) + 1)
    return b"\n".join([*lines, *[line] * times])[:MOST_CHANGED]


def deep_json(data: bytes, rng: random.Random) -> bytes:
    """Nested as nothing should be."""
    depth = rng.choice((200, 100_000))
    return data.split(b"\n")[0] + b"\n" + b'{"a":' * depth + b"1" + b"}" * depth


RunCase = Callable[[int, int, "Bases", Path], "Failure | None"]
CONTENT: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    replace_number,
    replace_number,
    replace_number,
    replace_value,
    replace_value,
    flip,
    flip,
    flip_header,
    truncate,
    repeat_lines,
    deep_json,
)


def mutate(root: Path, rng: random.Random) -> str:
    """One mutation of the tree; says which."""
    files = files_of(root)
    if not files:
        return "nothing is left"
    path = rng.choice(files)
    shown = path.relative_to(root).as_posix()
    kind = rng.random()
    if kind < 0.7:
        change = rng.choice(CONTENT)
        with path.open("rb") as file:
            content = file.read(MOST_CHANGED)  # another mutation may have made a gigabyte of it
        path.write_bytes(change(content, rng))
        checksum = path.with_name(f".{path.name}.crc")
        if rng.random() < 0.7 and not checksum.is_dir():  # another mutation may have put one there
            checksum.unlink(missing_ok=True)
        return f"{change.__name__} {shown}"
    if kind < 0.76:
        path.unlink()
        return f"remove {shown}"
    if kind < 0.80:
        os.truncate(path, rng.choice((0, 40_000_000, 1_500_000_000)))
        return f"resize {shown}"
    if kind < 0.92:
        name = rng.choice(NAMES)
        target = os.path.join(os.fsencode(path.parent), name)  # noqa: PTH118  (a name of bytes)
        if os.path.exists(target):  # noqa: PTH110
            return "the name is taken"
        if rng.random() < 0.2:
            os.mkdir(target)  # noqa: PTH102
        elif rng.random() < 0.5:
            os.rename(path, target)  # noqa: PTH104
        else:
            shutil.copyfile(path, target)
        return f"name {name!r} beside {shown}"
    if kind < 0.95:
        path.unlink()
        path.mkdir()
        return f"directory in place of {shown}"
    if kind < 0.98:
        path.unlink()
        path.symlink_to(rng.choice((path.name, "..", "/dev/null", "nowhere")))
        return f"link in place of {shown}"
    shutil.rmtree(path.parent)
    return f"remove the directory of {shown}"


# Running


def command_of(root: Path, rng: random.Random) -> list[str]:
    """A command about the checkpoint of the tree."""
    tables = sorted(path.parent for path in root.rglob("_delta_log") if path.is_dir())
    outputs = sorted(path.parent for path in root.rglob("_spark_metadata") if path.is_dir())
    options = OPTION_IDS
    keys = ("sink", "platform", "flows", "pipeline_id", "source_complete", "stateful", "table", "x")
    values = (
        "file",
        "delta",
        "kafka",
        "lakeflow_table",
        "lakeflow",
        "yes",
        "no",
        "a\nb",
        "\x00",
        "é",
        "",
        "<b>",
    )
    given: list[str] = []
    for word in rng.choice(VERBS):
        if word == "{ends}":
            if tables and rng.random() < 0.7:
                given += ["--source", f"{rng.choice('01')}={rng.choice(tables)}"]
            if (tables or outputs) and rng.random() < 0.7:
                given += ["--sink", str(rng.choice([*tables, *outputs]))]
            continue
        given.append(
            word.replace("{number}", str(rng.choice(NUMBERS)))
            .replace("{option}", rng.choice(options))
            .replace("{setting}", f"{rng.choice(keys)}={rng.choice(values)}")
            .replace("{error}", str(rng.choice(files_of(root) or [root])))
        )
    place = root / "checkpoint" if (root / "checkpoint").is_dir() else root
    return [given[0], str(place), *given[1:]]


def seconds_without_queueing() -> float:
    """A clock that stands still while this thread waits for a processor: on a busy machine no answer is slow
    for that."""
    queued = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        queued = int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return time.monotonic() - queued


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Answers and messages go nowhere."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        yield


class Bases:
    """Samples and corpus, unpacked once."""

    def __init__(self, below: Path) -> None:
        self._below = below
        self._names = [
            *(("sample", name) for name in sample_names()),
            *(("corpus", name) for name in corpus_names()),
        ]

    def copy(self, rng: random.Random, target: Path) -> str:
        """A fresh copy of one of them; its name."""
        kind, name = rng.choice(self._names)
        if kind == "sample":
            shutil.copytree(SAMPLES / name, target)
        else:
            if not (self._below / name).exists():
                unpack_corpus(name, self._below)
            shutil.copytree(self._below / name, target)
        return name


def run_case(seed: int, case: int, bases: Bases, place: Path, *, shows: bool = False) -> Failure | None:
    """Makes the checkpoint of the case at ``place`` and runs its command."""
    rng = random.Random(seed * 1_000_003 + case)
    name = bases.copy(rng, place)
    done = [mutate(place, rng) for _ in range(rng.choice((1, 1, 2, 4)))]
    command = command_of(place, rng)
    if shows:
        print(name, *done, command, sep="\n  ")
    found: list[str] = []

    def unknown(error: Exception, _: bool) -> int:
        found.append("".join(traceback.format_exception(error)))
        return 1

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    began = seconds_without_queueing()
    # The last resort turns every exception into a sentence; here it is what is looked for.
    with mock.patch.object(command_line, "_unknown", unknown), quiet():
        try:
            command_line.main(command)
        except SystemExit:
            pass  # --help and the like
        except BaseException as error:
            unknown_error = "".join(traceback.format_exception(error))
            found.append(unknown_error)
            if isinstance(error, KeyboardInterrupt):
                raise
    took = seconds_without_queueing() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used
    what = f"{name}: {'; '.join(done)}: {command}\n"
    if found:
        return Failure(seed, case, tuple(command), what + found[0])
    if took > MOST_SECONDS:
        return Failure(seed, case, tuple(command), what + f"{took:.1f} seconds")
    if grown > MOST_BYTES:
        return Failure(seed, case, tuple(command), what + f"{grown >> 20} MiB of memory")
    return None


def run_cases(
    seed: int, cases: Iterator[int], seconds: float | None = None, run: RunCase = run_case
) -> tuple[int, list[Failure]]:
    """Runs these cases until they or the time are over: how many, and what failed."""
    failures: list[Failure] = []
    number = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=scratch_root()) as below:
        bases, place = Bases(Path(below) / "corpus"), Path(below) / "case"
        for case in cases:
            if seconds is not None and time.monotonic() - began > seconds:
                break
            failure = run(seed, case, bases, place)
            shutil.rmtree(place, ignore_errors=True)
            number += 1
            if failure is not None:
                failures.append(failure)
                print(failure, file=sys.stderr, flush=True)
            if number % 1_000 == 0:
                print(f"{number:,} cases", file=sys.stderr, flush=True)
    return number, failures
