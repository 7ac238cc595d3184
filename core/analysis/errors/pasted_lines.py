"""The lines of a pasted text as the program printed them: without what log collectors, mail programs, chats
and terminals put in front of them or made of them.

Every pattern is bounded and anchored at the beginning of a line, so that no text can make it slow.
"""

from __future__ import annotations

import html
import re

_TIME = (
    r"\d{2,4}[-/]\d{2}[-/]\d{2}[T ,]{1,2}\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
)
_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)"
_PREFIXES = (
    re.compile(r"\s{0,8}(?:>\s?){1,12}"),  # a quotation in a mail
    # Airflow: [2023-05-01, 10:11:12 UTC] {spark_submit.py:521} INFO -
    re.compile(rf"\s{{0,8}}\[{_TIME}\]\s{{1,3}}\{{[\w.\-]{{1,80}}:\d{{1,6}}\}}\s{{1,3}}{_LEVEL}\s{{1,3}}-\s"),
    # Kubernetes: 2023-05-01T10:11:12.123456789Z stderr F
    re.compile(rf"{_TIME}\s(?:stdout|stderr)\s[FP]\s"),
    re.compile(r"\[pod/[\w.\-]{1,120}/[\w.\-]{1,120}\]\s"),  # kubectl logs --prefix
    re.compile(r"[\w.\-]{1,80}\s{1,30}\|\s"),  # docker compose
    # syslog: Nov 21 10:11:12 host spark[812]:
    re.compile(
        r"[A-Z][a-z]{2}\s{1,2}\d{1,2}\s\d{2}:\d{2}:\d{2}\s[\w.\-]{1,80}\s[\w.\-/]{1,80}(?:\[\d{1,9}\])?:\s"
    ),
    # log4j: 23/05/01 10:11:12 ERROR MicroBatchExecution:
    re.compile(
        rf"\[?{_TIME}\]?\s{{1,3}}(?:\[[^\]]{{1,120}}\]\s{{1,3}})?\[?{_LEVEL}\]?\s{{1,6}}"
        r"(?:\[[^\]]{1,120}\]\s{1,3})?(?:[\w.$/\-]{1,160}(?::\d{1,6})?\s?(?::|-)\s)?"
    ),
    re.compile(rf"{_TIME}\s{{1,3}}"),
    re.compile(rf"\[(?:{_LEVEL}|info|warn|error)\]\s{{1,3}}"),  # sbt, Maven
)
_MOST_PREFIXES = (
    4  # in front of one line: a quotation of a mail with a log of Airflow that has the log of Spark
)
_UNICODE = re.compile(r"\\u00([2-7][0-9a-fA-F])")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2026": "..."})
_NOTHING = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))  # invisible characters
_ESCAPED_BREAK = re.compile(r"\\n(?:\\t| {1,8})?(?:at |Caused by|\\tat |\.\.\. \d)")
FEWEST_WRAPPED = 3  # lines of exactly one length that show that a terminal cut them there
SHORTEST_WRAPPED = 60  # characters


def printed_text(text: str) -> str:
    """The text with real line breaks and plain quotes: what JSON, HTML and word processors made of it is
    undone."""
    text = text.translate(_QUOTES).translate(_NOTHING)
    if any(entity in text for entity in ("&lt;", "&gt;", "&quot;", "&#39;", "&#x27;", "&#34;")):
        text = html.unescape(text)
    text = text.replace("\\'", "'")
    if text.count("\\n") > 3 * (text.count("\n") + 1) or _ESCAPED_BREAK.search(text) is not None:
        text = _UNICODE.sub(lambda code: chr(int(code[1], 16)), text)
        text = text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        text = text.replace("\\/", "/")
    return text


def printed_lines(text: str, fewest_wrapped: int = FEWEST_WRAPPED) -> list[str]:
    """The lines without prefixes; a line that a terminal cut is joined to the next one and leaves an empty
    one behind, so that the numbers of the lines stay. ``fewest_wrapped``: so many different lines must be as
    long as the longest to count as cut."""
    lines = text.split("\n")
    width = _wrapped_at(lines, fewest_wrapped)
    if width is not None:
        for i in range(len(lines) - 2, -1, -1):
            if len(lines[i]) == width:
                lines[i], lines[i + 1] = lines[i] + lines[i + 1], ""
    return [without_prefix(line) for line in lines]


def without_prefix(line: str) -> str:
    """One line without what was put in front of it."""
    for _ in range(_MOST_PREFIXES):
        match = next((found for pattern in _PREFIXES if (found := pattern.match(line))), None)
        if match is None:
            return line
        line = line[match.end() :]
    return line


def _wrapped_at(lines: list[str], fewest: int) -> int | None:
    """The number of columns at which a terminal cut the lines: several different ones are exactly as long as
    the longest."""
    width = max(map(len, lines), default=0)
    if width < SHORTEST_WRAPPED:
        return None
    return width if len({line for line in lines if len(line) == width}) >= fewest else None
