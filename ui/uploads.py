"""Evidence files that a viewer uploads: in temporary folders of the session, opened by nobody else, and gone
when the session is."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.errors import EvidenceRefused, NotAllowed
from core.messages import say, words
from core.settings import get_settings
from core.storage import Location, parse_location
from core.storage.evidence import read_archive
from ui import cards

NAME = "upload:"
MOST = 4
"""Uploads that a session keeps; the oldest goes."""
_FILES, _REFUSED, _FIELD = "_uploads", "_upload_refused", "upload"


def is_name(text: str) -> bool:
    """Whether a text names an upload, of whatever session."""
    return text.startswith(NAME)


def location(name: str) -> Location:
    """Where the upload of this name lies. Raises :class:`NotAllowed` when another session made it."""
    kept = _files().get(name)
    if kept is None:
        raise NotAllowed(say("incident_store.upload_again"))
    return parse_location(str(kept.file))


def field(then: Callable[[str], None]) -> None:
    """The folded field; ``then`` is called with the name of what was uploaded. Nothing where uploads are
    off."""
    if not get_settings().takes_uploads:
        return
    with st.expander(say("incident_store.upload"), key="upload-fold"):
        st.file_uploader(
            say("incident_store.upload_help"), type="zip", key=_FIELD, on_change=_uploaded, args=(then,)
        )
        refused = st.session_state.get(_REFUSED)
        if refused is not None:
            cards.message("blocked", refused)


def _uploaded(then: Callable[[str], None]) -> None:
    st.session_state[_REFUSED] = None
    file = st.session_state.get(_FIELD)
    if file is None:
        return
    if not get_settings().takes_uploads:
        st.session_state[_REFUSED] = say("incident_store.uploads_off")
        return
    data = file.getvalue()
    try:
        read_archive(data, get_settings().evidence_bytes)
    except EvidenceRefused as error:
        shown = words.one_line(file.name, 120)
        st.session_state[_REFUSED] = say("incident_store.upload_refused", name=shown, why=str(error))
        return
    then(_keep(data))


def _keep(data: bytes) -> str:
    files = _files()
    while len(files) >= MOST:
        files.pop(next(iter(files))).remove()
    name = NAME + secrets.token_hex(8)
    files[name] = _Upload(data)
    return name


class _Upload:
    """A file in a folder of its own, which is removed when nobody has this object any more."""

    def __init__(self, data: bytes) -> None:
        folder = Path(tempfile.mkdtemp())
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.file = folder / "evidence.zip"
        self.file.write_bytes(data)


def _files() -> dict[str, _Upload]:
    found: dict[str, _Upload] = st.session_state.setdefault(_FILES, {})
    return found
