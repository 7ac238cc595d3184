"""Templates that cannot be broken by a strange name: every value goes through a filter that writes it as a
literal.

A value that reaches the text without a filter raises; the filters are the only way to make :class:`Quoted`
text.
"""

from __future__ import annotations

import keyword
import re
import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.errors import QuotingError
from core.messages import say

_WORDS = re.compile(r"[A-Za-z0-9 .,:;'()_<>=/+-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Quoted(str):
    """Text that a filter made; safe at the place the filter is meant for."""

    __slots__ = ()


def python_literal(value: object) -> Quoted:
    """A value as a Python literal. Only plain values: text, numbers, booleans, None, and lists, tuples and
    dictionaries of them.

    ``repr`` escapes quotes, line breaks, backslashes and everything that is not printable (so also characters
    that reverse the text).
    """
    if isinstance(value, list | tuple):
        inner = ", ".join(python_literal(item) for item in value)
        return Quoted(
            f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
        )
    if isinstance(value, dict):
        return Quoted(
            "{" + ", ".join(f"{python_literal(k)}: {python_literal(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, str):
        text = repr(str(value))
        # Double quotes read better in code; possible whenever the text holds none of either kind.
        return Quoted(f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text)
    if value is None or type(value) in (int, bool, float):
        return Quoted(repr(value))
    raise QuotingError(say("quoting.type", kind=type(value).__name__))


def shell_literal(value: object) -> Quoted:
    """Text as one word of a POSIX shell."""
    if not isinstance(value, str) or "\0" in value:
        raise QuotingError(say("quoting.shell"))
    return Quoted(shlex.quote(value))


def sql_name(value: object) -> Quoted:
    """A table name in its parts, each in backticks. Dots separate the parts."""
    if not isinstance(value, str) or not value or "\n" in value or "\0" in value:
        raise QuotingError(say("quoting.table"))
    return Quoted(".".join("`" + part.replace("`", "``") + "`" for part in value.split(".")))


def plain_words(value: object) -> Quoted:
    """Our own words in a comment or a docstring; anything that could end one is refused."""
    if not isinstance(value, str) or not _WORDS.fullmatch(value):
        raise QuotingError(say("quoting.comment", value=value))
    return Quoted(value)


def identifier(value: object) -> Quoted:
    """The name of a constant."""
    if not isinstance(value, str) or not _NAME.fullmatch(value) or keyword.iskeyword(value):
        raise QuotingError(say("quoting.name", value=value))
    return Quoted(value)


def shell_variable(value: object) -> Quoted:
    """The use of an environment variable in a shell text: ``${NAME}``."""
    return Quoted("${" + identifier(value) + "}")


_MARKDOWN = re.compile(r"[\\`*_\[\]#+!|<>~&$@]|(?<=:)//|(?<=www)\.|^[-=]|(?<=^\d)[.)]", re.IGNORECASE)


def markdown_text(value: object) -> Quoted:
    """Text inside a paragraph, a list item or a cell of Markdown, on one line: nothing in it is a link, HTML
    or the beginning of another block. What is not printable is written as its escape sequence."""
    return Quoted(_MARKDOWN.sub(lambda found: "\\" + "\\".join(found[0]), _one_line(value)))


def markdown_code(value: object) -> Quoted:
    """Text as code inside a paragraph: the fence is longer than any run of backticks in it."""
    text = _one_line(value)
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return Quoted(f"{fence} {text} {fence}" if "`" in text or not text.strip() else f"{fence}{text}{fence}")


def markdown_cell(value: object) -> Quoted:
    """Text as code inside a cell of a table: a bar would end the cell."""
    return Quoted(markdown_code(value).replace("|", "\\|"))


def own_file_name(value: object) -> Quoted:
    """The name of a file that this program makes."""
    if not isinstance(value, str) or not re.fullmatch(r"[a-z_]+\.[a-z]+", value):
        raise QuotingError(say("quoting.name", value=value))
    return Quoted(value)


def _one_line(value: object) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(value))


def _only_quoted(value: object) -> object:
    if isinstance(value, Quoted):
        return value
    raise QuotingError(say("quoting.unquoted", value=value))


def environment(directory: Path) -> Environment:
    """The templates of a directory, strict: no undefined names, no value without a quoting filter."""
    # Autoescape is for HTML; here the finalizer refuses everything that no filter has quoted.
    made = Environment(  # noqa: S701
        loader=FileSystemLoader(directory),
        undefined=StrictUndefined,
        finalize=_only_quoted,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        {
            "py": python_literal,
            "sh": shell_literal,
            "sql": sql_name,
            "words": plain_words,
            "name": identifier,
            "var": shell_variable,
            "md": markdown_text,
            "mdcode": markdown_code,
            "mdcell": markdown_cell,
            "file": own_file_name,
        }
    )
    return made
