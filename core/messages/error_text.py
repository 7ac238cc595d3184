"""The texts about one kind of error. The catalogues are the modules ``errors_*`` beside this one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorText:
    """``means``: what is so and why it matters. ``reasons``: most likely first. ``action``: what to do; empty
    where the finding about the same fault says it. ``unseen``: why the files of a checkpoint cannot show it;
    empty when they can, at least in part.
    """

    means: str
    reasons: tuple[str, ...] = ()
    action: str = ""
    unseen: str = ""
