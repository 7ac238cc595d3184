"""The checkpoints below one root at a glance: what four listings and three small files tell about each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import streamlit as st

from core.checkpoint import Checkpoint
from core.errors import NotACheckpoint, StorageError
from core.messages import words
from core.settings import get_settings
from core.storage import Door
from core.storage.roots import locate
from ui import cached_answers

SECONDS = 60
AT_ONCE = 8
STORY = "story.md"
FOR_TESTS = "## Expected answers (for tests)"
"""From this heading on a story of a sample speaks to its tests; nobody else is shown that."""

LARGEST_STORY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One checkpoint in the table. ``problem`` says why it could not be looked into."""

    name: str
    story: str = ""
    last_committed: int | None = None
    pending: int | None = None
    batches: int | None = None
    sources: str = ""
    is_stateful: bool | None = None
    newest_ms: int | None = None
    problem: str = ""


@st.cache_resource(max_entries=32, ttl=SECONDS, show_spinner="Looking into the checkpoints ...")
def rows(names: tuple[str, ...]) -> tuple[Row, ...]:
    """One row per name, in their order. At most a minute old."""
    most = get_settings().checkpoint_rows
    looked, rest = names[:most], names[most:]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(look, looked))
    return (*found, *(Row(name) for name in rest))


def look(name: str) -> Row:
    """What is told about one checkpoint. Never raises: what is wrong is in the row."""
    try:
        ck = Checkpoint.open(locate(name, get_settings()), get_settings(), newest=1)
        newest = max(
            (
                file.modified_ms or 0
                for log in (ck.offset_files, ck.commit_files)
                for file in list(log.values())[-1:]
            ),
            default=0,
        )
        return Row(
            name=name,
            story=story(name),
            last_committed=ck.last_committed_batch,
            pending=ck.uncommitted_batch,
            batches=len(ck.offset_ids),
            sources=" + ".join(cached_answers.source_words(source) for source in ck.sources),
            is_stateful=ck.has_state,
            newest_ms=newest or None,
        )
    except (StorageError, NotACheckpoint) as error:
        return Row(name=name, problem=words.one_line(str(error), 300))


def story(name: str) -> str:
    """The first line of ``story.md`` beside a checkpoint below a root, "" when there is none."""
    body = story_text(name)
    first = next((line for line in body.splitlines() if line.strip()), "")
    return words.one_line(first.lstrip("# "), 160)


def story_text(name: str) -> str:
    """``story.md`` beside a checkpoint below a root: what its owners wrote. "" when there is none."""
    parent, slash, _ = name.rpartition("/")
    if not slash or "://" in name or name.startswith("/"):
        return ""
    try:
        door = Door.open(locate(parent, get_settings()), get_settings())
        info = door.list([""])[""].names().get(STORY)
        if info is None or (info.size_bytes or 0) > LARGEST_STORY_BYTES:
            return ""
        content = door.read([info])[info.path]
    except StorageError:
        return ""
    told = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
    return told.split(FOR_TESTS)[0].strip()
