"""Which queries are handed to Spark: those that read the view ``state`` and nothing else.

Spark itself refuses commands here (the query stands between parentheses) and files by path (a setting). What
is left can start programs or call any Java method, and is refused by its words.
"""

from __future__ import annotations

import re

from core.errors import UsageError
from core.messages import say

_QUOTED = re.compile(r"""'(?:\\.|''|[^'\\])*'|"(?:\\.|""|[^"\\])*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_STARTS_PROGRAM = re.compile(r"\busing\s*r?\x00", re.IGNORECASE)  # TRANSFORM (...) USING 'program'
_CALLS_JAVA = re.compile(r"\b(java_method|reflect|try_reflect)\b", re.IGNORECASE)
_STRING, _COMMENT = "\x00", " "


def check_sql(query: str) -> None:
    """Raises UsageError for a query that is not only a question to the view ``state``."""
    text = _QUOTED.sub(lambda found: _COMMENT if found[0][0] in "-/" else _STRING, query.replace("\x00", " "))
    if not text.strip():
        raise UsageError(say("spark.sql_empty"))
    if found := _CALLS_JAVA.search(text):
        raise UsageError(say("spark.sql_forbidden", word=found[1]))
    if _STARTS_PROGRAM.search(text):
        raise UsageError(say("spark.sql_forbidden", word="USING"))
