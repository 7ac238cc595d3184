"""A state file that may be an older one in the place of the right one: nothing in a file of state format 1
tells which version it belongs to, so that Spark, and its state reader, load it without an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

from core.recovery.kit.files import Files
from core.recovery.kit.run import Run
from core.recovery.kit.starting import stores, version_of
from core.recovery.kit.words import Checks

TIME_SLACK_MS = 1000
"""Some stores keep whole seconds."""


def check_older_files(run: Run, place: str, batch: int) -> Checks:
    """For the verdict: the state files that a start after ``batch`` loads, which hold, byte for byte, what an
    older one holds, and which were written at another time than those beside them. ``place`` is where Spark
    wrote them: a copy has other times."""
    files: Files = run.files
    directories = [directory for *_, directory in stores(files, place)]
    if not directories:
        return []
    committed = {int(name): at for name, at in files.times(f"{place}/commits").items() if name.isdigit()}
    found = [
        f"{directory}/{name} is the right file: it holds, byte for byte, what {older} holds, and its time"
        " does not fit between those of its neighbours"
        for directory in directories
        for name, older in older_files(files, directory, batch + 1, committed)
    ]
    return [(None, f"that {text}") for text in found]


def older_files(
    files: Files, directory: str, version: int, committed: Mapping[int, int]
) -> Iterator[tuple[str, str]]:
    """The names of such files of one store, each with the older one."""
    times, sizes = files.times(directory), files.own_sizes(directory)
    by_kind: dict[str, dict[int, str]] = {}
    for name in sizes:
        number = version_of(name)
        if number is not None and "_" not in name and not name.endswith(".snapshot"):
            by_kind.setdefault(name.rpartition(".")[2], {})[number] = name
    whole = [version_of(name) or 0 for name in sizes if name.endswith((".zip", ".snapshot"))]
    start = max((number for number in whole if number <= version), default=0)
    for kind, names in by_kind.items():
        at_ms = {number: times[name] for number, name in names.items() if name in times}
        for older, newer in combinations(sorted(at_ms), 2):
            is_loaded = newer == start if kind == "zip" else start < newer <= version
            alike = is_loaded and sizes[names[older]] == sizes[names[newer]]
            if not alike or not is_out_of_order(at_ms, newer, committed):
                continue
            if files.digest(f"{directory}/{names[older]}") == files.digest(f"{directory}/{names[newer]}"):
                yield names[newer], names[older]
                break


def is_out_of_order(at_ms: Mapping[int, int], number: int, committed: Mapping[int, int]) -> bool:
    """Whether the time of a version lies outside of those beside it, while all the others are in order. The
    newest one is held against the commit of its batch, which is written after the state: where the version
    before it was."""
    others = {each: at_ms[each] for each in sorted(at_ms) if each != number}
    if len(others) < 3 or any(later < earlier for earlier, later in pairwise(others.values())):
        return False
    before = max((at for each, at in others.items() if each < number), default=None)
    after = min((at for each, at in others.items() if each > number), default=None)
    last = max(others)
    if after is None and others[last] <= committed.get(last - 1, -1):
        after = committed.get(number - 1)
    is_early = before is not None and at_ms[number] < before - TIME_SLACK_MS
    return is_early or (after is not None and at_ms[number] > after + TIME_SLACK_MS)
