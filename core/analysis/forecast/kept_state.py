"""Whether the query behind a checkpoint kept state, and whether that is still there: for whoever starts a new
checkpoint, which has none."""

from __future__ import annotations

from typing import Literal

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import Query
from core.analysis.forecast.versions import OLDEST
from core.checkpoint import Checkpoint

KeptState = Literal["none", "here", "gone", "unknown"]
"""``gone``: the logs show a query with state, and ``state/`` is not there. ``unknown``: there is none, and
the files do not tell whether there was any."""


def kept_state(ck: Checkpoint) -> KeptState:
    """What the files tell of the state of this query. Lists nothing below ``state/``."""
    return ck.kept("kept state", lambda: _kept_state(ck))


def _kept_state(ck: Checkpoint) -> KeptState:
    if ck.has_state:
        return "here"
    s = RestartContext(ck, OLDEST, Query(), level="quick")
    if s.was_written_stateful:
        return "gone"
    return "unknown" if s.lacks_suggested_state or s.may_lack_state else "none"
