"""Recovery: a few questions, the options with this checkpoint's numbers, and the code of the chosen
one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.checkpoint import Checkpoint
from core.errors import StorageError
from core.judgement import judge
from core.messages import say, words
from core.messages.controls import SOURCE_AND_SINK, on_page
from core.messages.screen_recovery import ROWS
from core.recovery import (
    Advice,
    Cell,
    CodeBlock,
    Option,
    Plan,
    RecoveryContext,
    effects_by_sink,
    forms,
    options,
    plan,
    questions,
    why_no_code,
)
from ui import (
    cached_answers,
    cards,
    connectors,
    impact_card,
    open_checkpoints,
    recovery_answers,
    selection,
    shell,
    start_position,
    tables,
)
from ui.open_checkpoints import Opened

MIME = {
    "python": "text/x-python",
    "sql": "application/sql",
    "bash": "text/x-sh",
    "markdown": "text/markdown",
    "json": "application/json",
}
CODE_PX, MOST_LINES = 620, 32
"""A longer file scrolls in a box of this height. The box holds the copy button, so that it can be reached and
scrolled with the keyboard."""


def main() -> None:
    entered = shell.enter()
    lost = open_checkpoints.lost(entered) if entered is None or entered.ck is None else None
    if lost is not None:
        without_checkpoint(lost, is_choice_open=entered is None)
        return
    opened, ck = shell.checkpoint()
    with st.spinner(say("screen_recovery.reading")):
        context = read(opened, ck)
    connectors.what_was_asked(opened, ck)
    if isinstance(context, str):
        impact_card.card(opened, ck)
        cards.message("plain", context)
        return
    asked = questions(context)
    recovery_answers.ask(asked)
    if not ck.sources:
        recovery_answers.ask_source(context)
    impact_card.in_one_line(opened, ck)
    found = options(context)
    cards.said(say("screen_recovery.options"), "section")
    chosen = choose(found)
    recovery_answers.ask_numbers(chosen.id)
    report = cached_answers.findings(opened, ck)
    findings = () if isinstance(report, str) else report.findings
    in_short(chosen, Advice.of(context, findings, found=found, asked=asked))
    code(context, chosen)
    more(found, chosen, plan(context, chosen.recipe), opened)


def without_checkpoint(ck: Checkpoint, is_choice_open: bool) -> None:
    """The checkpoint is gone, or nobody can open it: what source and sink allow. ``is_choice_open``: none was
    chosen."""
    cards.said(say("screen_recovery.lost"), "lead")
    cards.said(say("screen_recovery.lost_what"), "small")
    if is_choice_open:
        cards.said(say("screens.not_open"), "small")
        st.page_link(shell.pages()[0], label=say("screens.choose"), query_params={})
    context = judge(ck).recovery(recovery_answers.given())
    cards.said(say("screen_recovery.questions"), "section")
    asked = questions(context)
    recovery_answers.ask(asked)
    recovery_answers.ask_source(context)
    found = options(context)
    cards.said(say("screen_recovery.options"), "section")
    chosen = choose(found)
    in_short(chosen, Advice.of(context, found=found, asked=asked))
    code(context, chosen)
    more(found, chosen, plan(context, chosen.recipe), None)


def read(opened: Opened, ck: Checkpoint) -> RecoveryContext | str:
    """The facts for the answers given so far, or one sentence why they cannot be read."""
    try:
        return cached_answers.judgement(opened, ck).recovery(recovery_answers.given())
    except StorageError as error:
        return say("screen_recovery.unread", reason=error)


def in_short(option: Option, advice: Advice) -> None:
    """The chosen option in one box: whether and why, what it repeats and loses, what it costs; and which
    answer decides whether another one comes first."""
    if advice.running:
        cards.message("doubt", advice.running)
    if advice.first:
        cards.said(say("screen_recovery.first", action=advice.first))
    with cards.box("done" if option.recommended else "plain" if option.possible else "blocked"):
        cards.said(option.title, "lead")
        verdict(option)
        if option.recommended and advice.question is not None:
            recovery_answers.decided_by(advice.question)
        if option.possible:
            _effect(option)
            cost = say(
                "screen_recovery.cost", complexity=f"{option.complexity.general}.", cost=option.cost.text
            )
            cards.said(cost, "small")
        if SOURCE_AND_SINK in on_page(" ".join([option.why, option.repeats, option.loses])):
            st.page_link("pages/ends.py", label=say("screen_recovery.to_ends"), query_params={})


def _effect(option: Option) -> None:
    """What repeats and is lost: at your sink, or at each kind; what is the same for both is said once."""
    repeats, loses, both = option.repeats, option.loses, ""
    if not any(item.is_yours for item in option.consequences):
        repeats, loses, both = effects_by_sink(option.consequences)
    if repeats:
        cards.said(say("screen_recovery.repeats", repeats=repeats))
    if loses:
        cards.said(say("screen_recovery.loses", loses=loses))
    if both:
        cards.said(say("screen_recovery.both", about=both))


def verdict(option: Option) -> None:
    """Whether an option can be done, and why it comes first."""
    if option.recommended:
        cards.said(say("screen_recovery.recommended", reason=option.reason), "strong")
    elif not option.possible:
        cards.said(say("screen_recovery.impossible", why=option.why), "strong")
    else:
        cards.said(say("screen_recovery.possible", why=option.why), "small")


def more(found: tuple[Option, ...], option: Option, made: Plan, opened: Opened | None) -> None:
    """What a person looks at before deciding, in tabs: the steps, each kind of sink, each source, all
    options, and what a start without a recovery does."""
    parts: dict[str, tuple[str, Callable[[], None]]] = {}
    if made.steps:
        parts["steps"] = say("screen_recovery.tab_steps"), lambda: steps(made)
    parts["sinks"] = say("screen_recovery.tab_sinks"), lambda: consequences(option)
    if made.before_after:
        parts["before"] = say("screen_recovery.before_and_after"), lambda: before_and_after(made)
    parts["all"] = say("screen_recovery.tab_all", count=len(found)), lambda: compare(found)
    if opened is not None and (ck := opened.ck) is not None:
        parts["position"] = say("screen_recovery.tab_position"), lambda: start_position.block(opened, ck)
        parts["impact"] = say("screen_recovery.tab_impact"), lambda: impact_card.card(opened, ck)
    tabs = selection.tabs("tab", {name: label for name, (label, _) in parts.items()})
    for name, (_, draw) in parts.items():
        with tabs[name]:
            draw()


def compare(found: tuple[Option, ...]) -> None:
    """The options side by side, the recommended one first; the same as a table."""
    with st.grid(2, min_column_width=260, vertical_alignment="top"):
        for option in found:
            card(option)
    tables.behind(lambda: as_columns(found), say("screen_recovery.options_table"), "recovery-options")


def as_columns(found: tuple[Option, ...]) -> tables.Columns:
    """One row per option; what one would cost is said of none that cannot be taken."""
    columns: dict[str, list[object]] = {"option": [option.title for option in found]}
    columns["possible"] = [
        "yes" if option.possible else on_page(say("screen_recovery.impossible_cell", why=option.why))
        for option in found
    ]
    columns["recommended"] = ["yes" if option.recommended else "no" for option in found]
    for field, label in ROWS.items():
        columns[label] = [on_page(getattr(option, field).text) if option.possible else "" for option in found]
    return columns


def card(option: Option) -> None:
    """One option: whether it can be done, then, where it can, a row per aspect with the general word and this
    checkpoint's fact."""
    with cards.box(
        "done" if option.recommended else "plain" if option.possible else "blocked",
        height="stretch",
        gap="small",
    ):
        cards.said(option.title, "lead")
        verdict(option)
        for field, label in ROWS.items() if option.possible else ():
            aspect(label, getattr(option, field))


