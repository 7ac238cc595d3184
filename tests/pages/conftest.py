"""The app as its users see it, page by page, without a browser: ``open_page`` runs the real ``app.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ui import survey_job

PROJECT = Path(__file__).resolve().parents[2]
PAGES = ("overview", "timeline", "state", "watermark", "ends", "integrity", "compare", "recovery")
SECONDS = 120

OpenPage = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _fresh_caches() -> Iterator[None]:
    """What one test opened is not what the next one sees."""
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> OpenPage:
    """``open_page("timeline", ck, batch="3")``: the page as the link ``/timeline?ck=...&batch=3`` shows it."""
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(survey_job, "FIRST_SECONDS", SECONDS / 2)  # no browser asks for the rows again

    def run(page: str, ck: str | Path | None = None, **parameters: str) -> AppTest:
        at = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=SECONDS)
        if ck is not None:
            at.query_params["ck"] = str(ck)
        for name, value in parameters.items():
            at.query_params[name] = value
        return at.run() if page == "checkpoints" else at.switch_page(f"pages/{page}.py").run()

    return run


def words_of(at: AppTest) -> str:
    """All plain texts and code blocks of the page, in order."""
    return "\n".join([*(text.value for text in at.text), *(code.value for code in at.code)])


def assert_no_error(at: AppTest) -> None:
    """No exception box, and nothing that reads like a Python error."""
    assert not at.exception, [(item.message, item.stack_trace) for item in at.exception]
    shown = words_of(at)
    assert "Traceback" not in shown
    assert "object at 0x" not in shown


def elements(at: AppTest) -> Iterator[tuple[str, Any]]:
    """Every element of the page: its type and its message to the browser."""

    def walk(node: Any) -> Iterator[tuple[str, Any]]:
        if hasattr(node, "children"):
            yield node.type, node.proto
            for child in node.children.values():
                yield from walk(child)
        else:
            yield node.type, node.proto

    for block in (at.main, at.sidebar):
        yield from walk(block)


def charts_of(at: AppTest) -> list[Any]:
    """The charts of the page, as they are sent to the browser."""
    return [item.proto for item in at.get("plotly_chart")]
