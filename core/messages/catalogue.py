"""From a key and values to a sentence.

A template is text with named fields. Beside Python's own formats a field takes these
(``core/messages/words.py`` has the functions):

========================  ==========================================  ==================================
field                     what it writes                              example
========================  ==========================================  ==================================
``{n:number}``            thousands separated                         ``1,234``
``{n:counted row}``       the number with its noun                    ``1 row``, ``1,234 rows``
``{n:counted batch/batches}``  the same with an irregular plural      ``2 batches``
``{n:one is/are}``        only the word that fits the number          ``is``, ``are``
``{items:listed}``        a list in words                             ``a, b and c``
``{items:listed 5}``      at most so many, and how many more          ``a, b and 3 more``
``{ids:batches}``         batch ids                                   ``batch 5``, ``batches 5 to 9``
``{ids:capital_batches}`` the same at the beginning of a sentence     ``Batch 5``, ``Batches 5 to 9``
``{size_bytes:size}``     binary units                                ``4.0 KiB``
``{ms:duration}``         a length of time                            ``3 min 5 s``
``{ms:moment}``           a point in time, UTC                        ``2026-11-21 03:12:11 UTC``
========================  ==========================================  ==================================
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from string import Formatter
from types import MappingProxyType

from core.messages import words

NOTHING: Mapping[str, object] = MappingProxyType({})


class Sentence(str):
    """A text that remembers where it comes from: ``key`` in the catalogue and the ``values`` that were filled
    in."""

    key: str = ""
    values: Mapping[str, object] = NOTHING


class _Words(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        name, _, argument = format_spec.partition(" ")
        writer = words.WRITERS.get(name)
        return super().format_field(value, format_spec) if writer is None else writer(value, argument)


_WORDS = _Words()


def say(key: str, /, **values: object) -> Sentence:
    """The sentence of ``key`` with ``values``. Raises KeyError for a key or a field that is not there (a test
    finds both)."""
    room, _, name = key.partition(".")
    return _filled(key, _table(room, "SENTENCES")[name], values)


def say_of(room: str, table: str, entry: str, /, **values: object) -> Sentence:
    """A text that an id chooses: ``entry`` in the table ``table`` of ``core/messages/<room>.py``."""
    return _filled(f"{room}.{table}.{entry}", _table(room, table)[entry], values)


@lru_cache(maxsize=256)
def _table(room: str, table: str) -> Mapping[str, str]:
    found: Mapping[str, str] = getattr(import_module(f"core.messages.{room}"), table)
    return found


def _filled(key: str, template: str, values: Mapping[str, object]) -> Sentence:
    sentence = Sentence(
        _WORDS.vformat(template, (), values) if "{" in template or "}" in template else template
    )
    sentence.key = key
    sentence.values = values
    return sentence
