"""The verbs of ``python -m core``, one module each. A new verb is a module with a ``VERB``, a line in
``MODULES`` and one in ``core/messages/cli.py``. Only the module of the verb that is asked for is imported."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:  # to list the verbs and their help, nothing of this is needed
    from core.documents.base import Document
    from core.settings import Settings
    from core.sparklogs.evidence import NotRead

# In the order of the help text. Each names a module in this package.
MODULES = (
    "inspect",
    "resume",
    "forecast",
    "check",
    "state",
    "rows",
    "recover",
    "explain",
    "changes",
    "rehearse",
    "compare",
    "evidence",
    "incidents",
    "report",
    "survey",
    "metrics",
)
OF_ROOTS = frozenset({"survey", "metrics"})
"""Verbs that take one root or more in place of one checkpoint."""


MAY_LACK_LOCATION = frozenset({"recover", "incidents"})
"""Verbs that have an answer without a checkpoint."""
PIECE_BYTES = 1 << 20
"""So much of a long field is written and read at a time."""


@dataclass(frozen=True, slots=True)
class LongField:
    """A field of a document that is too long for memory: its items as JSON texts in a temporary file,
    with commas between them."""

    name: str
    items: IO[bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb found: as JSON, for a person, whether there are problems (exit status 1), and what could
    not be read (else exit status 10). ``is_whole``: the text names itself what could not be read, and nothing
    is added to it. ``long_field``: items that the document leaves out, where JSON was asked for."""

    document: Document
    text: str
    has_problems: bool = False
    not_read: tuple[NotRead, ...] = ()
    is_whole: bool = False
    long_field: LongField | None = None


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb. ``add_arguments`` adds what it takes beside LOCATION and ``--json``; ``run`` answers.

    ``run`` may raise StorageError and NotACheckpoint (exit status 10) and :class:`UsageError` (2).
    """

    name: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Settings], Answer]


def verb_named(name: str) -> Verb:
    """One verb; its module is imported now, and no other."""
    found: Verb = import_module(f"core.verbs.{name}").VERB
    return found


def verbs() -> dict[str, Verb]:
    """All verbs by name."""
    return {name: verb_named(name) for name in MODULES}
