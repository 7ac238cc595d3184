"""What becomes of a forecast when something that it rests on could not be read.

A read failure says nothing about the file: the answer keeps what the other files tell, is not certain any
more, promises no exact rows, and names what was not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import UNKNOWN, Forecast, Risk
from core.messages import say
from core.sparklogs.evidence import NotRead


def without_the_unread(s: RestartContext, answer: Forecast) -> Forecast:
    """The forecast as it may be given."""
    not_read = tuple(item for item in s.checkpoint.not_read if _is_looked_at(s, item))
    not_read += s.connectors.not_read
    if not not_read:
        return answer
    names = _names(not_read)
    open_ends = (*(item.sentence for item in not_read), *answer.not_checked)
    if answer.outcome == "fail":
        return replace(answer, not_checked=open_ends, not_read=not_read)
    return replace(
        answer,
        certainty="needs_input",
        data=answer.data.plus(UNKNOWN).may(),
        sentence=f"{say('forecast.not_read', names=names)} {answer.sentence}",
        not_checked=open_ends,
        not_read=not_read,
        risks=tuple(_unsure(risk) for risk in answer.risks),
    )


def _is_looked_at(s: RestartContext, item: NotRead) -> bool:
    """Whether the start of the query reads this: of the logs only the newest files, of the state no rows."""
    path = item.path
    if path.startswith("state/") and not path.endswith("/"):
        return "/_metadata/" in path or "/_stateSchema/" in path
    if path.startswith(("offsets/", "commits/")) and not path.endswith("/"):
        return path in (f"offsets/{s.n}", f"offsets/{s.previous}", f"commits/{s.c}")
    return True


def _names(items: Iterable[NotRead]) -> list[str]:
    return [item.path for item in items]


def _unsure(risk: Risk) -> Risk:
    return replace(risk, certainty="needs_input") if risk.certainty == "certain" else risk
