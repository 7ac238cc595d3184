"""Taking an evidence file of the open checkpoint, before Spark purges what explains an incident."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path

import streamlit as st

from core.checkpoint import Checkpoint
from core.documents.recorded import recorded_answers
from core.errors import CheckpointExplorerError
from core.incident import take
from core.judgement import Judgement
from core.messages import say, words
from ui import cached_answers, cards, kept_views
from ui.open_checkpoints import Opened


def folded(opened: Opened, ck: Checkpoint) -> None:
    """A button behind its title; nothing for what is evidence already."""
    if ck.door.evidence is not None:
        return
    # Streamlit keeps the function of a button for minutes after the tab is closed.
    kept = weakref.ref(cached_answers.judgement(opened, ck))
    with st.expander(say("evidence.title")):
        cards.text(say("evidence.what"), "small")
        st.download_button(
            say("evidence.button"),
            lambda: _taken(kept()),
            f"{words.file_name(opened.title)}-evidence.zip",
            "application/zip",
            key="evidence",
            on_click="ignore",
        )
        kept_views.offer(opened, ck, "keep-here")


def _taken(judgement: Judgement | None) -> bytes:
    """The zip, as the command line writes it. Nothing is left on this machine."""
    if judgement is None:
        raise CheckpointExplorerError(say("evidence.put_away"))
    with tempfile.TemporaryDirectory() as folder:
        # the files are those of now, so the answers have to be, too
        now = Judgement(judgement.ck.refresh(), judgement.connectors, judgement.question)
        answers = recorded_answers(now)
        return take(judgement.ck.door, Path(folder) / "evidence.zip", answers=answers).path.read_bytes()
