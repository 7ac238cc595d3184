"""The file that something is written to: on this machine, never inside a checkpoint, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import UsageError
from core.messages import say
from core.storage import Door


def target_of(
    text: str, door: Door, ending: str = ".zip", *, may_overwrite: bool, endings: str | None = None
) -> Path:
    """The file to write. ``endings``: those that are said, where there is a choice. Raises
    :class:`UsageError` when nothing about this location must be written there."""
    path = Path(text).expanduser().absolute()
    if "://" in text or path.suffix != ending or path.is_dir():
        raise UsageError(say("evidence.to_ending", ending=endings or ending, path=text))
    inside = Path(door.location.path).resolve() if door.location.is_local else None
    if inside is not None and path.resolve().is_relative_to(inside):
        raise UsageError(say("evidence.to_inside", path=text))
    if path.exists() and not may_overwrite:
        raise UsageError(say("evidence.to_exists", path=text))
    return path


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A file beside the target to write to; it takes the place of the target at the end. Raises
    :class:`UsageError` when it cannot be written."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        try:
            yield unfinished
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        sentence = say("evidence.to_not_written", path=target, reason=error.strerror or type(error).__name__)
        raise UsageError(sentence) from error
