"""Whether the sources still have what a copy reads again that stands before batches which have run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.recovery.kit.files import Files, file_log, gone_and_changed, not_the_same
from core.recovery.kit.words import Checks


def not_asked(sources: Mapping[str, str], first: int, newest: int | None) -> Checks:
    """One line for each source that this script cannot ask: what its broker or table no longer has is missing
    in the batches from ``first`` on, or stops them. ``sources``: the kind of each, by key; ``newest``: the
    newest batch that had read them, None where that is not known."""
    if newest is not None and newest < first:
        return []
    which = f"batch {first}" if newest == first else f"batches {first} to {newest}"
    had = f"what {which} had read" if newest is not None else f"everything after batch {first - 1}"
    return [
        (None, f"that source {key} ({kind}) still has {had}: it is read again, and this script does not ask")
        for key, kind in sources.items()
    ]


def files_again(files: Files, old: str, backup: str, file_sources: Mapping[str, str]) -> Checks:
    """What became of the input files that the old checkpoint names and the backup does not; nothing where
    they are all as they were."""
    checks: Checks = []
    for key, directory in file_sources.items():
        ends = [newest_entry(files.names(f"{place}/{directory}")) for place in (backup, old)]
        again = file_log(files, f"{old}/{directory}", *ends) if ends[1] > ends[0] else []
        gone, changed = gone_and_changed(files, again)
        if gone:
            text = f"{len(gone)} of {len(again)} files that are read again are gone, for example {gone[0]}"
            checks.append((None, f"source {key}: {text}: their rows will be missing"))
        if changed:
            checks.append((None, not_the_same(key, changed, len(again))))
    return checks


def newest_entry(names: Iterable[str]) -> int:
    """The newest entry of a source log, by the names of its files; -1 where there is none."""
    numbers = [name.removesuffix(".compact") for name in names]
    return max((int(name) for name in numbers if name.isascii() and name.isdigit()), default=-1)
