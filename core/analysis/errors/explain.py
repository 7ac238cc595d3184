"""``explain``: from a pasted error to what it means for the open checkpoint, the likely reasons and what to
do."""

from __future__ import annotations

from dataclasses import replace

from core.analysis.errors.error_location import Place, find_place
from core.analysis.errors.lookup import look_up
from core.analysis.errors.lookup_context import Looking
from core.analysis.errors.meanings import HANDLED, action_of, meaning_of
from core.analysis.errors.model import (
    EXACT,
    GENERAL,
    NO_PARAMETERS,
    OUTERMOST,
    WRAPPER,
    Explanation,
    Meaning,
    Recognised,
    Shown,
    Statement,
    options_of,
)
from core.analysis.errors.particular import particular_of_words
from core.analysis.errors.pasted_text import Pasted, read_pasted
from core.analysis.errors.recognise import recognise, unknown_cause
from core.analysis.findings.catalogue import CATALOGUE as FINDINGS
from core.analysis.findings.catalogue import action_of as action_of_finding
from core.checkpoint import Checkpoint
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence


def explain(text: str, ck: Checkpoint | None = None) -> Explanation:
    """What an error message or a stack trace means; with a checkpoint, what it means there.

    The text may be one line, a Python traceback, a Java stack trace or a piece of a log; of a very long one
    the middle is left out (``is_cut``). Reads what the error is about: log files, at most one listing of
    ``state/`` and of each named directory, the logs of file sources. Never raises for any text; what cannot
    be listed in the checkpoint is named in ``not_checked``.
    """
    pasted, found = _read(text)
    cause = unknown_cause(pasted, found)
    if not found:
        return _not_recognised(pasted, cause, ck)
    main, others = found[0], found[1:]
    if main.weight <= WRAPPER and cause is not None:
        others = (cause, *others)
    meaning = particular_of_words(main) or meaning_of(main.name)
    place, here, look = _in_checkpoint(ck, pasted, main, meaning, cause is not None)
    if look is not None:
        meaning = look.particular or _made_precise(meaning, look)
    return Explanation(
        name=main.name,
        condition=main.condition,
        error_class=main.error_class,
        sqlstate=main.sqlstate,
        parameters=main.parameters,
        message=main.message,
        line=main.line,
        sentence=_sentence(main, meaning, here, cause),
        means=meaning.means,
        reasons=_reasons(main, meaning, others, cause),
        action=_action(main, meaning, cause, look),
        options=meaning.options,
        finding=meaning.finding,
        here=here,
        shown=_shown(here),
        unseen=meaning.unseen,
        certainty=_certainty(main),
        evidence=_evidence(here),
        others=others,
        not_checked=tuple(dict.fromkeys(look.not_checked)) if look is not None else (),
        is_cut=pasted.is_cut,
        other_checkpoint=place is not None and place.other_query is not None,
    )


def _read(text: str) -> tuple[Pasted, tuple[Recognised, ...]]:
    """The text and the errors in it. When nothing telling is recognised, the text may be one that a terminal
    cut once or twice: it is read again with the longest lines joined to the next."""
    pasted = read_pasted(text)
    found = recognise(pasted)
    weight = found[0].weight if found else OUTERMOST - 1
    if weight < EXACT:
        joined = read_pasted(text, fewest_wrapped=1)
        again = recognise(joined) if joined.flat != pasted.flat else ()
        if again and again[0].weight > weight:
            return joined, again
    return pasted, found


def _in_checkpoint(
    ck: Checkpoint | None, text: Pasted, main: Recognised, meaning: Meaning, has_cause: bool
) -> tuple[Place | None, tuple[Statement, ...], Looking | None]:
    if ck is None:
        return None, (), None
    place = find_place(ck, text, main)
    look = Looking(ck, text, main, meaning, place.paths, has_cause)
    statements = look_up(look)
    if place.other_query is not None:  # what is so here says nothing about an error of another query
        statements = [replace(s, shows_fault=None) for s in statements]
        look.finding, look.particular = None, None
    return place, (*place.statements, *statements), look


