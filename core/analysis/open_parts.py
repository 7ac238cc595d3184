"""What was not looked at, of the forecast and of the findings together, each part once: one list, and one
number, for the pages, the report and the chat text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from core.analysis.findings import FindingsReport
from core.analysis.forecast import Forecast
from core.checkpoint import Checkpoint
from core.messages import Sentence, say
from core.sparklogs.evidence import NotRead

MOST_ALIKE, MOST_NOT_READ = 3, 8
_OF_A_SOURCE = (
    "forecast_kafka.broker_not_asked",
    "forecast_kafka.broker_not_asked_because",
    "forecast.open_delta_log",
)
_SOURCES = ("findings_checks.unchecked_sources", "findings_checks.unchecked_other_sources")


def open_parts(
    ck: Checkpoint, forecast: Forecast | None, report: FindingsReport | None, not_read: Sequence[NotRead]
) -> tuple[str, ...]:
    """One sentence for each part; ``forecast`` and ``report`` are None where they are not known."""
    parts = [] if forecast is None else list(forecast.not_checked)
    subjects = {_subject(part) for part in parts}
    named = {
        part.values.get("key") for part in parts if isinstance(part, Sentence) and part.key in _OF_A_SOURCE
    }
    are_named = bool(ck.sources) and named >= {source.key for source in ck.sources}
    for part in () if report is None else report.not_checked:
        if _subject(part) not in subjects and not (are_named and _key(part) in _SOURCES):
            parts.append(part)
    found = list(_grouped(parts))
    found += [say("report.not_read", sentence=item.sentence) for item in not_read[:MOST_NOT_READ]]
    if len(not_read) > MOST_NOT_READ:
        found.append(say("report.more_not_read", n=len(not_read) - MOST_NOT_READ))
    return tuple(found)


def _grouped(parts: Sequence[str]) -> Iterator[str]:
    """The parts; many files that were left out for the same reason as one."""
    left_out = [_left_out(part) for part in parts]
    counts = Counter(why for _, why in left_out if why)
    said: set[str] = set()
    for part, (path, why) in zip(parts, left_out, strict=True):
        if counts[why] <= MOST_ALIKE:
            yield part
        elif why not in said:
            said.add(why)
            yield say("findings_checks.unchecked_alike", files=counts[why], path=path, why=why)


def _left_out(part: str) -> tuple[str, str]:
    """The path of a state file whose contents were left out, and why; two empty texts for other parts."""
    if not isinstance(part, Sentence) or part.key != "findings_checks.unchecked_skipped":
        return "", ""
    path, _, why = str(part.values["reason"]).partition(" (")
    return path, why.removesuffix(")")


def _key(part: str) -> str:
    return part.key if isinstance(part, Sentence) else ""


def _subject(part: str) -> str:
    """What a part is about: ``the sink`` of ``the sink itself``."""
    return " ".join(part.split()[:2])
