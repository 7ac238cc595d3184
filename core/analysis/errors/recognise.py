"""Which errors a pasted text holds, the telling one first.

Three ways: a condition's name in brackets, the words of a condition's message (older versions, wrappers and
Kafka's connector leave the name out), and the table of errors that have no condition. What is more telling
wins; of two alike the deeper cause. What was only interrupted, because another task had failed, comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from core.analysis.errors.catalogue import Catalogue, spark_catalogue
from core.analysis.errors.known_texts import (
    AUTO_LOADER_PREFIX,
    DATABRICKS,
    DELTA,
    KAFKA,
    PLAIN,
    Foreign,
    Known,
)
from core.analysis.errors.meanings import LEGACY_NAMES, is_known, weight_of
from core.analysis.errors.model import NO_PARAMETERS, OUTERMOST, WRAPPER, Recognised
from core.analysis.errors.pasted_text import Pasted
from core.analysis.errors.template import LONGEST_MESSAGE, Template, message_end, parse_template

MOST = 40  # errors that are told of one text
MENTIONS = 5  # of one error that are looked at for the fullest one
MOST_TAGS = 200  # names in brackets that are looked at; a stack trace has under ten
LONGEST_SHOWN = 1_000  # characters of a message

_TAG = re.compile(r"\[([A-Z][A-Z0-9_]{3,120}(?:\.[A-Z][A-Z0-9_]{1,120})?)\] ?")
_NAME = re.compile(
    r"(?<![\w.\[$])([A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,15}(?:\.[A-Z][A-Z0-9_]{1,120})?)(?![\w(=])"
)
_SQLSTATE = re.compile(r" ?SQLSTATE: ([0-9A-Z]{5})\b")

# Classes that wrap the cause, and those so broad that their name says nothing.
_WRAPPING = frozenset(
    [
        "Exception",
        "Error",
        "RuntimeException",
        "Throwable",
        "SparkException",
        "StreamingQueryException",
        "Py4JJavaError",
        "Py4JException",
        "PythonException",
        "ExecutionException",
        "ForeachBatchUserFuncException",
        "UncheckedExecutionException",
        "CompletionException",
        "SparkRuntimeException",
    ]
)

_OUTER = frozenset(
    ("StreamingQueryException", "Py4JJavaError")
)  # classes whose message repeats that of the cause


class _Found:
    """What was found so far, in the order of the search."""

    def __init__(self, text: Pasted) -> None:
        self.text = text
        self.all: list[Recognised] = []
        self.causes: set[str] = set()  # names of errors that are not only the aftermath of another one

    def add(
        self,
        name: str,
        start: int,
        end: int,
        values: Mapping[str, str],
        sqlstate: str | None,
        is_condition: bool,
        tagged: bool = False,
        error_class: str | None = None,
    ) -> None:
        if not self.text.is_aftermath(start):
            self.causes.add(name)
        self.all.append(
            Recognised(
                name=name,
                condition=name if is_condition else None,
                error_class=error_class or self.text.class_at(start),
                sqlstate=sqlstate,
                parameters=values or NO_PARAMETERS,
                message=shortened(self.text.flat[start : message_end(self.text.flat, end)]),
                line=self.text.line_of(start),
                weight=weight_of(name),
                depth=self.text.depth(start),
                tagged=tagged,
            )
        )


def recognise(text: Pasted, catalogue: Catalogue | None = None) -> tuple[Recognised, ...]:
    """The errors of the text, most telling first, each kind once (its fullest mention). Empty when none is
    known."""
    known = catalogue if catalogue is not None else spark_catalogue()
    found = _Found(text)
    _tagged(found, known)
    _named(found, known)
    _by_words(found, known)
    _without_condition(found, known)
    best: dict[str, Recognised] = {}
    for item in found.all:
        before = best.get(item.name)
        if before is None or _fullness(before) < _fullness(item):
            best[item.name] = item
    parents = {name.split(".")[0] for name in best if "." in name}  # "A" says nothing more beside "A.B"
    is_told = any(item.weight > WRAPPER and item.name in found.causes for item in best.values())
    ranked = sorted(
        (item for item in best.values() if item.name not in parents),
        key=lambda item: (
            is_told and item.name not in found.causes,
            -item.weight,
            not item.tagged,
            -item.depth,
            item.line,
        ),
    )
    return tuple(ranked[:MOST])


def _fullness(item: Recognised) -> tuple[bool, int, bool, bool]:
    return item.tagged, len(item.parameters), item.error_class is not None, item.error_class not in _OUTER


def shortened(message: str) -> str:
    """A message as it is shown: on one line, cut when it is long."""
    clean = message.strip()
    return clean if len(clean) <= LONGEST_SHOWN else clean[: LONGEST_SHOWN - 1] + "…"


def unknown_cause(text: Pasted, recognised: Iterable[Recognised]) -> Recognised | None:
    """The last exception of the text that is no wrapper and that nothing above explains: what the wrappers
    wrap. None when there is none."""
    explained = {item.line for item in recognised if item.weight > WRAPPER}
    for head in reversed(text.heads):
        line = text.line_of(head.start)
        if head.name in _WRAPPING or line in explained:
            continue
        message = shortened(text.flat[head.start : message_end(text.flat, head.message_start)])
        return Recognised(
            head.name, None, head.name, None, NO_PARAMETERS, message, line, OUTERMOST, text.depth(head.start)
        )
    return None


# ---------------------------------------------------------------- names in brackets


def _tagged(found: _Found, catalogue: Catalogue) -> None:
    flat = found.text.flat
    behind_class = {head.message_start for head in found.text.heads}
    looked_at = 0
    for match in _TAG.finditer(flat):
        name, at = match[1], match.end()
        condition, foreign = catalogue.get(name), _foreign(name)
        if condition is None and foreign is None and "_" not in name:
            continue  # [INFO] and the like
        looked_at += 1
        if looked_at > MOST_TAGS:
            return
        state = _SQLSTATE.match(flat, message_end(flat, at))
        is_other = condition is None and foreign is None and not name.startswith(AUTO_LOADER_PREFIX)
        if is_other and state is None and match.start() not in behind_class:
            # words joined by "_" right behind a class are a condition of a newer Spark, of a vendor or of a
            # connector
            continue
        template = condition.template if condition is not None else _template(foreign)
        values = (
            template.find(flat, at, min(len(flat), at + LONGEST_MESSAGE * 6))
            if template is not None
            else None
        )
        fits = values is not None and values.start <= at + 1
        sqlstate = (
            condition.sqlstate if condition is not None else foreign.sqlstate if foreign is not None else None
        )
        found.add(
            name,
            match.start(),
            at,
            values.values if values is not None and fits else NO_PARAMETERS,
            sqlstate or (state[1] if state is not None else None),
            is_condition=True,
            tagged=True,
        )


def _foreign(name: str) -> Foreign | None:
    return KAFKA.get(name) or DELTA.get(name) or DATABRICKS.get(name)


def _named(found: _Found, catalogue: Catalogue) -> None:
    """Conditions that are named without brackets, as people write about an error; only those that this tool
    knows."""
    names = {item.name for item in found.all}
    for match in islice(_NAME.finditer(found.text.flat), MOST_TAGS):
        name = match[1]
        condition, foreign = catalogue.get(name), _foreign(name)
        if name in names or not is_known(name) or (condition is None and foreign is None):
            continue
        names.add(name)
        sqlstate = (
            condition.sqlstate if condition is not None else foreign.sqlstate if foreign is not None else None
        )
        found.add(name, match.start(), match.end(), NO_PARAMETERS, sqlstate, is_condition=True)


def _template(foreign: Foreign | None) -> Template | None:
    return parse_template(foreign.text) if foreign is not None and foreign.text else None


# ---------------------------------------------------------------- words of a condition


def _templates(catalogue: Catalogue) -> Iterator[tuple[str, Template, str | None, bool]]:
    """Name, message, SQLSTATE and whether it is a condition. Of a sub-condition its own part, which is how
    older versions worded it."""
    for condition in catalogue.of_streaming:
        name = _name_of(condition.id)
        yield name, condition.own_template, condition.sqlstate, name == condition.id
    for name, foreign in {**KAFKA, **DELTA}.items():
        if foreign.text:
            yield name, parse_template(foreign.text), foreign.sqlstate, True


def _by_words(found: _Found, catalogue: Catalogue) -> None:
    flat = found.text.flat
    for name, template, sqlstate, is_condition in _templates(catalogue):
        if not template.can_be_searched:
            continue
        for match in islice(template.find_all(flat), MENTIONS):
            found.add(name, match.start, match.end, match.values, sqlstate, is_condition)
    names = {item.name for item in found.all}
    for begin, condition_id in catalogue.beginnings.items():
        template = parse_template(begin)
        place = (
            template.find(flat) if template.can_be_searched and _name_of(condition_id) not in names else None
        )
        if place is not None:
            _add_part(found, catalogue, condition_id, place.start, place.end, place.values)
    names = {item.name for item in found.all}
    for sentence, condition_id in catalogue.sentences.items():
        at = flat.find(sentence) if _name_of(condition_id) not in names else -1
        if at >= 0:
            _add_part(found, catalogue, condition_id, at, at + len(sentence), NO_PARAMETERS)


def _name_of(condition_id: str) -> str:
    return LEGACY_NAMES.get(condition_id, condition_id)


def _add_part(
    found: _Found, catalogue: Catalogue, condition_id: str, start: int, end: int, values: Mapping[str, str]
) -> None:
    name = _name_of(condition_id)
    found.add(name, start, end, values, catalogue.conditions[condition_id].sqlstate, name == condition_id)


# ---------------------------------------------------------------- errors without a condition


def _without_condition(found: _Found, catalogue: Catalogue) -> None:
    taken: list[tuple[int, int]] = []
    for known in PLAIN:
        condition = catalogue.get(known.name)
        sqlstate = condition.sqlstate if condition is not None else None
        is_condition = "." in known.name or condition is not None
        places = [
            p
            for p in islice(_places(found.text, known), MENTIONS)
            if not any(p[0] < stop and begin < p[1] for begin, stop in taken)
        ]
        for start, end, values, error_class in places:
            taken.append((start, end))
            found.add(known.name, start, end, values, sqlstate, is_condition, error_class=error_class)


def _places(text: Pasted, known: Known) -> Iterator[tuple[int, int, Mapping[str, str], str | None]]:
    for words in known.texts:
        for match in parse_template(words).find_all(text.flat):
            if _is_about(text, known, match.start, match.end):
                yield match.start, match.end, match.values, None
    if known.needs and not any(word in text.flat for word in known.needs):
        return
    for head in text.heads:
        if head.name in known.classes and _is_about(text, known, head.start, head.message_start):
            yield head.start, head.message_start, NO_PARAMETERS, head.name


def _is_about(text: Pasted, known: Known, start: int, end: int) -> bool:
    """Whether the message that begins there names a file of the kind that the error is about."""
    if known.about is None:
        return True
    return known.about.search(text.flat, start, message_end(text.flat, end)) is not None