def _made_precise(meaning: Meaning, look: Looking) -> Meaning:
    """The words of an error can stand for several faults; when the files show which, what to do is that of
    this one."""
    if look.finding is None or look.finding == meaning.finding or look.finding not in FINDINGS:
        return meaning
    options = next(
        (other.options for other in HANDLED.values() if other.finding == look.finding), None
    ) or options_of(look.finding, meaning.options)
    return replace(meaning, finding=look.finding, action=action_of_finding(look.finding), options=options)


def _action(main: Recognised, meaning: Meaning, cause: Recognised | None, look: Looking | None) -> str:
    """What to do. Of a wrapper whose cause is not in the text and not in the files: first paste the rest."""
    if main.weight == WRAPPER and cause is None and (look is None or look.finding is None):
        return say("errors_lookup.paste_cause", action=action_of(meaning))
    return action_of(meaning)


_NOTHING = Meaning("", (), weight=OUTERMOST)


def _not_recognised(text: Pasted, cause: Recognised | None, ck: Checkpoint | None) -> Explanation:
    """No error is known in the text; with a checkpoint, what fails at its next start."""
    nothing = Recognised("", None, None, None, NO_PARAMETERS, "", 1, OUTERMOST)
    place, here, look = _in_checkpoint(ck, text, nothing, _NOTHING, cause is not None)
    action: str = say("errors_lookup.paste_more")
    if look is not None and look.finding is not None and look.finding in FINDINGS:
        action = f"{action} {action_of_finding(look.finding)}"
    return Explanation(
        name=None,
        condition=None,
        error_class=cause.error_class if cause is not None else None,
        sqlstate=None,
        parameters=NO_PARAMETERS,
        message=cause.message if cause is not None else "",
        line=cause.line if cause is not None else None,
        sentence=say("errors_lookup.nothing"),
        means=say("errors_lookup.nothing"),
        action=action,
        finding=look.finding if look is not None else None,
        here=here,
        evidence=_evidence(here),
        certainty="needs_input",
        others=(cause,) if cause is not None else (),
        not_checked=tuple(dict.fromkeys(look.not_checked)) if look is not None else (),
        is_cut=text.is_cut,
        other_checkpoint=place is not None and place.other_query is not None,
    )


def _sentence(
    main: Recognised, meaning: Meaning, here: tuple[Statement, ...], cause: Recognised | None
) -> str:
    if main.weight <= WRAPPER and cause is not None:
        means = f"{meaning.means.split('; ')[0].rstrip('.')}."
        first: str = say("errors_lookup.wrapped", means=means, cause=cause.message)
    elif main.name not in HANDLED:  # Spark's own words say more than what is common to a group
        first = main.message
    else:
        first = meaning.means.split(". ")[0]
    proof = next((s.sentence for s in here if s.shows_fault), None) or next(
        (s.sentence for s in here if s.shows_fault is False), ""
    )
    return f"{first.rstrip('.')}. {proof}".strip()


def _reasons(
    main: Recognised, meaning: Meaning, others: tuple[Recognised, ...], cause: Recognised | None
) -> tuple[str, ...]:
    """The likely reasons, first what the innermost cause in the text tells."""
    if main.weight <= GENERAL and cause is not None:
        return (say("errors_lookup.cause", message=cause.message), *meaning.reasons)
    deeper = [
        other
        for other in others
        if main.weight <= GENERAL and other.depth > main.depth and WRAPPER < other.weight <= main.weight
    ]
    causes = [say("errors_lookup.deeper_cause", message=other.message) for other in deeper[:1]]
    return (*causes, *meaning.reasons)


def _shown(here: tuple[Statement, ...]) -> Shown:
    if any(statement.shows_fault for statement in here):
        return "yes"
    return "no" if any(statement.shows_fault is False for statement in here) else "unknown"


def _certainty(main: Recognised) -> Certainty:
    """How sure it is that this is the error: a name in brackets is certain, words that many errors share are
    not."""
    if main.weight == OUTERMOST:
        return "needs_input"
    return "certain" if main.tagged or main.weight >= EXACT else "inferred"


def _evidence(here: tuple[Statement, ...]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(item for statement in here for item in statement.evidence))