def aspect(label: str, cell: Cell) -> None:
    """One cell of the table; where this checkpoint's facts contradict the general word, they come first."""
    with st.container(gap=None):
        cards.said(label, "small")
        if cell.corrected:
            cards.said(f"◐ {cell.facts}", "strong")
            cards.said(say("screen_recovery.in_general", general=cell.general), "small")
            return
        cards.said(cell.general, "strong")
        if cell.facts:
            cards.said(cell.facts, "small")


def choose(found: tuple[Option, ...]) -> Option:
    """The option whose plan and code are shown: the chosen one, else the recommended, else the first."""
    labels: dict[str, str] = {option.id: option.title for option in found}
    chosen = selection.pick(say("screen_recovery.choice"), "option", labels, found[0].title, width=480)
    return next((option for option in found if option.id == chosen), found[0])


def consequences(option: Option) -> None:
    """What repeats and what is lost, for each way in which a sink treats a batch that comes again."""
    cards.said(say("screen_recovery.consequences", option=option.title), "section")
    with st.grid(3, min_column_width=260, vertical_alignment="top"):
        for item in option.consequences:
            with cards.box("done" if item.is_yours else "plain", height="stretch"):
                label = say("screen_recovery.your_sink", sink=item.label) if item.is_yours else item.label
                cards.said(label, "strong")
                cards.said(say("screen_recovery.repeats", repeats=item.repeats))
                cards.said(say("screen_recovery.loses", loses=item.loses))
                if item.trap:
                    cards.said(say("screen_recovery.mistake", trap=item.trap), "small")


