"""What an error means: paste it, read what it means, for the open checkpoint where there is one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import streamlit as st

from core.analysis.errors import OPTION_TITLES, Explanation, explain, named_roots
from core.checkpoint import Checkpoint
from core.errors import StorageError
from core.messages import say, say_of, words
from ui import cached_answers, cards, finding_cards, links, open_checkpoints, recovery_answers, start_steps
from ui.open_checkpoints import Opened

_FIELD, _KEPT = "pasted-error", "errors"
"""The field, and the texts for the pages that come after, each with the name of the checkpoint that it was
pasted for: Streamlit forgets a field that is not drawn."""


ROOT_CHARACTERS = 300
"""How much of a path that the text names is shown."""


def folded(
    ck: Checkpoint | None, opens: Callable[[str], None] | None = None, opened: Opened | None = None
) -> None:
    """The same behind its title, on pages that are about something else. ``opens`` opens a checkpoint, on a
    page where none is open."""
    title = say("screen_errors.title" if ck is not None else "screen_errors.title_alone")
    kept = _kept_for(ck)
    with st.expander(title, expanded=bool(kept[_name(ck)])):
        show(ck, opens, opened)


def show(
    ck: Checkpoint | None, opens: Callable[[str], None] | None = None, opened: Opened | None = None
) -> None:
    """The field, and what the pasted text means; without a checkpoint, what it means anywhere. The text stays
    in this session and out of the address. What was pasted without a checkpoint goes along to the one that is
    opened for it; what was pasted for one checkpoint is not explained for another."""
    field, kept = _field(ck), _kept_for(ck)
    if field not in st.session_state:
        st.session_state[field] = kept[_name(ck)]
    pasted = st.text_area(
        say("screen_errors.error_field"),
        key=field,
        height=140,
        placeholder=say("screen_errors.error_placeholder"),
    )
    kept[_name(ck)] = pasted
    if not pasted.strip():
        private = say(
            "screen_errors.error_private" if ck is not None else "screen_errors.error_private_alone"
        )
        cards.text(private, "small")
        return
    links.leaves_out(say("screens.link_with_error"))
    try:
        answer = explain(pasted, ck)
        if ck is not None and opened is not None:
            judged = cached_answers.judgement(opened, ck)
            answer = judged.ways(answer, recovery_answers.choices())
    except StorageError as error:
        cards.message("plain", say("screen_errors.error_unread", reason=error))
        return
    root = next(iter(named_roots(pasted)), None) if ck is None else None
    if root is not None:
        _to_checkpoint(root, opens)
    _explained(answer, ck is not None)
    if ck is None and root is None:
        cards.text(say("screen_errors.alone"), "small")


def _name(ck: Checkpoint | None) -> str:
    return "" if ck is None else ck.location.url


def _field(ck: Checkpoint | None) -> str:
    """The key of the field, which Streamlit writes into the page: no text of a name is in it."""
    return f"{_FIELD}-{hashlib.sha256(_name(ck).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _kept_for(ck: Checkpoint | None) -> dict[str, str]:
    """The texts that are kept, with one for this checkpoint: what was pasted without a checkpoint, else its
    own."""
    kept: dict[str, str] = st.session_state.setdefault(_KEPT, {})
    without = kept.pop("", "")
    if without.strip():
        kept[_name(ck)] = without
        if ck is not None:
            st.session_state.pop(_field(ck), None)
    kept.setdefault(_name(ck), "")
    return kept


def _to_checkpoint(root: str, opens: Callable[[str], None] | None) -> None:
    """What was not compared while no checkpoint is open, and the way to the one that the text names."""
    cards.text(say("screen_errors.alone_named", root=words.one_line(root, ROOT_CHARACTERS)), "small")
    if opens is not None:
        name = open_checkpoints.canonical(root)
        st.button(say("screen_errors.open_named"), key="open-named", on_click=opens, args=(name,))


def _beyond(sentence: str, means: str) -> str:
    """What the meaning says beyond a first sentence that stands above it already."""
    first, _, rest = means.partition(". ")
    return rest if sentence.startswith(first.rstrip(".")) else means


def _explained(answer: Explanation, is_open: bool) -> None:
    """Meaning, what this checkpoint says, likely reasons, what to do."""
    if answer.name is None:
        cards.message("plain", answer.sentence, answer.action)
        return
    tone: cards.Tone = (
        "blocked" if answer.shown == "yes" else "doubt" if answer.shown == "unknown" else "plain"
    )
    named = f"{answer.name}" + (f" · SQLSTATE {answer.sqlstate}" if answer.sqlstate else "")
    with cards.box(tone):
        cards.text(f"{cards.MARKS[tone]} {answer.sentence}", "lead")
        cards.text(f"{cached_answers.CERTAINTY[answer.certainty]} · {named}", "small")
        if beyond := _beyond(answer.sentence, answer.means):
            cards.said(beyond)
        for statement in answer.here:
            files = ", ".join(map(str, statement.evidence[:6]))
            cards.said(say("screen_errors.here", sentence=statement.sentence), "strong")
            cards.text(
                f"{cached_answers.CERTAINTY[statement.certainty]}" + (f" · {files}" if files else ""), "small"
            )
        if answer.unseen:
            cards.said(say("screen_errors.unseen", unseen=answer.unseen), "small")
    if answer.reasons:
        cards.text(say("screen_errors.causes"), "strong")
        cards.text("\n".join(f"{number}. {reason}" for number, reason in enumerate(answer.reasons, 1)))
    cards.text(say("screen_errors.what_to_do"), "strong")
    cards.said(answer.action)
    back = next((each.rewind_to for each in answer.here if each.rewind_to is not None), None)
    if back is not None:
        finding_cards.rewind_link(back)
    for option, why in answer.not_possible.items():
        title = OPTION_TITLES[option]
        cards.said(say("screen_errors.way_not_possible", title=title, why=why), "small")
    if answer.decision is not None:
        cards.said(answer.decision, "small")
    if is_open and answer.recipe is not None and not (back is not None and answer.recipe == "rewind"):
        st.page_link(
            "pages/recovery.py",
            label=say("screen_start.to_recovery_option", option=say_of("recovery", "TITLES", answer.recipe)),
            query_params={"option": answer.recipe},
        )
    if answer.others:
        with st.expander(say("screen_errors.others", n=len(answer.others))):
            for other in answer.others[:20]:
                message = words.one_line(other.message, 300)
                cards.text(say("screen_errors.other", line=other.line, name=other.name, message=message))
    if is_open:
        start_steps.not_checked(answer.not_checked)
