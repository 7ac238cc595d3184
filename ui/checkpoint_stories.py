"""What the owners of a checkpoint wrote beside it: ``story.md``, as the samples have it."""

from __future__ import annotations

from core.errors import StorageError
from core.messages import words
from core.settings import get_settings
from core.storage import Door
from core.storage.roots import locate

STORY = "story.md"
FOR_TESTS = "## Expected answers (for tests)"
"""From this heading on a story of a sample speaks to its tests; nobody else is shown that."""

LARGEST_STORY_BYTES = 64 * 1024


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
        place = locate(parent, get_settings())
        if not place.is_local:  # a request for each checkpoint, for what hardly anybody has
            return ""
        door = Door.open(place, get_settings())
        info = door.list([""])[""].names().get(STORY)
        if info is None or (info.size_bytes or 0) > LARGEST_STORY_BYTES:
            return ""
        content = door.read([info])[info.path]
    except StorageError:
        return ""
    told = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
    return told.split(FOR_TESTS)[0].strip()
