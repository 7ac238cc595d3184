"""Kinds of damage to a checkpoint, each a function of the checkpoint directory. What Hadoop keeps beside a
file goes with it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.oracle import ids

Damage = Callable[[Path], None]


def remove(path: Path, *, keep_checksum: bool = False) -> None:
    """Removes a file with its hidden checksum file, or a directory."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    path.unlink()
    if not keep_checksum:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def rewrite(path: Path, content: str | bytes) -> None:
    """Other content under the same name; the stale checksum file goes."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def newest(ck: Path, log: str = "offsets") -> int:
    """The highest id in a log."""
    return ids(ck / log)[-1]


def nothing(ck: Path) -> None:
    """The checkpoint as Spark left it."""


def both(*damages: Damage) -> Damage:
    """Several kinds of damage, one after the other."""

    def apply(ck: Path) -> None:
        for damage in damages:
            damage(ck)

    return apply


def without(*names: str) -> Damage:
    """Files or directories are gone; ``{n}`` is the newest offset id, ``{n-1}`` the one before, ``{n+1}`` the
    one after."""

    def apply(ck: Path) -> None:
        paths = [ck / _fill(ck, name) for name in names]
        for path in paths:
            remove(path)

    return apply


def holding(name: str, content: str | bytes) -> Damage:
    """A file holds other content (or is new)."""

    def apply(ck: Path) -> None:
        path = ck / _fill(ck, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        rewrite(path, content)

    return apply


def changed(name: str, change: Callable[[str], str]) -> Damage:
    """A text file is edited."""

    def apply(ck: Path) -> None:
        path = ck / _fill(ck, name)
        rewrite(path, change(path.read_text(encoding="utf-8")))

    return apply


def derived(name: str, origin: str, change: Callable[[str], str]) -> Damage:
    """A new file: an edited copy of another one."""

    def apply(ck: Path) -> None:
        target, source = ck / _fill(ck, name), ck / _fill(ck, origin)
        rewrite(target, change(source.read_text(encoding="utf-8")))

    return apply


def cut(name: str, keep: float = 0.5) -> Damage:
    """A file lost its end."""

    def apply(ck: Path) -> None:
        path = ck / _fill(ck, name)
        data = path.read_bytes()
        rewrite(path, data[: int(len(data) * keep)])

    return apply


def line(number: int, text: str) -> Callable[[str], str]:
    """An edit: line ``number`` (from 1) becomes ``text``."""

    def change(content: str) -> str:
        lines = content.split("\n")
        lines[number - 1] = text
        return "\n".join(lines)

    return change


def keep_lines(count: int) -> Callable[[str], str]:
    """An edit: only the first lines stay."""
    return lambda content: "\n".join(content.split("\n")[:count])


def rename(old: str, new: str) -> Damage:
    """A file has another name."""

    def apply(ck: Path) -> None:
        source, target = ck / _fill(ck, old), ck / _fill(ck, new)
        source.with_name(f".{source.name}.crc").unlink(missing_ok=True)
        source.rename(target)

    return apply


def log_gone(*logs: str) -> Damage:
    """Every file of these directories is gone, the directories stay."""

    def apply(ck: Path) -> None:
        for log in logs:
            remove(ck / log)
            (ck / log).mkdir()

    return apply


def rewound(batches: int, *, sources: bool = False) -> Damage:
    """Offsets and commits of the newest batches are gone; with ``sources`` the entries of the source logs
    after them too."""

    def apply(ck: Path) -> None:
        last = newest(ck)
        for log in ("offsets", "commits"):
            for batch_id in ids(ck / log):
                if batch_id > last - batches:
                    remove(ck / log / str(batch_id))
        if sources:
            entry = (ck / "offsets" / str(last - batches)).read_text(encoding="utf-8")
            kept = int(entry.rsplit('"logOffset":', 1)[1].split("}", 1)[0])
            for directory in (ck / "sources").iterdir():
                for log_id in ids(directory):
                    if log_id > kept:
                        remove(directory / str(log_id))

    return apply


def state_file(version: str, kind: str, *, partition: int = 1, store: str = "") -> Callable[[Path], Path]:
    """The path of a state file by version (``{n}`` as above, a number otherwise) and kind, with or without an
    id in its name."""

    def find(ck: Path) -> Path:
        number = _fill(ck, version)
        directory = ck / "state" / "0" / str(partition) / store
        found = sorted(
            p
            for p in directory.iterdir()
            if p.name == f"{number}.{kind}"
            or (p.name.startswith(f"{number}_") and p.name.endswith(f".{kind}"))
        )
        assert found, (directory, number, kind)
        return found[0]

    return find


def state_missing(version: str, kind: str, *, partition: int = 1, store: str = "") -> Damage:
    """A state file is gone."""
    find = state_file(version, kind, partition=partition, store=store)
    return lambda ck: remove(find(ck))


def state_empty(version: str, kind: str, *, partition: int = 1, store: str = "") -> Damage:
    """A state file has no bytes."""
    find = state_file(version, kind, partition=partition, store=store)
    return lambda ck: rewrite(find(ck), b"")


def newest_snapshot(kind: str, change: Callable[[Path], None], *, only: int | None = None) -> Damage:
    """Something happens to the newest snapshot (``snapshot`` or ``zip``) below the newest version, in every
    partition or in ``only``."""

    def apply(ck: Path) -> None:
        needed = newest(ck) + 1
        for partition in (0, 1) if only is None else (only,):
            directory = ck / "state" / "0" / str(partition)
            versions = sorted(int(p.stem) for p in directory.glob(f"*.{kind}") if int(p.stem) < needed)
            # A snapshot of the newest version itself would stand in for this one.
            for late in directory.glob(f"{needed}.{kind}"):
                remove(late)
            change(directory / f"{versions[-1]}.{kind}")

    return apply


def halve(path: Path) -> None:
    """A file lost its second half."""
    data = path.read_bytes()
    rewrite(path, data[: len(data) // 2])


def empty(path: Path) -> None:
    """A file has no bytes."""
    rewrite(path, b"")


def untouched(path: Path) -> None:
    """The file stays as it is."""


def at_home(ck: Path) -> None:
    """The absolute paths in the operator metadata point into this copy, as they do in a checkpoint that was
    never moved."""
    for path in (ck / "state").glob("*/_metadata/v2/*"):
        if path.name.isdecimal():
            rewrite(
                path, re.sub(r"file:[^\"]*?/state/", f"file:{ck}/state/", path.read_text(encoding="utf-8"))
            )


def all_of(pattern: str) -> Damage:
    """Every file that matches is gone."""

    def apply(ck: Path) -> None:
        found = [path for path in ck.glob(pattern) if not path.name.startswith(".")]
        assert found, pattern
        for path in found:
            remove(path)

    return apply


def _fill(ck: Path, name: str) -> str:
    if "{" not in name:
        return name
    last, commit = newest(ck), ids(ck / "commits")
    for shift in (-3, -2, -1, 1, 2):
        name = name.replace(f"{{n{shift:+d}}}", str(last + shift))
    return name.replace("{n}", str(last)).replace("{c}", str(commit[-1]) if commit else "0")
