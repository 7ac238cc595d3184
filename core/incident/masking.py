"""Secrets in what Spark wrote, masked before it goes into an evidence file.

Spark pins only settings of its own and writes no options of sources into the logs, but a setting can be given
a password, a path its user and a signature, and connectors of others write what they like. The mask has the
length of what it hides, so that sizes, lines and JSON stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_NAMES = (
    r"passw(?:or)?d|passphrase|pwd|secret|credential|signature|jaas|access[._-]?key|account[._-]?key"
    r"|sas[._-]?key|api[._-]?key|private[._-]?key|connection[._-]?string"
    # A continuation token is a position: only tokens that let somebody in are secret.
    r"|(?:session|security|auth\w{0,12}|access|sas|bearer|refresh|client|api|id)[._-]?token|(?<![\w-])token(?![\w-])"
)
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_MEMBER = re.compile(r'[^"\\]{0,300}(?P<slashes>\\*)"\s*:\s*(?P=slashes)"')
"""Behind a secret name: the rest of ``"name": "``, also inside another JSON text (``\\"name\\": \\"``)."""
_EQUALS = re.compile(r"""[\w.-]*\s*=\s*\\*["']?(?P<value>[^\s"'&;,)\\]+)""")
"""The rest of ``name=value``, as in properties, JAAS and the queries of URLs."""
_SIG = re.compile(r"(?<=[?&;6])sig(?==)", re.IGNORECASE)  # "&" is \u0026 in some JSON
_NEAR = 24
_USER = re.compile(r"(?<=://)([^\s/@:'\"\\]+:[^\s/@'\"\\]+)(?=@)")
_HINTS = (
    *("pass", "pwd", "secret", "credential", "signature", "jaas", "token", "sig="),
    *(
        f"{first}{between}key"
        for first in ("access", "account", "sas", "api", "private")
        for between in ("", ".", "_", "-")
    ),
    *(f"connection{between}string" for between in ("", ".", "_", "-")),
)
"""A text in lower case with none of these names no secret: most logs pass at the speed of a search."""
SHORTEST = 6
"""Values of storage options that have fewer characters are words that stand in paths too."""


def secret_values(options: object, is_secret: bool = False) -> set[str]:
    """The values of storage options whose names say that they are secret, at any depth."""
    if isinstance(options, Mapping):
        return {
            text
            for name, value in options.items()
            for text in secret_values(value, is_secret or _is_secret_option(str(name)))
        }
    if isinstance(options, list | tuple):
        return {text for value in options for text in secret_values(value, is_secret)}
    return {options} if is_secret and isinstance(options, str) and len(options) >= SHORTEST else set()


def masked(content: bytes, known: Collection[str] = ()) -> bytes:
    """The same bytes with every secret in them replaced by as many asterisks."""
    text = content.decode("latin-1")  # one character for each byte: nothing else changes
    for value in sorted(known, key=len, reverse=True):
        raw = value.encode("utf-8", "surrogatepass").decode("latin-1")
        text = text.replace(raw, "*" * len(raw))
    text = _without_named(text)
    if "@" in text:
        text = _USER.sub(lambda found: "*" * len(found[1]), text)
    return text.encode("latin-1")


def _is_secret_option(name: str) -> bool:
    return name.lower() in ("key", "username", "user") or _SECRET_NAME.search(name) is not None


def _without_named(text: str) -> str:
    """The text without the values that stand behind a secret name."""
    parts: list[str] = []
    done = 0
    for at in _hinted(text.lower()):
        pattern = _SIG if text[at : at + 4].lower() == "sig=" else _SECRET_NAME
        near = pattern.finditer(text, max(done, at - _NEAR), at + _NEAR)
        name = next((each for each in near if each.start() <= at < each.end()), None)
        if name is None:
            continue
        if (member := _MEMBER.match(text, name.end())) is not None:
            start, end = member.end(), _end_of_value(text, member.end(), len(member["slashes"]))
        elif (equals := _EQUALS.match(text, name.end())) is not None:
            start, end = equals.span("value")
        else:
            continue
        parts += (text[done:start], "*" * (end - start))
        done = end
    return "".join((*parts, text[done:]))


def _hinted(lower: str) -> list[int]:
    found: list[int] = []
    for hint in _HINTS:
        at = lower.find(hint)
        while at >= 0:
            found.append(at)
            at = lower.find(hint, at + 1)
    return sorted(found)


def _end_of_value(text: str, start: int, slashes: int) -> int:
    """Where the closing quote of a JSON text begins. In a text that stands in ``d`` others, a quote has
    ``2**d - 1`` backslashes before it, and each backslash of the value itself adds ``2**(d + 1)``."""
    at = start
    while (quote := text.find('"', at)) >= 0:
        before = quote
        while before > start and text[before - 1] == "\\":
            before -= 1
        if (quote - before) % (2 * (slashes + 1)) == slashes:
            return quote - slashes
        at = quote + 1
    return start
