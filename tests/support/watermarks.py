"""Checkpoints of a query with a watermark: one batch a minute, the watermark of each batch as given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from core.checkpoint import Checkpoint
from tests.support.build import QUERY_ID, commit_text, kafka_offset, offset_text, write

CLOCK_MS = 1_795_176_000_000
MINUTE = 60_000


def checkpoint(
    root: Path,
    watermarks: Sequence[int],
    *,
    positions: Sequence[Sequence[int]] | None = None,
    commits: Sequence[int] | None = None,
    with_next: bool = True,
    conf: dict[str, str] | None = None,
) -> Checkpoint:
    """Batch N ran with ``watermarks[N]`` one minute after batch N - 1; its commit carries ``watermarks[N +
    1]`` (the last one stays).

    ``positions``: for each source where it stood after each batch; default one source that moves in every
    batch.
    """
    sources = positions if positions is not None else [[10 * (n + 1) for n in range(len(watermarks))]]
    files: dict[str, str | bytes] = {"metadata": f'{{"id":"{QUERY_ID}"}}'}
    for key in range(len(sources)):
        files[f"sources/{key}/0"] = b"\0v1\n" + kafka_offset(0, topic=f"topic{key}").encode()
    for n, value in enumerate(watermarks):
        lines = [kafka_offset(stand[n], topic=f"topic{key}") for key, stand in enumerate(sources)]
        files[f"offsets/{n}"] = offset_text(
            lines, watermark_ms=value, timestamp_ms=CLOCK_MS + n * MINUTE, conf=conf
        )
    for n in range(len(watermarks)) if commits is None else commits:
        following = watermarks[min(n + 1, len(watermarks) - 1)]
        files[f"commits/{n}"] = commit_text(following) if with_next else "v1\n{}"
    return Checkpoint.open(str(write(root, files)))


def behind(*minutes: float) -> list[int]:
    """Watermarks as minutes before the first batch's clock; 0 = none yet."""
    return [0 if math.isnan(m) else CLOCK_MS - int(m * MINUTE) for m in minutes]
