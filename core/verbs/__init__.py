"""The verbs of ``python -m core``, one module each. A new verb is a module with a ``VERB`` and a line in
``MODULES``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from core.documents.base import Document
from core.settings import Settings

# In the order of the help text. Each names a module in this package.
MODULES = ("inspect", "resume", "forecast", "check", "state", "recover", "explain")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb found: the answer, the same for a person, and whether there are problems (exit status 1)."""

    document: Document
    text: str
    has_problems: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb. ``add_arguments`` adds what it takes beside LOCATION and ``--json``; ``run`` answers.

    ``run`` may raise StorageError and NotACheckpoint (exit status 10) and :class:`UsageError` (2).
    """

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Settings], Answer]


def verbs() -> dict[str, Verb]:
    """The table of verbs by name."""
    found = [import_module(f"core.verbs.{module}").VERB for module in MODULES]
    return {verb.name: verb for verb in found}
