"""What the query was and what a change does, in lines for people: on the command line and on the page."""

from __future__ import annotations

from core.analysis.changes.context import columns_text
from core.analysis.changes.model import Judged, WrittenQuery
from core.messages import Sentence, say, say_of
from core.messages.changes import VALUES


def was_lines(query: WrittenQuery) -> list[str]:
    """Sources, operators with the columns of their state, what is pinned, where it stands. Names
    come from the checkpoint as they are."""
    unknown = say("changes.not_known")
    lines: list[str] = []
    for source in query.sources:
        place = say("changes.place", places=source.place) if source.place else ""
        lines.append(say("changes.source", key=source.key, label=source.label, place=place))
    if not query.sources:
        lines.append(say("changes.no_source"))
    for op in query.operators:
        keys, columns = columns_text(op, keys=True), columns_text(op, keys=False)
        name = op.name or say("changes.unnamed")
        lines.append(say("changes.operator", id=op.id, name=name, keys=keys, columns=columns))
    if not query.operators:
        lines.append(say("changes.stateless"))
    provider = (
        say("changes.provider_of", provider=query.provider)
        if query.is_stateful
        else say("changes.no_provider")
    )
    delay, last = query.watermark_delay_ms, query.last_committed_batch
    lines.append(
        say(
            "changes.pinned",
            partitions=query.partitions if query.partitions is not None else unknown,
            provider=provider,
            delay=unknown if delay is None else say("changes.delay", ms=delay),
            mode=query.output_mode or unknown,
            sink=query.sink or unknown,
        )
    )
    pending = say("changes.pending_too") if query.pending_batch is not None else ""
    lines.append(
        say(
            "changes.next",
            last=unknown if last is None else last,
            batch=query.next_batch,
            pending=pending,
        )
    )
    return lines


def headline(change: Judged) -> Sentence:
    """``silently wrong · aggregates: same number and types``."""
    verdict = say_of("changes", "VERDICTS", change.verdict)
    if change.fails_at is not None:
        phase = say("changes.phase_start" if change.fails_at == "start" else "changes.phase_batch")
        verdict = say("changes.failing", verdict=verdict, phase=phase)
    if change.condition is not None:
        verdict = say("changes.with_condition", failing=verdict, condition=change.condition)
    what = say_of("changes", "WHATS", change.what)
    if change.value in ("", "changed"):
        return say("changes.title_plain", verdict=verdict, what=what)
    value = say_of("changes", "VALUES", change.value) if change.value in VALUES else change.value
    return say("changes.title", verdict=verdict, what=what, value=value)