def steps(made: Plan) -> None:
    """What the code does, in order; the reasons are folded away."""
    with st.container(gap=None):
        for number, step in enumerate(made.steps, start=1):
            cards.said(f"{number}. {step.title}")
    reasons = [(number, step.why) for number, step in enumerate(made.steps, start=1) if step.why]
    if reasons:
        with st.expander(say("screen_recovery.why_steps")):
            for number, why in reasons:
                cards.said(f"{number}. {why}", "small")
    for sentence in made.caution:
        cards.message("doubt", on_page(sentence))


def before_and_after(made: Plan) -> None:
    """For each source: where it stands, where the new checkpoint begins, what is read again."""
    columns = {
        "source": [item.source for item in made.before_after],
        "stands now": [str(item.before.get("says") or words.NOT_KNOWN) for item in made.before_after],
        "new checkpoint starts at": [str(item.after.get("start") or "") for item in made.before_after],
        "first batch": [str(item.after.get("first_batch")) for item in made.before_after],
        "reads again": [str(item.after.get("reads_again") or "") for item in made.before_after],
    }
    tables.sides(columns, alt=say("screen_recovery.before_and_after_table"), key="before-after")
    tables.downloads(columns, f"before-after-{made.option}", key="before-after")


def code(context: RecoveryContext, option: Option) -> None:
    """What to paste, then the downloads; the values it needs, the script and the kit are folded."""
    cards.said(say("screen_recovery.code"), "section")
    made = forms(context, option.id)
    if not made:
        cards.message("blocked", say("screen_recovery.no_code", why=why_no_code(context, option.id)))
        return
    short = made[0]
    st.code(short.text, language=short.language, wrap_lines=True)
    others = [
        each
        for each in made[1:]
        if each.form not in ("script", "kit") and (each.form != "file" or each.platform == short.platform)
    ]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for at, block in enumerate(others):
            download(block, f"form-{at}")
    files = [each for each in made if each.form == "file"]
    if not files:
        return
    recovery_answers.ask_texts(recovery_answers.fields(context, option.id))
    names = [each.file_name for each in files]
    title = say("screen_recovery.whole_file", file=names[0])
    if len(names) > 1:
        title = say("screen_recovery.whole_files", n=len(names))
    with st.expander(title):
        cards.said(say("screen_recovery.code_note"), "small")
        if len(files) == 1:
            show_block(files[0], 0)
        else:
            tabs = st.tabs([tab_name(block, files) for block in files])
            for at, (tab, block) in enumerate(zip(tabs, files, strict=True)):
                with tab:
                    show_block(block, at)
    for block in made:
        if block.form == "kit":
            with st.expander(block.title):
                cards.said(say("screen_recovery.kit_note"), "small")
                download(block, "kit")


def download(block: CodeBlock, key: str) -> None:
    """The button that gives one piece of code as a file."""
    st.download_button(
        say("screen_recovery.download", file=block.file_name),
        block.text,
        block.file_name,
        MIME[block.language],
        key=key,
        on_click="ignore",
    )


def tab_name(block: CodeBlock, files: Sequence[CodeBlock]) -> str:
    """What stands on the tab of one block: its platform too where there are several."""
    if len({each.platform for each in files}) == 1:
        return block.file_name
    platform = {"pyspark": "PySpark", "databricks": "Databricks", "lakeflow": "Lakeflow"}[block.platform]
    return f"{platform}: {block.file_name}"


def show_block(block: CodeBlock, at: int) -> None:
    """One file: what differs for this checkpoint is shown, and the whole is downloaded."""
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.said(block.title, "strong", "content")
        download(block, f"code-{at}")
    text = block.own_text
    is_long = text.count("\n") > MOST_LINES
    with st.container(height=CODE_PX if is_long else "content", border=False, key=f"code-box-{at}"):
        st.code(text, language=block.language, wrap_lines=True)


main()
