"""Kinds of damage to a checkpoint, each a function of the checkpoint directory. What Hadoop keeps beside a
file goes with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
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


def without_its_file(name: str) -> Damage:
    """A file is gone, its hidden checksum file is left."""

    def apply(ck: Path) -> None:
        remove(ck / _fill(ck, name), keep_checksum=True)

    return apply


def holding(name: str, content: str | bytes) -> Damage:
    """A file holds other content (or is new)."""

    def apply(ck: Path) -> None:
        path = ck / _fill(ck, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        rewrite(path, content)

    return apply


def unfinished_write(log: str, age_seconds: int) -> Damage:
    """What a killed query leaves of a log file that it was writing."""

    def apply(ck: Path) -> None:
        path = ck / log / ".0.7d3c1f2e-0f4a-4b7e-9d52-1c6a8e4b9f10.tmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("v1\n")
        moment = time.time() - age_seconds
        os.utime(path, (moment, moment))

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


def bytes_changed(name: str, old: bytes, new: bytes) -> Damage:
    """The first of some bytes of a file are others."""

    def apply(ck: Path) -> None:
        path = ck / _fill(ck, name)
        data = path.read_bytes()
        assert old in data
        rewrite(path, data.replace(old, new, 1))

    return apply


def not_utf8(name: str, place: float = 0.9) -> Damage:
    """One byte of a text file is none of UTF-8."""

    def apply(ck: Path) -> None:
        path = ck / _fill(ck, name)
        data = bytearray(path.read_bytes())
        data[int(len(data) * place)] = 0xFF
        rewrite(path, bytes(data))

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


def rewound(batches: int, *, sources: bool = False, keep_checksums: bool = False) -> Damage:
    """Offsets and commits of the newest batches are gone; with ``sources`` the entries of the source logs
    after them too. ``keep_checksums``: their hidden checksum files are left, as by ``rm``."""

    def apply(ck: Path) -> None:
        last = newest(ck)
        for log in ("offsets", "commits"):
            for batch_id in ids(ck / log):
                if batch_id > last - batches:
                    remove(ck / log / str(batch_id), keep_checksum=keep_checksums)
        if sources:
            entry = (ck / "offsets" / str(last - batches)).read_text(encoding="utf-8")
            kept = int(entry.rsplit('"logOffset":', 1)[1].split("}", 1)[0])
            for directory in (ck / "sources").iterdir():
                for log_id in ids(directory):
                    if log_id > kept:
                        remove(directory / str(log_id), keep_checksum=keep_checksums)

    return apply


def rewound_below_a_snapshot(kind: str) -> Damage:
    """Offsets and commits go back so far that the next batch leads to the version of a snapshot that stays.
    All of it was an hour ago."""

    def apply(ck: Path) -> None:
        last = newest(ck)
        versions = [int(p.stem) for p in (ck / "state" / "0" / "0").glob(f"*.{kind}") if p.stem.isdecimal()]
        rewound(last - max(v for v in versions if v <= last) + 2)(ck)
        for path in (path for path in ck.rglob("*") if path.is_file()):
            moment = path.stat().st_mtime - 3_600
            os.utime(path, (moment, moment))

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


def everything_gone(ck: Path) -> None:
    """The directory is there and holds nothing."""
    shutil.rmtree(ck)
    ck.mkdir()


def only(*names: str) -> Damage:
    """Everything else is gone."""

    def apply(ck: Path) -> None:
        for path in list(ck.iterdir()):
            if path.name not in names and path.exists():
                remove(path)

    return apply


def back_to(ck: Path, batch_id: int) -> None:
    """Offsets and commits after a batch are gone."""
    for log in ("offsets", "commits"):
        for number in ids(ck / log):
            if number > batch_id:
                remove(ck / log / str(number))


def rewound_to_the_oldest(ck: Path) -> None:
    """Only the oldest retained batch is left in both logs."""
    back_to(ck, ids(ck / "offsets")[0])


def back_to_batch_0(ck: Path) -> None:
    """Killed in the very first batch: offsets/0 and the first source log entry, nothing else."""
    back_to(ck, 0)
    remove(ck / "commits/0")
    for directory in (ck / "sources").iterdir():
        for number in ids(directory):
            if number > 0:
                remove(directory / str(number))


def hidden_checksums(content: bytes | None) -> Damage:
    """Every hidden checksum file is gone, or holds something else."""

    def apply(ck: Path) -> None:
        for path in list(ck.rglob(".*.crc")):
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)

    return apply


def with_last_line_again(content: str) -> str:
    """An edit: the last line stands twice."""
    return content + "\n" + content.split("\n")[-1]


def copied(old: str, new: str) -> Damage:
    """A folder has a copy beside it."""

    def apply(ck: Path) -> None:
        shutil.copytree(ck / old, ck / new)

    return apply


def swapped(first: str, second: str) -> Damage:
    """Two files or folders change places."""

    def apply(ck: Path) -> None:
        aside = ck.parent / "aside"
        (ck / first).rename(aside)
        (ck / second).rename(ck / first)
        aside.rename(ck / second)

    return apply


def flipped(find: Callable[[Path], Path], place: float = 0.5, *, with_checksum: bool = False) -> Damage:
    """One bit of a file differs; the hidden checksum file stays when it is to tell."""

    def apply(ck: Path) -> None:
        path = find(ck)
        data = bytearray(path.read_bytes())
        data[int(len(data) * place)] ^= 1
        if not with_checksum:
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_bytes(bytes(data))

    return apply


def pinned(key: str, value: str | None, name: str = "offsets/{n}") -> Damage:
    """A setting recorded in an offset entry, by default in the newest, has another value, or none."""

    def change(text: str) -> str:
        lines = text.split("\n")
        header = json.loads(lines[1])
        if value is None:
            header["conf"].pop(key, None)
        else:
            header["conf"][key] = value
        lines[1] = json.dumps(header, separators=(",", ":"))
        return "\n".join(lines)

    return changed(name, change)


def pinned_everywhere(key: str, value: str) -> Damage:
    """The same in every offset entry."""

    def apply(ck: Path) -> None:
        for batch_id in ids(ck / "offsets"):
            pinned(key, value, f"offsets/{batch_id}")(ck)

    return apply


def field(name: str, value: object, log: str = "offsets/{n}") -> Damage:
    """A field of a log entry's metadata has another value."""

    def change(text: str) -> str:
        lines = text.split("\n")
        header = json.loads(lines[1])
        header[name] = value
        lines[1] = json.dumps(header, separators=(",", ":"))
        return "\n".join(lines)

    return changed(log, change)


