"""Error texts as people post them: recognised whole, cut, quoted, wrapped, and inside the logs of other
programs.

``posted_errors.txt`` holds them with their origin; the texts that real Spark gave (``error_texts/``) go through
the same shapes.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from core.analysis.errors import explain
from core.analysis.errors.meanings import is_known, meaning_of
from core.analysis.errors.model import GENERAL
from core.analysis.errors.pasted_text import read_pasted
from core.analysis.errors.recognise import recognise
from tests.unit.test_error_recognise import EXPECTED, text_of

POSTED = Path(__file__).with_name("posted_errors.txt")
AT = "2026-05-01"


def posted() -> list[tuple[str, str, str]]:
    """Expected name, origin, text."""
    found = []
    for block in re.split(r"(?m)^### (?=[A-Z_.0-9]+ \|)", POSTED.read_text(encoding="utf-8"))[1:]:
        head, _, text = block.partition("\n")
        name, _, origin = head.partition(" | ")
        found.append((name, origin, text.strip("\n")))
    return found


def each_line(begin: str) -> Callable[[str], str]:
    return lambda text: "\n".join(begin + line for line in text.split("\n"))


def mail(text: str) -> str:
    """Word-wrapped and quoted twice, as an answer to an answer."""
    lines = [
        part
        for line in text.split("\n")
        for part in textwrap.wrap(line, 72, break_long_words=False, break_on_hyphens=False)
    ]
    return "On Friday someone wrote:\n" + "\n".join(f"> > {line}" for line in lines)


def terminal(text: str) -> str:
    """Cut hard at 80 columns."""
    return "\n".join(line[i : i + 80] for line in text.split("\n") for i in range(0, max(1, len(line)), 80))


def gson(text: str) -> str:
    """One JSON line of a log, with the escapes of a library that fears HTML."""
    plain = json.dumps(
        {"level": "ERROR", "logger": "MicroBatchExecution", "message": text + "\n\tat a.b.C.d(C.scala:1)"}
    )
    return plain.replace("'", "\\u0027").replace("<", "\\u003c").replace("=", "\\u003d")


def notebook(text: str) -> str:
    """The frame of a notebook of Databricks."""
    return (
        "-" * 75 + "\nStreamingQueryException                   Traceback (most recent call last)\n"
        "File <command-3414867>:5\n      1 query = (df.writeStream\n----> 5 query.awaitTermination())\n\n"
        "File /databricks/spark/python/pyspark/sql/streaming/query.py:224, in StreamingQuery.awaitTermination(self)\n"
        "    223     return self._jsq.awaitTermination()\n\n" + text
    )


def driver_log(text: str) -> str:
    """In the middle of a log of the driver."""
    noise = "26/05/01 10:11:11 INFO BlockManagerInfo: Removed broadcast_41_piece0 on node:43117 in memory\n"
    return noise * 200 + each_line("26/05/01 10:11:12 ERROR MicroBatchExecution: ")(text) + "\n" + noise * 200


SHAPES: dict[str, Callable[[str], str]] = {
    "whole": lambda text: text,
    "log4j": each_line("26/05/01 10:11:12 ERROR MicroBatchExecution: "),
    "log4j_iso": each_line(f"{AT}T10:11:12,123+0000 ERROR [stream execution thread] MicroBatchExecution - "),
    "airflow": each_line(f"[{AT}, 10:11:12 UTC] {{spark_submit.py:521}} INFO - "),
    "airflow_of_log4j": each_line(
        f"[{AT}T10:11:12.123+0000] {{spark_submit.py:571}} INFO - 26/05/01 10:11:12 ERROR MicroBatchExecution: "
    ),
    "kubernetes": each_line(f"{AT}T10:11:12.123456789Z stderr F "),
    "kubectl": each_line("[pod/orders-driver/spark-kubernetes-driver] "),
    "compose": each_line("spark-master-1  | "),
    "syslog": each_line("May  1 10:11:12 node-3 spark[812]: "),
    "sbt": each_line("[error] "),
    "mail": mail,
    "quoted": each_line("> "),
    "indented": each_line("        "),
    "terminal": terminal,
    "json": lambda text: json.dumps({"level": "ERROR", "exception": text + "\n\tat a.b.C.d(C.scala:1)"}),
    "gson": gson,
    "repr": lambda text: repr(text + "\n\tat a.b.C.d(C.scala:1)"),
    "html": html.escape,
    "typographic": lambda text: text.replace("'", "\u2019").replace("`", "\u2018"),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "notebook": notebook,
    "driver_log": driver_log,
    "fenced": lambda text: f"We see this since Monday, any idea?\n```\n{text}\n```\nThanks!",
    "no_break_space": lambda text: text.replace(" ", "\u00a0"),
}


def test_there_are_enough_texts_and_each_says_where_it_is_from() -> None:
    found = posted()
    assert len(found) >= 90
    assert all(origin and text for _, origin, text in found)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_posted_text_is_recognised_in_every_shape(shape: str) -> None:
    wrong = {}
    for name, origin, text in posted():
        found = explain(SHAPES[shape](text)).name
        if found is None or meaning_of(found) is not meaning_of(name):
            wrong[f"{name} ({origin})"] = found
    assert wrong == {}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_real_text_of_spark_is_recognised_in_every_shape(shape: str) -> None:
    wrong = {}
    for fixture, name in EXPECTED.items():
        found = recognise(read_pasted(SHAPES[shape](text_of(fixture))))
        if not found or found[0].name != name:
            wrong[fixture] = found[0].name if found else None
    assert wrong == {}


SAYS_LESS = {"KAFKA_POSITION_OUT_OF_RANGE"}
"""General ones that are no prefix of the name of the whole: the bare cause, which asks for the rest."""


@pytest.mark.parametrize("length", [200, 500, 1_500, 4_000])
def test_a_cut_text_is_never_taken_for_another_fault(length: int) -> None:
    """The beginning of a trace says less, never something else: what is recognised is among the errors of the
    whole text, or a general one."""
    wrong = {}
    texts = {**{name: text_of(name) for name in EXPECTED}, **{origin: text for _, origin, text in posted()}}
    for key, text in texts.items():
        whole = {item.name for item in recognise(read_pasted(text))}
        for item in recognise(read_pasted(text[:length])):
            if item.name not in whole | SAYS_LESS and not any(
                name.startswith(item.name + ".") for name in whole
            ):
                wrong[key] = item.name
    assert wrong == {}


@pytest.mark.parametrize("name", sorted({name for name, _, _ in posted()}))
def test_every_expected_name_has_a_meaning_of_its_own(name: str) -> None:
    assert is_known(name) or meaning_of(name).weight > GENERAL or name.startswith("CF_")


def test_what_is_put_in_front_of_lines_does_not_move_their_numbers() -> None:
    text = each_line("> ")("one\ntwo\njava.lang.IllegalStateException: batch 1 doesn't exist")
    assert explain(text).line == 3
