"""Random incidents: what people and machines do to a checkpoint, several things at once, from a seed.

The acts are written from what happens in operation (killed drivers, deleted and truncated files, interrupted
copies, clean-up rules, restored backups, edits by hand, foreign tools), not from what the forecast knows. An
incident is replayed from its seed and number alone: files are chosen in an order that does not depend on the
ids in their names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from tests.support.copies import copy_of
from tests.support.damage import remove
from tests.support.oracle import CHANGELOG, RECIPES, ROCKSDB, Base, Recipe, ids

STATE_NAME = re.compile(r"(\d+)(?:_[0-9a-f-]{36})?\.(delta|snapshot|changelog|zip)")
BASES = {
    name: replace(RECIPES[name], name=f"{name}_with_backup", files=8, backup_after=4)
    for name in (
        "stateless",
        "watermarked",
        "windows",
        "windows_rocksdb",
        "windows_changelog",
        "windows_format_2",
        "windows_with_data",
        "dedup",
        "join",
        "join_changelog",
        "union",
        "named",
        "purged",
        "snapshots",
        "snapshots_changelog",
        "compacted",
    )
}


@dataclass
class Scene:
    """A copy of a base to which something happens, and how the query is started afterwards.

    ``conf``: settings of the session that differ from the base's. ``hidden``: input files that are away.
    ``edited``: input files with other content. ``story``: what happened, in words.
    """

    base: Base
    ck: Path
    rng: Random
    conf: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    edited: dict[str, str] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)

    def ids(self, log: str) -> list[int]:
        """The batch ids in a log directory."""
        return ids(self.ck / log)

    def state_files(self) -> list[Path]:
        """The state files, ordered by operator, partition, store, version and kind."""
        found = [path for path in self.ck.glob("state/*/**/*") if STATE_NAME.fullmatch(path.name)]
        return sorted(found, key=lambda path: (path.parent, *_version(path)))

    def files(self) -> list[Path]:
        """Every visible file, logs first."""
        logs = [self.ck / log / str(number) for log in ("offsets", "commits") for number in self.ids(log)]
        sources = sorted(
            path for path in self.ck.glob("sources/**/*") if path.is_file() and path.name[0] != "."
        )
        other = sorted(
            path for path in self.ck.glob("state/**/_metadata/**/*") if path.is_file() and path.name[0] != "."
        )
        metadata = [self.ck / "metadata"] if (self.ck / "metadata").exists() else []
        return [*metadata, *logs, *sources, *self.state_files(), *other]

    def name(self, path: Path) -> str:
        """A path as the story tells it."""
        return path.relative_to(self.ck).as_posix()

    def write(self, path: Path, content: str | bytes) -> None:
        """Other content; the hidden checksum file stays, as it does with every editor."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


Act = Callable[[Scene], str | None]
"""Does something and says what; None (and nothing is done) where it cannot be done."""


def _version(path: Path) -> tuple[int, str]:
    found = STATE_NAME.fullmatch(path.name)
    assert found is not None
    return int(found.group(1)), found.group(2)


def _newest(s: Scene, log: str = "offsets") -> int | None:
    return max(s.ids(log), default=None)


# ------------------------------------------------------------ a driver dies


def killed(s: Scene) -> str | None:
    """The driver dies in the middle of a batch: no commit, and the state of the batch written or not."""
    last = _newest(s)
    if last is None or _newest(s, "commits") != last:
        return None
    remove(s.ck / "commits" / str(last))
    how = s.rng.choice(
        ["after the state was written", "before any state", "with half of the partitions written"]
    )
    for path in s.state_files():
        partition = path.relative_to(s.ck / "state").parts[1]
        if _version(path)[0] == last + 1 and (
            how.startswith("before") or (how.startswith("with") and partition == "1")
        ):
            remove(path)
    return f"the driver was killed in batch {last}, {how}"


