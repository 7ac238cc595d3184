"""What an error means where its words, or the open checkpoint, tell which of several faults it is; the texts
are in ``core/messages/errors_particular.py``."""

from __future__ import annotations

from core.analysis.errors.model import Kind, Meaning, meaning
from core.messages import errors_particular as texts

OF_CONTINUOUS: Meaning = meaning(
    texts.OF_CONTINUOUS, Kind(options=("change_query", "reset"), in_files=True, look=("mode", "forecast"))
)
