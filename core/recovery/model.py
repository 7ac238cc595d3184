"""The pieces that every recovery option is made of: cells of the table, steps of the plan, values of the
script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.messages import say_of

Level = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table: the general word and this checkpoint's own facts. ``corrected``: the facts
    contradict the word."""

    general: str
    facts: str = ""
    corrected: bool = False

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.general}. {self.facts}" if self.facts else f"{self.general}."


Cells = tuple[Cell, Cell, Cell, Cell, Cell, Cell]
"""Complexity, cost, loss, duplicates, initial snapshot, full reset: the columns of the table."""


def cell(general: str, *facts: str, corrected: bool = False) -> Cell:
    """``general`` is an entry of the table GENERAL, ``facts`` are sentences; empty ones are left out."""
    return Cell(
        say_of("recovery_options", "GENERAL", general), " ".join(fact for fact in facts if fact), corrected
    )


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One thing to do, and why."""

    title: str
    why: str


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """One source: its position in the old checkpoint and its start in the new one."""

    source: str
    before: Mapping[str, object]
    after: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Constant:
    """One named value at the top of a script. ``required``: why it must be filled in when it is None."""

    name: str
    value: object
    comment: str = ""
    required: str | None = None
