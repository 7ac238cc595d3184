"""The short ways for what a long log holds 20,000 times say what the long ways say, and are taken."""

from __future__ import annotations

import json
import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint import logs
from core.checkpoint.conf import ConfPool
from core.checkpoint.logs import ParsedOffset, parse_commit, parse_offset
from core.checkpoint.model import FEW_SOURCES, OffsetEntry, SourceOffset
from core.sparklogs.evidence import Evidence
from core.sparklogs.json_text import is_compact, parse_counts
from tests.support.build import CONF_4_3

HEAD = '{"batchWatermarkMs":5,"batchTimestampMs":17,"conf":{"a":"b","c":"d"}}'
LINE = '{"topic-0":{"0":1,"1":2}}'
USUAL = f"v1\n{HEAD}\n{LINE}"

OFFSETS = [
    USUAL,
    f"{USUAL}\n{LINE}",
    f"v1\n{HEAD}\n-\n\n17\n{LINE}",  # a source without an offset, an empty line, a number
    f'v1\n{HEAD}\n{{"broken":\n{LINE}',
    f"v1\n{HEAD}\n{LINE}}}",
    *(USUAL + end for end in ("\n", "\n\n", " ", "\t", "\r\n", "\n-", "\n\u2028", "\0", "\n{}")),
    USUAL.replace("\n", "\r\n"),
    USUAL.replace("\n", "\r"),
    f"{USUAL}\r{LINE}",
    USUAL.replace("v1", "v2"),
    USUAL.replace("v1", "v01"),
    USUAL.replace("v1", " v1"),
    "\ufeff" + USUAL,
    *(USUAL.replace('Ms":5', f'Ms":{number}') for number in ("0", "-5", "05", "5.0", "null", '"5"', "true")),
    *(USUAL.replace(":17", f":{number}") for number in ("9" * 18, "1" + "0" * 18, "9" * 19, "9" * 30, "-0")),
    USUAL.replace('"c":"d"', '"c":"e"'),
    USUAL.replace('"c":"d"', '"c":"}"'),
    USUAL.replace("}}\n", '},"more":1}\n', 1),
    USUAL.replace("}}\n", '},"conf":{"a":"z"}}\n', 1),
    USUAL.replace("}}\n", '},"batchTimestampMs":18}\n', 1),
    USUAL.replace("}}\n", "}}}\n", 1),
    USUAL.replace("}}\n", "}} \n", 1),
    USUAL.replace("}}\n", "}\n", 1),
    f"v1\n{HEAD}",
    f"v1\n{HEAD}\n",
    f"v1\n\n{LINE}",
    "v1\n" + HEAD.replace(',"conf"', ', "conf"') + f"\n{LINE}",
    '{"batchWatermarkMs":5}',
    "",
    "v1",
]

COMMITS = [
    'v1\n{"nextBatchWatermarkMs":5}',
    *(f'v1\n{{"nextBatchWatermarkMs":5}}{end}' for end in ("\n", "\n\n", " ", "}", "x", "\r\n", "\0")),
    *(
        f'v1\n{{"nextBatchWatermarkMs":{number}}}'
        for number in ("0", "-5", "05", "5.0", "null", '"5"', "9" * 18, "1" + "0" * 18, "4" * 19, "9" * 30)
    ),
    'v2\n{"nextBatchWatermarkMs":5}',
    'v1\r\n{"nextBatchWatermarkMs":5}',
    'v1\n{"nextBatchWatermarkMs":5,"stateUniqueIds":{}}',
    'v1\n{"nextBatchWatermarkMs":5,"nextBatchWatermarkMs":6}',
    'v1\n{"nextBatchWatermarkMs": 5}',
    "v1\n{}",
    "v1",
    "",
]


def read_behind_a_usual_one(text: bytes) -> ParsedOffset:
    pool = ConfPool()
    parse_offset(USUAL.encode(), 1, "offsets/1", pool)
    return parse_offset(text, 2, "offsets/2", pool)


