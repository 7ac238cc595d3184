"""A report as Markdown: the whole, and a short form that fits a chat message. Text from a checkpoint is
escaped: it can be no heading, link, picture, HTML, table or end of a code block."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core import __version__
from core.incident.batch_marks import SIGNS, Marks, label_of
from core.incident.report import TONE_MARKS, Code, Paragraph, Report, Section
from core.messages import say, words

CHAT_LINES = 15
MOST_CHAT = 600
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_AT_START = re.compile(r"^(\s*)([#+=-]|\d+(?=[.)]))")
_ADDRESS = re.compile(r"\b(https?|ftp)(?=://)|\bwww(?=\.)|\bmailto(?=:)", re.IGNORECASE)
_AT = re.compile(r"@(?=\w)")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is. Addresses in it are no links, and names behind an @ call nobody."""
    safe = _SPECIAL.sub(lambda found: "\\" + found[0], text)
    safe = _ADDRESS.sub(lambda found: found[0] + "\\" if found[0].lower() != "www" else "www\\", safe)
    safe = _AT.sub("@\N{ZERO WIDTH SPACE}", safe)
    return _AT_START.sub(
        lambda found: f"{found[1]}\\{found[2]}" if not found[2].isdigit() else _number(found), safe
    )


def _number(found: re.Match[str]) -> str:
    """A number that would begin a list."""
    return f"{found[1]}{found[2]}\N{ZERO WIDTH SPACE}"


def fenced(text: str, language: str = "") -> list[str]:
    """A code block whose fence is longer than every run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.splitlines(), fence]


def to_markdown(report: Report) -> str:
    """The whole report."""
    lines = [f"# {escaped(say('report.title', name=report.name))}", ""]
    lines += [
        f"**{TONE_MARKS[report.tone]} {escaped(words.capital(report.verdict))}.** {escaped(report.sentence)}"
    ]
    lines += ["", *_paragraph(report.proof)] if report.proof.text else []
    lines += ["", escaped(report.read)]
    lines += ["", f"<{report.link}>"] if report.link else []
    lines += ["", *_section(report.to_do)]
    lines += [f"## {say('report.newest_batches')}", "", escaped(report.marks.sentence), ""]
    lines += _picture(report.marks)
    for section in (report.position, *report.rest):
        lines += _section(section)
    lines += [f"## {say('report.about')}", ""]
    lines += [f"- {escaped(label)}: {escaped(value)}" for label, value in report.facts]
    return "\n".join(lines) + "\n"


def to_chat(report: Report) -> str:
    """At most ``CHAT_LINES`` lines: verdict, proof, what to do, start position, what was not checked."""
    verdict = escaped(words.capital(report.verdict))
    lines = [f"**{TONE_MARKS[report.tone]} {escaped(_short(report.name))}: {verdict}**"]
    lines += [escaped(_short(report.sentence))]
    lines += [escaped(_short(report.proof.text))] if report.proof.text else []
    lines += [
        say("screen_start.what_to_do", action=escaped(_short(block.text))) for block in _first(report.to_do)
    ]
    lines += [say("report.chat_serious", n=report.serious)] if report.serious > 1 else []
    code = next((block.text for block in report.position.blocks if isinstance(block, Code)), "")
    title = escaped(report.position.title)
    after: list[str] = [say("report.chat_not_checked", n=report.not_checked)] if report.not_checked else []
    after += [f"<{report.link}>"] if report.link else []
    after += [escaped(f"{report.read} · checkpoint-explorer {__version__}")]
    after += [say("report.chat_evidence", sha256=report.sha256)] if report.sha256 else []
    room = CHAT_LINES - len(lines) - len(after) - 3
    if code and len(code.splitlines()) <= room and len(code) <= MOST_CHAT:
        lines += [f"{title}:", *fenced(code, "python")]
    elif code:
        lines += [say("report.chat_position", title=title)]
    return "\n".join([*lines, *after]) + "\n"


def _first(section: Section) -> Iterator[Paragraph]:
    yield from [block for block in section.blocks if isinstance(block, Paragraph)][:1]


def _short(text: str) -> str:
    return words.one_line(text, MOST_CHAT)


def _section(section: Section) -> list[str]:
    lines = [f"## {escaped(section.title)}", ""]
    for block in section.blocks:
        if isinstance(block, Code):
            lines += [*fenced(block.text, "python"), ""]
        else:
            lines += _item(block)
    return [*lines, ""] if lines[-1] else lines


def _item(block: Paragraph) -> list[str]:
    return [f"- {escaped(block.text)}", *([f"  {escaped(block.more)}"] if block.more else [])]


def _paragraph(block: Paragraph) -> list[str]:
    return [escaped(block.text), *(["", escaped(block.more)] if block.more else [])]


def _picture(marks: Marks) -> list[str]:
    """The marks in one line, with the ids of the first and the last."""
    if not marks.marks:
        return []
    line = " ".join(SIGNS[mark.status] for mark in marks.marks)
    legend = "   ".join(f"{SIGNS[kind]} {label_of(kind)}" for kind in marks.kinds)
    return [*fenced(f"{marks.marks[0].first}  {line}  {marks.marks[-1].last}\n{legend}"), ""]