def killed_while_writing_an_offset(s: Scene) -> str | None:
    """Half of the next offset file, as a machine that loses power leaves it."""
    last = _newest(s)
    if last is None:
        return None
    text = (s.ck / "offsets" / str(last)).read_bytes()
    kept = s.rng.choice([0, len(text) // 3, len(text) - 2])
    s.write(s.ck / "offsets" / str(last + 1), text[:kept])
    return f"power was lost while offsets/{last + 1} was written: {kept} bytes"


def disk_full(s: Scene) -> str | None:
    """The newest file of one or more folders has no bytes."""
    folders = s.rng.sample(["offsets", "commits", "sources/0", "state"], s.rng.randint(1, 2))
    done = []
    for folder in folders:
        if folder == "state":
            files = s.state_files()[-1:]
        else:
            files = [s.ck / folder / str(number) for number in ids(s.ck / folder)[-1:]]
        for path in files:
            s.write(path, b"")
            done.append(s.name(path))
    return f"the disk was full: {' and '.join(done)} without a byte" if done else None


# ------------------------------------------------------- files are deleted


def newest_deleted(s: Scene) -> str | None:
    """The newest files of a log."""
    log = s.rng.choice(["offsets", "commits", "commits", "sources/0"])
    found = ids(s.ck / log)[-s.rng.choice([1, 1, 2, 3]) :]
    for number in found:
        remove(s.ck / log / str(number))
    return f"deleted the newest of {log}: {found}" if found else None


def some_deleted(s: Scene) -> str | None:
    """Any files of a log."""
    log = s.rng.choice(["offsets", "commits", "sources/0"])
    found = ids(s.ck / log)
    if not found:
        return None
    chosen = sorted(s.rng.sample(found, min(len(found), s.rng.randint(1, 3))))
    for number in chosen:
        remove(s.ck / log / str(number))
    return f"deleted some of {log}: {chosen}"


def folder_deleted(s: Scene) -> str | None:
    """One or two of the folders, or metadata."""
    names = s.rng.sample(["offsets", "commits", "sources", "state", "metadata"], s.rng.choice([1, 1, 2, 3]))
    names = [name for name in sorted(names) if (s.ck / name).exists()]
    for name in names:
        remove(s.ck / name)
    return f"deleted {' and '.join(names)}" if names else None


def folder_emptied(s: Scene) -> str | None:
    """The files of a folder, not the folder."""
    name = s.rng.choice(["offsets", "commits", "sources/0", "state"])
    if not (s.ck / name).exists():
        return None
    remove(s.ck / name)
    (s.ck / name).mkdir()
    return f"emptied {name}"


def only_one_left(s: Scene) -> str | None:
    """Everything but one folder or metadata is deleted."""
    left = s.rng.choice(["metadata", "offsets", "sources", "state", "commits", "nothing"])
    for path in list(s.ck.iterdir()):
        if path.name != left and path.exists():
            remove(path)
    return f"deleted everything but {left}"


def retention_rule(s: Scene) -> str | None:
    """A life cycle rule or a cron job deletes what is older than some batches, of every kind."""
    numbers = s.ids("offsets")
    if len(numbers) < 3:
        return None
    limit = s.rng.choice(numbers[1:])
    metadata_too = s.rng.random() < 0.6
    for log in ("offsets", "commits"):
        for number in s.ids(log):
            if number < limit:
                remove(s.ck / log / str(number))
    for path in [p for p in s.files() if p.parent.parent.name == "sources" and re.match(r"\d+", p.name)]:
        if int(re.match(r"\d+", path.name).group()) < limit:  # type: ignore[union-attr]
            remove(path)
    for path in s.state_files():
        if _version(path)[0] <= limit:
            remove(path)
    if metadata_too:
        remove(s.ck / "metadata") if (s.ck / "metadata").exists() else None
        for path in [p for p in s.files() if "_metadata" in p.parts]:
            remove(path)
    also = ", metadata and the schemas too" if metadata_too else ""
    return f"a clean-up rule deleted all that is older than batch {limit}{also}"


def state_deleted(s: Scene) -> str | None:
    """State files: some, one partition, one kind, one version, one store."""
    files = s.state_files()
    if not files:
        return None
    how = s.rng.choice(["one file", "a partition", "a kind", "a version", "the folder of a store"])
    one = s.rng.choice(files)
    if how == "one file":
        chosen = [one]
    elif how == "a kind":
        chosen = [path for path in files if _version(path)[1] == _version(one)[1]]
    elif how == "a version":
        chosen = [path for path in files if _version(path)[0] == _version(one)[0]]
    elif how == "a partition":
        partition = s.ck.joinpath(*one.relative_to(s.ck).parts[:3])
        remove(partition)
        return f"deleted {s.name(partition)}"
    else:
        remove(one.parent)
        return f"deleted {s.name(one.parent)}"
    for path in chosen:
        remove(path)
    return f"deleted {how} of the state: {', '.join(_told(s, path) for path in chosen[:3])} ({len(chosen)})"


def schemas_deleted(s: Scene) -> str | None:
    """What says how the state is laid out."""
    found = sorted(path for path in s.ck.glob("state/**/_metadata"))
    if not found:
        return None
    chosen = s.rng.choice([found, [s.rng.choice(found)]])
    for path in chosen:
        remove(path)
    return f"deleted {', '.join(s.name(path) for path in chosen)}"


# ----------------------------------------------------- files are damaged


def damaged(s: Scene) -> str | None:
    """One file is cut, emptied, or a byte of it changes."""
    files = s.files()
    if not files:
        return None
    return _damage(s, s.rng.choice(files))


def newest_damaged(s: Scene) -> str | None:
    """The same with one of the newest files of a log or of the state."""
    log = s.rng.choice(["offsets", "commits", "sources/0", "state", "state"])
    if log == "state":
        files = s.state_files()
        newest = max((_version(path)[0] for path in files), default=0)
        files = [path for path in files if _version(path)[0] >= newest - 1]
    else:
        files = [s.ck / log / str(number) for number in ids(s.ck / log)[-2:]]
    return _damage(s, s.rng.choice(files)) if files else None


def _damage(s: Scene, path: Path) -> str:
    data = path.read_bytes()
    how = s.rng.choice(["emptied", "cut", "cut", "one bit flipped", "junk at the end"])
    if how == "emptied":
        s.write(path, b"")
    elif how == "cut":
        s.write(path, data[: s.rng.randrange(len(data) or 1)])
    elif how == "one bit flipped" and data:
        place = s.rng.randrange(len(data))
        s.write(path, data[:place] + bytes([data[place] ^ (1 << s.rng.randrange(8))]) + data[place + 1 :])
        how = f"one bit flipped at {place} of {len(data)}"
    else:
        s.write(path, data + b"\nxyz\n")
    return f"{_told(s, path)}: {how}"


def older_in_its_place(s: Scene) -> str | None:
    """A file is replaced by an older one of the same kind: "it worked yesterday"."""
    kind = s.rng.choice(["offsets", "commits", "sources/0", "state", "state"])
    if kind == "state":
        files = s.state_files()
        if not files:
            return None
        target = s.rng.choice(files)
        older = [
            path
            for path in files
            if path.parent == target.parent
            and _version(path)[1] == _version(target)[1]
            and _version(path)[0] < _version(target)[0]
        ]
        if not older:
            return None
        origin = s.rng.choice(older)
    else:
        numbers = ids(s.ck / kind)
        if len(numbers) < 2:
            return None
        new = s.rng.choice([numbers[-1], s.rng.choice(numbers[1:])])
        target, origin = (
            s.ck / kind / str(new),
            s.ck / kind / str(s.rng.choice([n for n in numbers if n < new])),
        )
    s.write(target, origin.read_bytes())
    return f"copied {_told(s, origin)} over {_told(s, target)}"


# -------------------------------------------------------- edits by hand


def offset_edited(s: Scene) -> str | None:
    """The newest offset entry (or the one before) is changed in an editor."""
    numbers = s.ids("offsets")
    if len(numbers) < 2:
        return None
    number = s.rng.choice([numbers[-1], numbers[-1], numbers[-2]])
    path = s.ck / "offsets" / str(number)
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    if len(lines) < 3:
        return None
    how = s.rng.choice(
        [
            "up",
            "down",
            "as before",
            "-",
            "zero",
            "string",
            "extra line",
            "line gone",
            "spread",
            "CRLF",
            "newline at the end",
            "BOM",
            "watermark 0",
            "more partitions",
            "fewer partitions",
            "provider",
            "no conf",
            "v2",
            "v9",
            "watermark up",
        ]
    )
    source = s.rng.randrange(2, len(lines))
    found = re.search(r'"logOffset":(\d+)', lines[source])
    offset = int(found.group(1)) if found else 0
    amount = s.rng.randint(1, 3)
    before = (s.ck / "offsets" / str(number - 1)).read_text().split("\n") if number - 1 in numbers else lines
    joined: str | None = None
    if how in ("up", "down", "zero"):
        value = offset + amount if how == "up" else max(-1, offset - amount) if how == "down" else 0
        lines[source] = lines[source].replace(f'"logOffset":{offset}', f'"logOffset":{value}')
        how = f"logOffset {offset} -> {value} in line {source + 1}"
    elif how == "as before" and len(before) > source:
        lines[source] = before[source]
        how = f"line {source + 1} as in offsets/{number - 1}"
    elif how == "-":
        lines[source] = "-"
        how = f"line {source + 1} is -"
    elif how == "string":
        lines[source] = f'{{"logOffset":"{offset}"}}'
    elif how == "extra line":
        lines.append(lines[source])
    elif how == "line gone":
        lines.pop(source)
    elif how == "spread":
        lines[1:2] = (
            json.dumps(json.loads(lines[1]), indent=2).split("\n") if lines[1].startswith("{") else [""]
        )
    elif how == "CRLF":
        joined = "\r\n".join(lines)
    elif how == "newline at the end":
        joined = "\n".join([*lines, ""])
    elif how == "BOM":
        joined = "\ufeff" + "\n".join(lines)
    elif how == "watermark 0":
        lines[1] = re.sub(r'"batchWatermarkMs":\d+', '"batchWatermarkMs":0', lines[1])
    elif how == "watermark up":
        lines[1] = re.sub(r'"batchWatermarkMs":\d+', '"batchWatermarkMs":4102444800000', lines[1])
    elif how == "more partitions":
        lines[1] = lines[1].replace('shuffle.partitions":"2"', 'shuffle.partitions":"4"')
    elif how == "fewer partitions":
        lines[1] = lines[1].replace('shuffle.partitions":"2"', 'shuffle.partitions":"1"')
    elif how == "provider":
        hdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
        rocks = next(iter(ROCKSDB.values()))
        lines[1] = lines[1].replace(hdfs, rocks) if hdfs in lines[1] else lines[1].replace(rocks, hdfs)
    elif how == "no conf":
        lines[1] = re.sub(r',"conf":\{.*?\}', "", lines[1])
    elif how in ("v2", "v9"):
        lines[0] = how
    s.write(path, joined if joined is not None else "\n".join(lines))
    return f"edited offsets/{number}: {how}"


def commit_edited(s: Scene) -> str | None:
    """The newest commit is changed in an editor, or written by hand to skip a batch."""
    last, commit = _newest(s), _newest(s, "commits")
    if last is None or commit is None:
        return None
    text = (s.ck / "commits" / str(commit)).read_text(encoding="utf-8", errors="replace")
    how = s.rng.choice(
        [
            "written for the next batch",
            "written for the newest offset",
            "empty JSON",
            "only v1",
            "watermark",
            "v2",
            "v3",
        ]
    )
    number = commit
    if how == "written for the next batch":
        number = last + 1
    elif how == "written for the newest offset":
        number = last
    elif how == "empty JSON":
        text = "v1\n{}"
    elif how == "only v1":
        text = "v1"
    elif how == "watermark":
        text = re.sub(
            r'"nextBatchWatermarkMs":-?\d+',
            f'"nextBatchWatermarkMs":{s.rng.choice([0, 4102444800000])}',
            text,
        )
    else:
        text = how + text[2:]
    s.write(s.ck / "commits" / str(number), text)
    return f"edited commits/{number}: {how}"


def metadata_edited(s: Scene) -> str | None:
    """Another query's id, or something that is not one."""
    content = s.rng.choice(
        [
            '{"id":"dddc5e7f-1e71-454c-8362-de184444fb5a"}',
            '{"id":"my-query"}',
            "",
            "{",
            '{"ID":"x"}',
            '{"id":"dddc5e7f-1e71-454c-8362-de184444fb5a"}\n',
            "null",
        ]
    )
    s.write(s.ck / "metadata", content)
    return f"metadata now holds {content!r}"


# ------------------------------------------------------------- rewinds


def rewound(s: Scene) -> str | None:
    """Back by some batches: offsets and commits, with sources and state or without."""
    numbers = s.ids("offsets")
    if len(numbers) < 3:
        return None
    to = s.rng.choice(numbers[:-1])
    what = ["offsets", "commits"]
    if s.rng.random() < 0.15:
        what.remove(s.rng.choice(what))
    what += [name for name in ("sources", "state") if s.rng.random() < 0.5 and (s.ck / name).exists()]
    entry = (s.ck / "offsets" / str(to)).read_text(encoding="utf-8", errors="replace")
    kept = max((int(n) for n in re.findall(r'"logOffset":(\d+)', entry)), default=to)
    pending = s.rng.random() < 0.3  # offsets/to stays without a commit
    for log in ("offsets", "commits"):
        for number in s.ids(log) if log in what else []:
            if number > to or (log == "commits" and pending and number == to):
                remove(s.ck / log / str(number))
    for path in [
        p for p in s.files() if p.parent.parent.name == "sources" and p.name.split(".")[0].isdecimal()
    ]:
        if "sources" in what and int(path.name.split(".")[0]) > kept:
            remove(path)
    for path in s.state_files() if "state" in what else []:
        if _version(path)[0] > to + 1:
            remove(path)
    return f"rolled {', '.join(what)} back to batch {to}" + (", its commit removed" if pending else "")


def rewound_and_ran(s: Scene) -> str | None:
    """Marks that the query ran once more here; the caller starts it."""
    told = rewound(s)
    return None if told is None else told + RAN


RAN = "; then the query ran once"


# ------------------------------------------------ copies and backups


def restored_in_part(s: Scene) -> str | None:
    """Some folders come from the older backup, over what is there or in its place."""
    parts = [name for name in ("offsets", "commits", "sources", "state") if (s.base.backup / name).exists()]
    chosen = sorted(s.rng.sample(parts, s.rng.randint(1, len(parts))))
    over = s.rng.random() < 0.4
    for name in chosen:
        if not over and (s.ck / name).exists():
            remove(s.ck / name)
        shutil.copytree(s.base.backup / name, s.ck / name, dirs_exist_ok=True)
    return f"{' and '.join(chosen)} restored from an older backup, {'over' if over else 'in place of'} what was there"


def copy_interrupted(s: Scene) -> str | None:
    """A copy that stopped: what comes later in the listing is not there."""
    order = s.rng.choice(["by name", "by name, backwards", "by age"])
    files = sorted((p for p in s.ck.rglob("*") if p.is_file()), key=lambda p: p.as_posix())
    if order.endswith("backwards"):
        files.reverse()
    if order == "by age":
        numbered = {path: _age(path) for path in files}
        files.sort(key=lambda path: (numbered[path], path.as_posix()))
    kept = s.rng.uniform(0.1, 0.95)
    lost = files[int(len(files) * kept) :]
    for path in lost:
        path.unlink()
    _drop_empty_folders(s.ck)
    return f"a copy ({order}) stopped after {kept:.0%}: {len(lost)} of {len(files)} files are not there"


def _age(path: Path) -> int:
    found = re.match(r"\.?(\d+)", path.name)
    return int(found.group(1)) if found else -1


def _drop_empty_folders(root: Path) -> None:
    for path in sorted((p for p in root.rglob("*") if p.is_dir()), key=lambda p: len(p.parts), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def through_an_object_store(s: Scene) -> str | None:
    """Copied through an object store: no hidden files, no empty folders."""
    for path in list(s.ck.rglob(".*.crc")):
        path.unlink()
    _drop_empty_folders(s.ck)
    return "copied through an object store (no hidden files)"


def files_lost(s: Scene) -> str | None:
    """A disk or a sync tool loses some files of every kind."""
    files = s.files()
    share = s.rng.choice([0.02, 0.05, 0.1, 0.3])
    lost = [path for path in files if s.rng.random() < share]
    for path in lost:
        remove(path)
    return (
        f"lost {', '.join(_told(s, path) for path in lost[:6])} ({len(lost)} of {len(files)})"
        if lost
        else None
    )


def other_checkpoint_over_it(s: Scene) -> str | None:
    """The logs of another query's checkpoint are copied over this one's."""
    others = [
        path for path in sorted(s.base.root.parent.glob("*_with_backup/ck")) if path != s.base.checkpoint
    ]
    if not others:
        return None
    other = s.rng.choice(others)
    chosen = s.rng.choice([["metadata"], ["offsets", "commits"], ["commits"], ["state"], ["sources"]])
    chosen = [name for name in chosen if (other / name).exists()]
    for name in chosen:
        if (s.ck / name).exists():
            remove(s.ck / name)
        if (other / name).is_dir():
            copy_of(other / name, s.ck / name)
        else:
            shutil.copy(other / name, s.ck / name)
    return f"{' and '.join(chosen)} come from the checkpoint of {other.parent.name}" if chosen else None


# --------------------------------------------- folders and foreign files


def swapped(s: Scene) -> str | None:
    """Two folders change places."""
    pairs = [("state/0/0", "state/0/1"), ("sources/0", "sources/1"), ("offsets", "commits")]
    stores = sorted(path.name for path in (s.ck / "state/0/0").glob("*-*") if path.is_dir())
    if len(stores) > 1:
        pairs.append((f"state/0/0/{stores[0]}", f"state/0/0/{stores[1]}"))
    pairs = [(a, b) for a, b in pairs if (s.ck / a).exists() and (s.ck / b).exists()]
    if not pairs:
        return None
    first, second = s.rng.choice(pairs)
    aside = s.ck.parent / "aside"
    (s.ck / first).rename(aside)
    (s.ck / second).rename(s.ck / first)
    aside.rename(s.ck / second)
    return f"{first} and {second} changed places"


def renamed(s: Scene) -> str | None:
    """A folder or file is put aside under another name beside it ("first keep the old one")."""
    choices = [
        name
        for name in ("offsets", "commits", "state", "sources", "sources/0", "metadata", "state/0")
        if (s.ck / name).exists()
    ]
    if not choices:
        return None
    name = s.rng.choice(choices)
    (s.ck / name).rename(s.ck / f"{name}_old")
    return f"{name} was renamed to {name}_old"


def foreign_file(s: Scene) -> str | None:
    """Files that other programs leave behind."""
    last = _newest(s) or 0
    name, content = s.rng.choice(
        [
            (".DS_Store", "x"),
            (f"offsets/.{last + 1}.3f1c.tmp", "v1"),
            (f"offsets/{last + 1}.tmp", ""),
            (f"offsets/{last}.bak", "v1\n{}"),
            (f"offsets/._{last}", "Mac OS X"),
            (f"offsets/{last + 1}", "v1\n{}\n-"),
            (f"offsets/0{last}", "v1\n{}"),
            (f"offsets/{last}/part", "x"),
            (f"offsets/{last + 3} (copy)", "v1"),
            ("offsets/_SUCCESS", ""),
            (f"commits/{last}~", "v1\n{}"),
            (f"commits/{last + 2}", "v1\n{}"),
            ("commits/_SUCCESS", ""),
            ("state/lost+found/x", "x"),
            ("state/_SUCCESS", ""),
            ("state/0/0/notes.txt", "x"),
            (f"state/0/0/{last + 2}.delta", "junk"),
            (f"state/0/1/{last + 2}.changelog", "junk"),
            (f"state/0/0/{last + 1}.snapshot", "junk"),
            (f"state/0/0/{last}.zip", "junk"),
            ("sources/0/.DS_Store", "x"),
            (f"sources/0/{last + 1}", ""),
            (f"sources/0/{last + 4}", "v1"),
            ("_temporary/0/x", ""),
        ]
    )
    path = s.ck / name
    if path.exists() or any(parent.is_file() for parent in path.parents):
        return None
    s.write(path, content)
    return f"{name} is there, holding {content!r}"


# ------------------------------------------ input files and the session


def inputs_changed(s: Scene) -> str | None:
    """Input files that are deleted, archived, renamed, rewritten."""
    batch = s.rng.randrange(0, s.base.recipe.files)
    batch = s.rng.choice([batch, s.base.recipe.files - 1, s.base.recipe.files - 1])
    name = f"in/{batch:04d}.json"
    if not (s.base.root / name).exists() or name in s.hidden or name in s.edited:
        return None
    how = s.rng.choice(["deleted", "rewritten", "all old ones deleted", "not JSON any more"])
    if how == "deleted":
        s.hidden.append(name)
    elif how == "all old ones deleted":
        s.hidden += [f"in/{number:04d}.json" for number in range(s.base.recipe.files)]
        s.hidden[:] = sorted(set(s.hidden))
        return "all input files that were read are deleted"
    else:
        s.edited[name] = (
            ""
            if how == "not JSON any more"
            else (s.base.root / name).read_text().replace('"k": "a"', '"k": "z"')
        )
    return f"the input file {name} was {how}"


def session_changed(s: Scene) -> str | None:
    """Other settings of the session."""
    key, value = s.rng.choice(
        [
            ("spark.sql.shuffle.partitions", "5"),
            ("spark.sql.shuffle.partitions", "1"),
            ("spark.sql.streaming.noDataMicroBatches.enabled", "false"),
            ("spark.sql.streaming.minBatchesToRetain", "1"),
            next(iter(ROCKSDB.items())),
            list(CHANGELOG.items())[-1],
            ("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "false"),
            ("spark.sql.streaming.stateStore.compression.codec", "zstd"),
        ]
    )
    s.conf[key] = value
    return f"the session sets {key}={value}"


ACTS: tuple[tuple[Act, int], ...] = (
    (killed, 8),
    (killed_while_writing_an_offset, 3),
    (disk_full, 3),
    (newest_deleted, 8),
    (some_deleted, 4),
    (folder_deleted, 5),
    (folder_emptied, 3),
    (only_one_left, 3),
    (retention_rule, 5),
    (state_deleted, 8),
    (schemas_deleted, 3),
    (damaged, 8),
    (newest_damaged, 8),
    (older_in_its_place, 6),
    (offset_edited, 10),
    (commit_edited, 6),
    (metadata_edited, 2),
    (rewound, 9),
    (rewound_and_ran, 5),
    (restored_in_part, 8),
    (copy_interrupted, 5),
    (through_an_object_store, 4),
    (files_lost, 5),
    (other_checkpoint_over_it, 3),
    (swapped, 3),
    (renamed, 4),
    (foreign_file, 6),
    (inputs_changed, 6),
    (session_changed, 4),
)


@dataclass(frozen=True)
class Incident:
    """One incident: replayed from its seed and number. ``is_quiet``: nothing new waits at the source."""

    seed: int
    number: int
    recipe: Recipe
    acts: int
    is_quiet: bool

    @property
    def id(self) -> str:
        """As it reads in a report."""
        return f"{self.seed}-{self.number}-{self.recipe.name.removesuffix('_with_backup')}"

    def befall(self, base: Base, ck: Path, run: Callable[[Scene], None]) -> Scene:
        """Does it to a copy; ``run`` starts the query once where the story says so."""
        scene = Scene(base, ck, Random(f"{self.seed}/{self.number}/acts"))
        acts, weights = zip(*ACTS, strict=True)
        while len(scene.story) < self.acts:
            act = scene.rng.choices(acts, weights)[0]
            told = act(scene)
            if told is not None:
                scene.story.append(told)
                if told.endswith(RAN):
                    run(scene)
        return scene


def incidents(seed: int, count: int, recipes: Sequence[Recipe] | None = None) -> list[Incident]:
    """The incidents of a seed; the first ones are the same however many are asked for."""
    pool = [recipe for recipe in (recipes or BASES.values()) if recipe.needs.is_here]
    found = []
    for number in range(count):
        rng = Random(f"{seed}/{number}")
        found.append(
            Incident(seed, number, rng.choice(pool), rng.choice([1, 1, 1, 2, 2, 3]), rng.random() < 0.12)
        )
    return found


def _told(s: Scene, path: Path) -> str:
    """The name of a file without the ids that differ from base to base."""
    return re.sub(r"_[0-9a-f-]{36}", "_<id>", s.name(path))


class Edited:
    """Input files with other content for a while, with the file times they had."""

    def __init__(self, root: Path, edited: dict[str, str]) -> None:
        self.root, self.edited = root, edited
        self.kept: dict[Path, tuple[bytes, float]] = {}

    def __enter__(self) -> None:
        for name, content in self.edited.items():
            path = self.root / name
            if path.exists():
                self.kept[path] = path.read_bytes(), path.stat().st_mtime
                path.write_text(content, encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        for path, (content, time) in self.kept.items():
            path.write_bytes(content)
            os.utime(path, (time, time))
