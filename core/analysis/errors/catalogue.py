"""Spark's own catalogue of error conditions, read from the jar of the installed PySpark. No JVM is started.

``error/error-conditions.json`` in ``spark-common-utils_*.jar`` names every condition with its message, its
sub-conditions and its SQLSTATE. A condition belongs to streaming when its name, or for the many older ones
without a telling name its message, has one of the words below.
"""

from __future__ import annotations

import re
import zipfile
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from core.analysis.errors.template import FEWEST_LETTERS, Template, parse_template

SHORTEST_SENTENCE = 45  # characters; shorter ones are common ("Please retry the query")
MEMBER = "error/error-conditions.json"

# A condition belongs to streaming, state or checkpoints when one of these is in its name ("A" or "A.B") ...
WORDS_IN_NAME = (
    "STREAM",
    "STATE_STORE",
    "STATE_RE",  # repartition and rewriter
    "STATEFUL",
    "CHECKPOINT",
    "STDS",
    "LOG_VERSION",
    "LOG_FILE",
    "WATERMARK",
    "EVENT_TIME",
    "TRANSFORM_WITH_STATE",
    "KAFKA",
    "FOREACH",
    "BATCH_METADATA",
    "MICRO_BATCH",
    "MICROBATCH",
    "CONCURRENT_SCHEDULER",  # of real-time mode
)
# ... or one of these in its message.
WORDS_IN_MESSAGE = (
    "streaming",
    "checkpoint",
    "state store",
    "statestore",
    "watermark",
    "micro-batch",
    "microbatch",
    "offset log",
    "mapgroupswithstate",
)


@dataclass(frozen=True)
class Condition:
    """One condition or sub-condition. ``message`` is the text of the whole (a sub-condition's follows its
    parent's) with ``<holes>``."""

    id: str
    message: str
    own_message: str
    sqlstate: str | None
    has_parts: bool = False

    @cached_property
    def template(self) -> Template:
        """The whole message."""
        return parse_template(self.message)

    @cached_property
    def own_template(self) -> Template:
        """A sub-condition's own part, which is how Spark worded it before the condition existed; a full stop
        at the end may be missing."""
        return parse_template(self.own_message.rstrip(". "))

    @cached_property
    def beginning(self) -> str:
        """The first words of its own message, as many as mean something by themselves, at most one sentence;
        the whole message when that is short."""
        template, text, letters = self.own_template, "", 0
        for i, literal in enumerate(template.literals):
            sentence = literal.split(". ")[0]
            if letters + len(sentence.strip()) >= FEWEST_LETTERS:
                return f"{text}{sentence}".strip()
            text += literal
            letters += len(literal.strip())
            if letters >= FEWEST_LETTERS or i == len(template.holes):
                break
            text += f"<{template.holes[i]}>"
        return text.strip()

    @property
    def belongs(self) -> bool:
        """Whether it is about streaming, state or checkpoints."""
        text = self.own_message.lower()
        return any(word in self.id for word in WORDS_IN_NAME) or any(
            word in text for word in WORDS_IN_MESSAGE
        )


@dataclass(frozen=True)
class Catalogue:
    """Every condition by its id. ``spark``: the version of the jar; None when there is no jar, and then there
    is no condition either."""

    conditions: Mapping[str, Condition]
    spark: str | None

    @cached_property
    def of_streaming(self) -> tuple[Condition, ...]:
        """The conditions that belong to streaming, state and checkpoints, in the order of the catalogue."""
        return tuple(condition for condition in self.conditions.values() if condition.belongs)

    @cached_property
    def sentences(self) -> Mapping[str, str]:
        """Sentences without a hole that only one condition has, if it is one of streaming -> its id: enough
        when only a part was pasted."""
        found: dict[str, set[str]] = {}
        for condition in self.conditions.values():
            for sentence in condition.own_message.split(". "):
                if len(sentence) >= SHORTEST_SENTENCE and "<" not in sentence:
                    found.setdefault(sentence.rstrip("."), set()).add(condition.id)
        single = {sentence: next(iter(ids)) for sentence, ids in found.items() if len(ids) == 1}
        return {sentence: name for sentence, name in single.items() if self.conditions[name].belongs}

    @cached_property
    def beginnings(self) -> Mapping[str, str]:
        """How a streaming condition's message begins -> its id, where no other condition begins so: a message
        may be pasted cut."""
        messages = sorted((condition.own_message, condition.id) for condition in self.conditions.values())
        found = {}
        for condition in self.of_streaming:
            begin = condition.beginning
            at = bisect_left(messages, (begin, ""))
            alike = [name for message, name in messages[at : at + 2] if message.startswith(begin)]
            if alike == [condition.id]:
                found[begin] = condition.id
        return found

    def get(self, name: str) -> Condition | None:
        """The condition with this id, or None."""
        return self.conditions.get(name)


def parse_catalogue(document: Mapping[str, Any]) -> dict[str, Condition]:
    """The conditions of one catalogue file."""
    found: dict[str, Condition] = {}
    for name, entry in document.items():
        message, state = _text(entry.get("message", ())), entry.get("sqlState")
        parts = entry.get("subClass") or {}
        found[name] = Condition(name, message, message, state, bool(parts))
        for part, inner in parts.items():
            own = _text(inner.get("message", ()))
            found[f"{name}.{part}"] = Condition(f"{name}.{part}", f"{message} {own}".strip(), own, state)
    return found


def _text(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


def find_jar() -> Path | None:
    """The jar of the installed PySpark that holds the catalogue, None when PySpark is not installed. PySpark
    itself is not imported."""
    spec = find_spec("pyspark")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        for jar in sorted(Path(place, "jars").glob("spark-common-utils*.jar")):
            with zipfile.ZipFile(jar) as archive:
                if MEMBER in archive.namelist():
                    return jar
    return None


@lru_cache(maxsize=1)
def spark_catalogue() -> Catalogue:
    """The catalogue of the installed PySpark, read once. Empty when PySpark is not installed: recognition
    then uses this tool's own table."""
    jar = find_jar()
    if jar is None:
        return Catalogue(MappingProxyType({}), None)
    with zipfile.ZipFile(jar) as archive:
        document = orjson.loads(archive.read(MEMBER))
    version = re.search(r"-(\d+(?:\.\d+)+)[^/]*\.jar$", jar.name)
    return Catalogue(MappingProxyType(parse_catalogue(document)), version[1] if version else None)
