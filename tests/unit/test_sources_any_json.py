"""Whatever stands in an offset line, every kind answers without an exception, and some kind takes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.checkpoint.sources.base import SourceContext
from core.checkpoint.sources.registry import KINDS, kind_of, parse

pytestmark = pytest.mark.slow

# Field names of real offsets, so that half-right forms come up often.
FIELDS = """
    orders 0 1 offset timestamp logOffset reservoirId reservoirVersion tableId tableVersion index isStartingVersion seqNum
    sourceVersion fetchEpoch lastInputPath snapshot_id position scan_all_files snapshotId scanSnapshot totalSplits
    commitTime metadata streamName iteratorType iteratorPosition isLast shard shardId lastSeqNum msBehindLatest version
    $timestamp t i _data id state offsets groupName value runTimeMs activeSourceName allSourceNames completedSourceNames
"""
NAMES = st.sampled_from(FIELDS.split())
TEXTS = (
    NAMES
    | st.text(max_size=12)
    | st.sampled_from(["spark.cosmos.changeFeed.offset.v1", "eyJWIjoxfQ==", "1543674099961-0", "00", "é"])
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 130)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXTS, inner, max_size=5),
    max_leaves=25,
)
CONTEXTS = st.builds(SourceContext, key=st.just("0"), initial=st.none() | TEXTS | VALUES.map(json.dumps))
INT64 = range(-(2**63), 2**63)


@settings(max_examples=400)
@given(start=st.none() | VALUES, end=VALUES, context=CONTEXTS)
def test_no_kind_raises_on_any_json(start: Any, end: Any, context: SourceContext) -> None:
    for kind in KINDS:
        kind.recognises(end)
        positions = kind.positions(end)
        assert all(type(value) is int and value in INT64 for value in positions.values())
        assert set(positions) <= set(kind.partitions(end))
        assert "\n" not in kind.describe(end)
        advance = kind.advance(start, end, context)
        assert advance.amount is None or advance.amount >= 0
        assert all(value is None or value >= 0 for value in advance.by_partition.values())
        kind.first_start(context)
        point = kind.resume(end, context)
        assert point.note
        assert point.options is None or all(isinstance(value, str) for value in point.options.values())
        assert not point.exact or point.options is not None


@settings(max_examples=400)
@given(value=VALUES, spaced=st.booleans(), context=st.none() | CONTEXTS)
def test_any_json_ends_as_a_kind_that_recognises_it(
    value: Any, spaced: bool, context: SourceContext | None
) -> None:
    text = json.dumps(value) if spaced else json.dumps(value, separators=(",", ":"))
    kind = kind_of([text, None], context)
    assert kind in KINDS
    if value != {}:
        assert kind.recognises(parse(text)) or kind.name == "file"


@settings(max_examples=200)
@given(text=st.text())
def test_any_text_ends_as_a_kind_and_is_kept_as_it_is_when_it_is_no_json(text: str) -> None:
    offset = parse(text)
    try:
        json.loads(text)
    except ValueError:
        assert offset == text
    assert kind_of([text]) in KINDS


@given(number=st.integers(min_value=10**15, max_value=10**60))
def test_integers_of_any_length_keep_all_their_digits(number: int) -> None:
    assert parse(f'{{"seq":{number}}}') == {"seq": number}


def test_deeply_nested_json_is_answered_too() -> None:
    for depth in (200, 900, 5000):
        text = "[" * depth + "1" + "]" * depth
        kind = kind_of([text, text])
        offset = parse(text)
        assert kind.describe(offset)
        kind.advance(offset, offset, SourceContext("0"))
        for each in KINDS:
            each.resume(offset, SourceContext("0"))
