"""The frame around every page: navigation, the guard of the pages, the choice of the checkpoint, the header
line, the sentence."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from core.checkpoint import Checkpoint
from core.errors import NotACheckpoint, StorageError, place_of
from core.messages import say, words
from core.messages.screens import NAMES
from core.recovery.answers import NUMBERS
from ui import (
    browser,
    cached_answers,
    cards,
    collector,
    connector_settings,
    deep_level,
    freshness,
    kept_incidents,
    kept_views,
    links,
    open_checkpoints,
    recovery_answers,
    root_listings,
    uploads,
)
from ui.open_checkpoints import Opened

LIST, INCIDENTS = "Checkpoints", "Incidents"
WITHOUT_LINE = (
    LIST,
    INCIDENTS,
    "Overview",
)  # Overview shows the whole forecast, Checkpoints and Incidents are about all of them
Place = st.delta_generator.DeltaGenerator
_UNKNOWN_PAGE = "_unknown_page"
_INNER = "open-inner"

_run = threading.local()
_log = logging.getLogger(__name__)


def pages() -> list[StreamlitPage]:
    """The screens, in the order of the menu. The first one answers at ``/``. A page that a link asks for and
    that does not exist is a hidden one, which leads to Overview."""
    known = [
        st.Page("pages/checkpoints.py", title="Checkpoints", default=True),
        st.Page("pages/overview.py", title="Overview", url_path="overview"),
        st.Page("pages/timeline.py", title="Timeline", url_path="timeline"),
        st.Page("pages/state.py", title="State", url_path="state"),
        st.Page("pages/watermark.py", title="Watermark", url_path="watermark"),
        st.Page("pages/ends.py", title="Source & sink", url_path="ends"),
        st.Page("pages/integrity.py", title="Integrity", url_path="integrity"),
        st.Page("pages/compare.py", title="Compare", url_path="compare"),
        st.Page("pages/recovery.py", title="Recovery", url_path="recovery"),
    ]
    if kept_incidents.are_listed():
        known.append(st.Page("pages/incidents.py", title=INCIDENTS, url_path="incidents"))
    asked = links.page_asked()
    if asked is None or asked in {page.url_path for page in known} or asked in _base_path():
        return known
    return [
        *known,
        st.Page(_no_such_page, title="Page not found", url_path=asked, visibility="hidden"),
    ]


def _base_path() -> list[str]:
    return str(st.get_option("server.baseUrlPath")).strip("/").split("/")[-1:]


def _no_such_page() -> None:
    """What a hidden page would show; :func:`main` leads away from it before."""


def _lead_away() -> None:
    """From a page that does not exist to Overview, with all that the link says; before the widgets that are
    bound to the address exist, because these forbid it."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    st.session_state[_UNKNOWN_PAGE] = links.page_asked()
    st.switch_page("pages/overview.py" if "ck" in query else "pages/checkpoints.py", query_params=query)


@contextlib.contextmanager
def routed(opened: Opened | None) -> Iterator[None]:
    """Marks this thread as running a page inside the frame."""
    _run.is_routed, _run.opened = True, opened
    try:
        yield
    finally:
        _run.is_routed, _run.opened = False, None


def enter() -> Opened | None:
    """The first statement of every page: the checkpoint that is open, or None.

    A folder named ``pages`` makes Streamlit run a page file alone when a fresh server is first asked for it,
    without ``app.py`` and its checks. Declaring the navigation ends that, and the rerun comes back here
    through ``app.py``.
    """
    if not getattr(_run, "is_routed", False):
        st.navigation(pages(), position="hidden")
        st.rerun()
    opened: Opened | None = _run.opened
    return opened


def checkpoint() -> tuple[Opened, Checkpoint]:
    """As :func:`enter`, for a page that needs a checkpoint: without one the page ends here and says what to
    do."""
    opened = enter()
    if opened is None:
        cards.message("plain", say("screens.not_open"), say("screens.not_open_what"))
        st.page_link(pages()[0], label=say("screens.choose"), query_params={})
        st.stop()
    if opened.ck is None:
        st.stop()  # the frame has said why
    return opened, opened.ck


def main() -> None:
    """Everything that happens in one run of the app."""
    with freshness.drawing():
        _main()