@pytest.mark.parametrize("text", [*(text.encode() for text in OFFSETS), USUAL.encode() + b"\xff}"])
def test_an_offset_file_is_read_the_same(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_behind_a_usual_one(text)
    monkeypatch.setattr(logs, "_usual_offset", lambda *_: None)
    assert found == read_behind_a_usual_one(text)


def test_the_short_way_is_taken_for_an_offset_file_of_spark() -> None:
    pool = ConfPool()
    text = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":17,"conf":{json.dumps(CONF_4_3)}}}\n{LINE}'
    assert logs._usual_offset(text.encode(), 1, "offsets/1", pool) is None  # the conf was never met
    first = parse_offset(text.encode(), 1, "offsets/1", pool)
    again = logs._usual_offset(text.replace(":17", ":18").encode(), 2, "offsets/2", pool)
    assert again is not None and again.entry is not None and first.entry is not None
    assert again.entry.conf is first.entry.conf and again.entry.timestamp_ms == 18
    parse_offset(USUAL.encode(), 3, "offsets/3", pool)
    assert logs._usual_offset(text.encode(), 4, "offsets/4", pool) is None  # another conf lies between


@pytest.mark.parametrize("text", COMMITS)
def test_a_commit_file_is_read_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse_commit(text.encode(), 2, "commits/2")
    is_usual = logs._USUAL_COMMIT.fullmatch(text.encode()) is not None
    monkeypatch.setattr(logs, "_USUAL_COMMIT", re.compile(rb"(?!)"))
    assert found == parse_commit(text.encode(), 2, "commits/2")
    assert is_usual == (text in (COMMITS[0], COMMITS[0].replace("5", "0"), COMMITS[0].replace("5", "9" * 18)))


NAMES = st.text(st.sampled_from('ab-:,{}[]"\\/ \n\t\x7fé\u2028\U0001f600'), max_size=4)
COUNTS = st.dictionaries(
    NAMES, st.dictionaries(NAMES, st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=3), min_size=1
)


@given(COUNTS, st.sampled_from([(",", ":"), (", ", ": "), (",\t", ":")]), st.booleans())
def test_what_is_called_compact_is_what_is_written(
    counts: dict[str, dict[str, int]], separators: tuple[str, str], is_ascii: bool
) -> None:
    text = json.dumps(counts, separators=separators, ensure_ascii=is_ascii)
    value = parse_counts(text)
    assert value == counts
    if is_compact(text, value):
        assert orjson.dumps(value).decode() == text


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"0":-0}}',
        '{"a-b":{"0":1,"1":-0}}',
        '{"a":{"0":1,"0":2}}',
        '{"a":{"0":1},"a":{"0":2}}',
        '{"a":{"0":1,"1":2},"a-":{"0":-0}}',
        '{"a":{"\\u0030":1}}',
        '{"a\\/b":{"0":1}}',
        *(f'{{"a":{{"0":1{space}}}}}' for space in " \n\r\t"),
    ],
)
def test_what_would_be_written_in_another_way_is_not_compact(text: str) -> None:
    value = parse_counts(text)
    assert value is not None and orjson.dumps(value).decode() != text
    assert not is_compact(text, value)


@pytest.mark.parametrize("text", [LINE, '{"t-0-é":{"0":9223372036854775807}}', '{"a":{"0":0},"b":{"0":1}}'])
def test_what_spark_writes_is_compact(text: str) -> None:
    value = parse_counts(text)
    assert value is not None and is_compact(text, value)


@pytest.mark.parametrize("count", [1, FEW_SOURCES, FEW_SOURCES + 1])
def test_the_first_line_of_a_key_counts_among_few_lines_and_many(count: int) -> None:
    keys = [str(at // 2) for at in range(count)]
    lines = tuple(SourceOffset(key, f"text {at}", Evidence("offsets/1")) for at, key in enumerate(keys))
    entry = OffsetEntry(1, 1, None, None, {}, lines, Evidence("offsets/1"), "")
    assert [entry.source(key) for key in keys] == [lines[keys.index(key)] for key in keys]
    assert entry.source("other") is None
