"""Links that nobody made: each page with parameters out of bounds, on samples that are whole or mutated.

The app runs in this process, without a server and a browser. A failure is an exception that a page shows, or
one that its last resort turned into a sentence.
"""

from __future__ import annotations

import logging
import random
import time
import traceback
from pathlib import Path

import streamlit as st
from streamlit.testing.v1 import AppTest

from scripts.fuzzing import (
    MOST_SECONDS,
    NUMBERS,
    TEXTS,
    Bases,
    Failure,
    mutate,
)
from tests.support.build import PROJECT
from ui.links import ANSWER, BOUND, ISOLATION, KAFKA, PICKED, PLACE, SINK, TOPICS

PAGES = ("overview", "timeline", "state", "watermark", "ends", "integrity", "compare", "recovery")
NAMES = (
    *BOUND,
    *PICKED,
    *(
        "x",
        "size",
        "whole",
        KAFKA,
        SINK,
        ISOLATION,
        f"{PLACE}0",
        f"{TOPICS}0",
        f"{PLACE}-1",
        "ck",
        "unheard_of",
    ),
    *(
        f"{ANSWER}{name}"
        for name in ("sink", "platform", "stateful", "to_batch", "flows", "source_complete", "x")
    ),
)
VALUES = (
    *map(str, NUMBERS),
    *(
        text
        for text in TEXTS
        if text.isprintable() and text.encode("utf-8", "ignore") == text.encode("utf-8", "replace")
    ),
    *(
        "",
        " ",
        "0",
        "1",
        "true",
        "deep",
        "4.3",
        "time",
        "batch",
        "left-keyToNumValues",
        "delta",
        "lakeflow",
        "samples",
        "samples/windowed-aggregation-hot-partition/checkpoint",
    ),
    *(
        "/etc",
        "s3://nowhere",
        "file:///",
        "jlab://",
        "a" * 5_000,
        "%00",
        "..%2f..",
        "samples/../..",
        "\u202e\u0000",
    ),
)


class _Kept(logging.Handler):
    """Traces that the last resort of the pages logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.traces: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the trace of a record that has one."""
        if record.exc_info is not None and record.exc_info[1] is not None:
            self.traces.append("".join(traceback.format_exception(record.exc_info[1])))


def run_page_case(seed: int, case: int, bases: Bases, place: Path, *, shows: bool = False) -> Failure | None:
    """Opens one page by one link; the checkpoint stands at ``place``."""
    rng = random.Random(seed * 1_000_003 + case)
    name = bases.copy(rng, place)
    done = [mutate(place, rng) for _ in range(rng.choice((0, 0, 1, 2)))]
    root = place / "checkpoint" if (place / "checkpoint").is_dir() else place
    page = rng.choice(PAGES)
    asked = {rng.choice(NAMES): rng.choice(VALUES) for _ in range(rng.choice((1, 2, 5)))}
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=120)
    for key, value in {"ck": str(root), **asked}.items():
        app.query_params[key] = value
    if shows:
        print(name, *done, page, asked, sep="\n  ")
    kept = _Kept()
    logger = logging.getLogger("ui")
    logger.addHandler(kept)
    st.cache_resource.clear()
    began = time.process_time()
    try:
        app.switch_page(f"pages/{page}.py").run()
    finally:
        logger.removeHandler(kept)
    took = time.process_time() - began
    found = [*kept.traces, *(f"{item.message}\n{item.stack_trace}" for item in app.exception)]
    what = f"{name}: {'; '.join(done)}: {page} {asked}\n"
    if found:
        return Failure(seed, case, (page,), what + found[0], option=" --pages")
    if took > MOST_SECONDS:  # of the processor: the page runs in a thread of its own
        return Failure(seed, case, (page,), f"{what}{took:.1f} seconds", option=" --pages")
    return None