def _main() -> None:
    collector.install()
    cards.restart_keys()
    st.set_page_config(page_icon="🧭", layout="wide", initial_sidebar_state="auto")
    cards.style()
    browser.manners()
    page = st.navigation(pages(), position="sidebar")
    if page.visibility == "hidden":
        _lead_away()
    links.entered(page.url_path)
    refused = open_checkpoints.server_problem()
    if refused is not None:
        cards.message("blocked", refused)
        return
    opened = _choose(page.title == LIST)
    connector_settings.restore(None if opened is None else opened.name)
    browser.tab_title(page.title, None if opened is None or page.title == LIST else opened.title)
    verdict, slot = _header(opened)
    unknown = st.session_state.pop(_UNKNOWN_PAGE, None)
    if unknown is not None:
        _said_of(unknown, page.title)
    unused = links.unknown({*recovery_answers.ASKED, *NUMBERS}, NAMES)
    if unused:
        known = [name[:40] for name in unused]
        cards.message("plain", say("screens.link_unknown", names=known, n=len(known)))
    above = st.container()
    if opened is not None and opened.ck is not None and page.title not in (LIST, INCIDENTS):
        with above:
            deep_level.settle(opened, opened.ck, is_chosen_here=page.url_path == "integrity")
            recovery_answers.choices()
    try:
        with routed(opened):
            page.run()
    except (
        StorageError,
        NotACheckpoint,
    ) as error:  # the store stopped answering after the checkpoint was opened
        cards.message("blocked", str(error), say("screens.storage_stopped"))
    except Exception as error:
        _unexpected(error)
    finally:
        # below the page in time, above it on the screen: the sentence may need a listing of the state, the
        # link knows the page's choices
        with slot:
            st.code(links.address(without=unused), language=None, wrap_lines=True)
            _about_link(opened)
            if opened is not None and opened.ck is not None:
                kept_views.offer(opened, opened.ck, "keep")
        if opened is not None and opened.ck is not None and page.title not in WITHOUT_LINE:
            with above, st.spinner(say("screen_start.working")):
                _last_resort(cached_answers.line, opened)
        if opened is not None and opened.ck is not None and page.title not in (LIST, INCIDENTS):
            with above:
                _last_resort(cached_answers.judged_later, opened)
        if opened is not None and opened.ck is not None and page.title != LIST:
            with verdict:
                is_shown_below = page.title in WITHOUT_LINE
                _last_resort(lambda it: cached_answers.in_header(it, is_shown_below), opened)
        if opened is not None and page.title != LIST:
            browser.tab_title(page.title, opened.title, cached_answers.verdict(opened))


def _about_link(opened: Opened | None) -> None:
    """What the address opens, and what of this view it does not carry."""
    missing, is_upload = links.left_out(), opened is not None and uploads.is_name(opened.name)
    if is_upload:
        cards.message("doubt", say("screens.link_of_upload"))
    if missing:
        cards.message("doubt", say("screens.link_without", missing=missing))
    elif not is_upload:
        cards.text(say("screens.link_help"), "small")


def _said_of(unknown: str, shown: str) -> None:
    """Why a link does not lead to the page that it names."""
    why = kept_incidents.why_not_listed() if unknown == INCIDENTS.lower() else None
    if why is None:
        cards.message("plain", say("screens.no_such_page", page=unknown, shown=shown))
    else:
        cards.message("plain", why, say("screens.shown_instead", shown=shown))


def _last_resort(draw: Callable[[Opened], object], opened: Opened) -> None:
    try:
        draw(opened)
    except Exception as error:
        _unexpected(error)


def _unexpected(error: Exception) -> None:
    """An error that nobody foresaw: one sentence on the page, the trace in the log of the server."""
    sentence = say("errors_program.page", error=type(error).__name__, place=place_of(error))
    _log.error("%s", sentence, exc_info=error)
    cards.message("blocked", sentence, say("errors_program.page_what"))


def _choose(is_list: bool) -> Opened | None:
    """The sidebar: only what holds on every page."""
    with st.sidebar:
        current = st.session_state.get("ck") or links.asked("ck")
        known = list(
            dict.fromkeys(
                [*([current] if current else []), *open_checkpoints.recent(), *root_listings.offered()]
            )
        )
        st.selectbox(
            "Checkpoint",
            known,
            index=None,
            key="ck",
            bind="query-params",
            accept_new_options=True,
            placeholder=say("screens.choose_placeholder"),
            on_change=_chosen,
            help=say("screens.choose_help"),
        )
        name = st.session_state.get("ck")
        opened = open_checkpoints.opened(name) if name else None
        freshness.follow_toggle(opened, is_list)
    return opened


def _chosen() -> None:
    """Another checkpoint was chosen or pasted in the sidebar."""
    links.forget_view()
    if st.session_state.get("ck"):
        st.session_state["ck"] = open_checkpoints.canonical(st.session_state["ck"])


def open_checkpoint(name: str) -> None:
    """Opens another checkpoint; for callbacks."""
    links.forget_view()
    st.session_state["ck"] = name


def _header(opened: Opened | None) -> tuple[Place, Place]:
    """The line that stays in view, and below it what the checkpoint is. Returns the places for the verdict
    and for the link, which are known only after the page ran."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        cards.text(browser.TITLE if opened is None else opened.title, "name", "content")
        verdict = st.container(key="verdict", gap=None)
        if opened is not None and opened.ck is not None:
            st.button(
                "Refresh",
                icon=":material/refresh:",
                key="refresh",
                on_click=open_checkpoints.refresh,
                args=(opened.name,),
                type="tertiary",
                help=say("screens.refresh_help"),
            )
        slot = st.popover("Copy link", icon=":material/link:", type="tertiary")
    if opened is not None and opened.ck is not None:
        with st.container(horizontal=True, gap="small", key="about"):
            cards.text(cached_answers.what_it_is(opened.ck), "small", "content")
            freshness.line(opened)
    if opened is not None and opened.ck is not None:
        kept_views.evidence_line(opened.ck)
    if opened is not None and opened.problem is not None:
        _problem(opened)
    return verdict, slot


def _problem(opened: Opened) -> None:
    cards.message("blocked", opened.problem or "")
    if opened.suggestion is not None:
        st.button(
            say("screens.open_suggested"), on_click=open_checkpoint, args=(opened.suggestion,), type="primary"
        )
    if opened.inner:
        st.selectbox(
            say("screens.open_inner"),
            opened.inner,
            index=None,
            key=_INNER,
            format_func=lambda name: words.one_line(name, 200),
            placeholder=say("screens.open_inner_placeholder"),
            on_change=_open_inner,
            width=560,
        )


def _open_inner() -> None:
    chosen = st.session_state.get(_INNER)
    if chosen is not None:
        open_checkpoint(chosen)