def state_rewound(batches: int) -> Damage:
    """Offsets, commits and state of the newest batches are gone; the source logs stay."""

    def apply(ck: Path) -> None:
        last = newest(ck) - batches
        back_to(ck, last)
        for path in [
            p
            for p in ck.glob("state/*/**/*")
            if p.is_file() and p.name.split(".")[0].split("_")[0].isdecimal()
        ]:
            if "_metadata" not in path.parts and int(path.name.split(".")[0].split("_")[0]) > last + 1:
                remove(path)

    return apply


def first_source_gone(ck: Path) -> None:
    """The log of one of several sources is gone."""
    remove(sorted((ck / "sources").iterdir())[0])


def rename_first_source(ck: Path) -> None:
    """The log of one of several sources has another name."""
    first = sorted((ck / "sources").iterdir())[0]
    first.rename(first.with_name(f"{first.name}_old"))


def newest_sst(change: Callable[[Path], None]) -> Damage:
    """Something happens to one SST file of partition 1."""

    def apply(ck: Path) -> None:
        found = sorted(ck.glob("state/0/1/SSTs/*.sst"), key=lambda path: path.stat().st_mtime)
        assert found, ck
        change(found[-1])

    return apply


def without_sst_files(ck: Path) -> None:
    """Every ``SSTs`` directory is gone, and the changelogs that retention removes: those before the newest zip."""
    for store in ck.glob("state/0/[0-9]*"):
        newest = max(int(path.stem) for path in store.glob("*.zip"))
        remove(store / "SSTs")
        for path in store.glob("*.changelog"):
            if int(path.stem) < newest:
                remove(path)


def older_state_file(version: str, origin: str, *, partition: int = 1, store: str = "") -> Damage:
    """The content of an older delta or changelog in the place of a newer one."""

    def apply(ck: Path) -> None:
        directory = ck / "state/0" / str(partition) / store
        kind = "delta" if any(directory.glob("*.delta")) else "changelog"
        target = state_file(version, kind, partition=partition, store=store)(ck)
        rewrite(target, state_file(origin, kind, partition=partition, store=store)(ck).read_bytes())

    return apply


def wrong_checksum_file(ck: Path) -> None:
    """A visible checksum file (state format 2) tells another checksum."""
    path = sorted(ck.glob("state/0/1/2_*.changelog.crc"))[0]
    rewrite(
        path,
        re.sub(
            r'"value":"(.)',
            lambda m: '"value":"' + ("A" if m.group(1) != "A" else "B"),
            path.read_text(encoding="utf-8"),
        ),
    )


def _fill(ck: Path, name: str) -> str:
    if "{" not in name:
        return name
    last, commit = newest(ck), ids(ck / "commits")
    for shift in (-3, -2, -1, 1, 2):
        name = name.replace(f"{{n{shift:+d}}}", str(last + shift))
    return name.replace("{n}", str(last)).replace("{c}", str(commit[-1]) if commit else "0")
