"""The fingerprint of a query's code: the same for the same text, another one for whatever it declares."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.build import PROJECT

PROCESSOR = """
class Base:
    KIND = "value"
    def kind(self):
        return self.KIND

class Count(Base):
    FIELDS = "n long"
    @property
    def ttl(self):
        return 1000
    def init(self, handle):
        handle.getValueState("n", self.FIELDS, self.ttl)

made = Count()
"""


@pytest.fixture(scope="module")
def fingerprint() -> Iterator[Callable[[Any], str]]:
    """The worker is a file that another process runs."""
    spec = importlib.util.spec_from_file_location("plans", PROJECT / "core" / "spark" / "plan_worker.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.fingerprint
    sys.modules.pop("rehearsal_worker", None)


def made(text: str) -> object:
    space: dict[str, object] = {"__name__": "query"}
    exec(text, space)
    return space["made"]


def test_the_same_text_has_the_same_fingerprint(fingerprint: Callable[[Any], str]) -> None:
    assert fingerprint(made(PROCESSOR)) == fingerprint(made("\n\n" + PROCESSOR))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('FIELDS = "n long"', 'FIELDS = "n long, m string"'),
        ('KIND = "value"', 'KIND = "list"'),
        ("return 1000", "return 2000"),
        ("class Count(Base)", "class Count"),
        ('("n", self', '("m", self'),
    ],
)
def test_what_a_processor_declares_is_part_of_it(
    fingerprint: Callable[[Any], str], was: str, becomes: str
) -> None:
    """A variable of transformWithState may be declared by an attribute of the class, or by one above it."""
    assert fingerprint(made(PROCESSOR)) != fingerprint(made(PROCESSOR.replace(was, becomes)))
