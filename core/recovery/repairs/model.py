"""What a repair is: the answers that options, table, plan and code need about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.recovery.answers import RepairId
from core.recovery.context import RecoveryContext
from core.recovery.model import BeforeAfter, Cells, Constant, Level, PlanStep
from core.recovery.sinks import Behaviour


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether a repair is possible on this checkpoint, why (not), and what must stand beside it."""

    possible: bool
    why: str
    caution: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a repair repeats and loses at one kind of sink."""

    repeats: str
    loses: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair.

    ``judge`` may read more of the checkpoint (``context.ck``; keep it there with ``ck.kept``: it is called
    for every answer that a user could give). ``cells`` and ``mistake`` are asked always, the rest only where
    the repair is possible. ``effect`` gets a context in which the sink is of that kind. ``reason`` says why
    it is the first choice, empty when it is not; it must be empty where another option is exact and this one
    is not. ``suffix`` is the end of the name of the new checkpoint. ``constants`` are the values of the
    script beside the places and batches, which every script has. ``fields`` are the answers that its script
    can use, for the page. ``asks_sink``: its script reads the log of the sink.
    ``reason_before_refresh``: the same for where no reset is exact, before all rows are read again.
    ``needs_no_checkpoint``: it can be done where the checkpoint is gone.
    ``place``: the answer that says where the copy is written.
    """

    id: RepairId
    template: str
    level: Level
    judge: Callable[[RecoveryContext], Judged]
    cells: Callable[[RecoveryContext], Cells]
    effect: Callable[[RecoveryContext, Behaviour], Effect]
    mistake: Callable[[RecoveryContext], str]
    reason: Callable[[RecoveryContext], str]
    steps: Callable[[RecoveryContext], tuple[PlanStep, ...]]
    suffix: Callable[[RecoveryContext], str]
    constants: Callable[[RecoveryContext], tuple[Constant, ...]] = lambda context: ()
    before_after: Callable[[RecoveryContext], tuple[BeforeAfter, ...]] = lambda context: ()
    reason_before_refresh: Callable[[RecoveryContext], str] = lambda context: ""
    fields: tuple[str, ...] = ("checkpoint_new",)
    asks_sink: bool = False
    needs_no_checkpoint: bool = False
    place: Literal["checkpoint_new", "backup_to"] = "checkpoint_new"
