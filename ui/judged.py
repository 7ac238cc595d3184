"""What the screens ask core/ about an open checkpoint, computed once per reading and shared between viewers."""

from __future__ import annotations

import streamlit as st

from core.analysis.timeline import Timeline, build_timeline
from core.checkpoint import Checkpoint, Source
from ui import words
from ui.opening import MOST_OPEN, Opened


def timeline(opened: Opened, ck: Checkpoint) -> Timeline:
    """The timeline with all that has been read so far."""
    return _timeline(opened.key, len(ck.loaded_ids), ck)


@st.cache_resource(max_entries=2 * MOST_OPEN, show_spinner=False)
def _timeline(_key: tuple[str, int], _read_count: int, _ck: Checkpoint) -> Timeline:
    return build_timeline(_ck)


def source_words(source: Source) -> str:
    """``Kafka, 12 partitions``."""
    parts = source.partitions
    return source.kind.label if parts is None or parts < 2 else f"{source.kind.label}, {words.count(parts, 'partition')}"


def what_it_is(ck: Checkpoint) -> str:
    """One line: the sources, whether there is state, which Spark wrote it. Costs no request."""
    sources = " + ".join(source_words(source) for source in ck.sources) or "no source in the log yet"
    kept = "stateful" if ck.has_state else "stateless"
    spark = spark_words(ck)
    return f"{sources} → {kept}" + (f" · {spark}" if spark else "")


def spark_words(ck: Checkpoint) -> str:
    """``Spark 4.0 or newer``, as far as the files tell."""
    by = ck.written_by
    if by.at_least and by.at_most:
        return f"Spark {by.at_least}" if by.at_least == by.at_most else f"Spark {by.at_least} to {by.at_most}"
    if by.at_least:
        return f"Spark {by.at_least} or newer"
    return f"Spark {by.at_most} or older" if by.at_most else ""
