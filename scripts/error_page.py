"""``docs/errors.md`` from the tables: ``python -m scripts.error_page > docs/errors.md``. A test keeps the two
equal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from core.analysis.errors.meanings import ALIKE, OPTION_TITLES, action_of
from core.analysis.errors.meanings_code import CODE, UNSEEN
from core.analysis.errors.meanings_files import FILES
from core.analysis.errors.meanings_kafka import KAFKA_ERRORS
from core.analysis.errors.meanings_logs import LOGS
from core.analysis.errors.meanings_sources import SOURCES
from core.analysis.errors.meanings_state import STATE
from core.analysis.errors.meanings_tables import TABLES
from core.analysis.errors.model import Meaning
from core.analysis.errors.pasted_text import LONGEST_TEXT

_HEAD = f"""# Errors

This page is made from the tables of the error translator (`python -m scripts.error_page`); a test keeps it
up to date.

Give it an error message or a whole stack trace (Python, Java, a piece of a log, one line):

```
python -m core explain LOCATION --error FILE   # or --error - to read standard input; --json for programs
```

Exit status: 0 an error was recognised, 1 none was, 2 wrong usage, 10 the location cannot be read or is not a
checkpoint. Of a text over {LONGEST_TEXT:,} characters the middle is left out, and the answer says so. No JVM
is started.

How an error is recognised: by its condition in brackets, against Spark's own catalogue in the installed
PySpark; by the wording of a condition's message, because older versions, wrappers and Kafka's connector leave
the name out; and by a table of errors that have no condition, which are given a name here. A trace has
several errors, and wrappers never win: what names the fault is explained, the others are listed.

With a checkpoint the answer says what is so in it: whether the query id and the paths of the text are those
of this checkpoint, whether the files that are named are there, which batch and which partition it is about,
and whether the next start fails the same way. `shown` is `yes` when the files show the fault now, `no` when
they contradict it (repaired since, or another checkpoint's error), `unknown` when the files cannot show it.

## What can be done

| option | |
|---|---|
"""


def errors_page() -> str:
    """The whole page."""
    return "\n".join(line.replace("<", "\\<") for line in _lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD.rstrip("\n")
    yield from (f"| `{option}` | {title} |" for option, title in OPTION_TITLES.items())
    for title, table in (
        ("The checkpoint's own files", LOGS),
        ("State", STATE),
        ("Kafka", KAFKA_ERRORS),
        ("Other sources", SOURCES),
        ("Delta and Iceberg tables", TABLES),
        ("Files and storage", FILES),
        ("The query's code and the machines", CODE),
    ):
        yield from ("", f"## {title}")
        yield from _entries(table)
    yield from ("", "## Cannot be seen from the files", "")
    yield (
        "Conditions of streaming, state and checkpoints whose cause no file of a checkpoint shows, and where"
        " it is instead."
    )
    for group in UNSEEN:
        yield from ("", f"### {group.text.means}", "", f"{group.text.unseen} {group.text.action}", "")
        yield from (f"- `{name}`" for name in group.ids)


def _entries(table: Mapping[str, Meaning]) -> Iterator[str]:
    for name, meaning in table.items():
        same = [other for other, first in ALIKE.items() if first == name]
        yield from ("", f"### {name}", "")
        if same:
            yield from (f"The same applies to {', '.join(f'`{other}`' for other in same)}.", "")
        yield meaning.means
        yield ""
        if meaning.reasons:
            yield "- Likely reasons: " + " ".join(
                f"({i}) {reason}" for i, reason in enumerate(meaning.reasons, 1)
            )
        yield f"- What to do: {action_of(meaning)}"
        yield f"- Options: {', '.join(f'`{option}`' for option in meaning.options)}"
        if meaning.unseen:
            yield f"- Cannot be seen from the files: {meaning.unseen}"


if __name__ == "__main__":
    sys.stdout.write(errors_page())
