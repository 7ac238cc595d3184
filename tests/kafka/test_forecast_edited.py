"""Forecast against fact for Kafka offsets that were edited by hand: what Spark's reader makes of the text,
and of positions that no query writes."""

from __future__ import annotations

import pytest

from tests.kafka.scene import Scene, Stage
from tests.kafka.test_forecast_proof import FALSE, FIRST, NONE, SINKS, Case, Change, compare
from tests.support import damage as d

TOPIC = "<topic>"  # in a text: the topic ``orders`` of the scene
EMPTY = {"null": "null", "empty": "{}", "no_partitions": '{"<topic>":{}}', "null_topic": '{"<topic>":null}'}
REFUSED = {
    "true": '{"<topic>":{"0":10,"1":true}}',
    "quoted": '{"<topic>":{"0":10,"1":"10"}}',
    "list": '{"<topic>":{"0":10,"1":[]}}',
    "topic_text": '{"<topic>":"10"}',
    "bom": '\ufeff{"<topic>":{"0":10,"1":10}}',
    "word": "latest",
    "spaced_partition": '{"<topic>":{"0":10," 1":10}}',
    "large_partition": '{"<topic>":{"0":10,"1":10,"2147483648":1}}',
}
TAKEN = {
    "signed_partition": '{"<topic>":{"0":10,"+1":10}}',
    "zeros": '{"<topic>":{"00":10,"01":10}}',
    "spaces": '  { "<topic>" : { "0" : 10 , "1" : 1e1 } }  ',
    "trailing": '{"<topic>":{"0":10,"1":10}} # by me',
    "wrapped": '{"<topic>":{"0":10,"1":18446744073709551626}}',
}


def edited(
    newest: str | None = None,
    before: str | None = None,
    *,
    first: str | None = None,
    pending: bool = False,
    expire: tuple[int, ...] = (),
    more: int = 3,
) -> Change:
    """Other texts in offsets/1, offsets/0 and sources/0/0; with ``first`` only batch 0 is planned. Then three
    more records, and the log start moves up."""

    def apply(s: Scene) -> None:
        if first is not None:
            d.without("offsets/1", "commits/0", "commits/1")(s.checkpoint)
            path = s.checkpoint / "sources" / "0" / "0"
            d.rewrite(path, b"\0v1\n" + first.replace(TOPIC, s.topic("orders")).encode())
        for name, text in (("offsets/1", newest), ("offsets/0", before)):
            if text is not None:
                d.changed(name, d.line(3, text.replace(TOPIC, s.topic("orders"))))(s.checkpoint)
        if pending:
            s.pend()
        s.fill("orders", more)
        if expire:
            s.expire("orders", dict(enumerate(expire)))

    return apply


def added(newest: str) -> Change:
    """The topic has got a third partition, and the planned batch is the first to have a position of it."""

    def apply(s: Scene) -> None:
        s.add_partitions("orders", 3)
        edited(newest, pending=True)(s)

    return apply


def of(zero: int, one: int, more: str = "") -> str:
    return f'{{"<topic>":{{"0":{zero},"1":{one}{more}}}}}'


PLAN_LEFT, GONE, UNREADABLE = "FAILED_PLAN_LEFT", "KAFKA_PARTITIONS_GONE", "SOURCE_OFFSET_UNREADABLE"
EXPIRED = "KAFKA_RECORDS_EXPIRED"
CASES = [
    *(Case(f"edited_committed_{name}", edited(text)) for name, text in EMPTY.items()),
    *(Case(f"edited_before_{name}", edited(None, text)) for name, text in EMPTY.items()),
    *(
        Case(f"edited_pending_{name}", edited(text, pending=True), FIRST, reason=PLAN_LEFT)
        for name, text in EMPTY.items()
    ),
    *(
        Case(f"edited_start_{name}", edited(None, text, pending=True), FIRST, unknown=("append",))
        for name, text in EMPTY.items()
    ),
    *(Case(f"edited_committed_{name}", edited(text), reason=UNREADABLE) for name, text in REFUSED.items()),
    *(
        Case(f"edited_start_{name}", edited(None, text, pending=True), FIRST, reason=UNREADABLE)
        for name, text in REFUSED.items()
    ),
    *(Case(f"edited_committed_{name}", edited(text)) for name, text in TAKEN.items()),
    Case("edited_null_expired", edited("null", expire=(3, 3)), reason="KAFKA_NEW_PARTITION_LATE"),
    Case("edited_null_expired_allowed", edited("null", expire=(3, 3)), options=FALSE),
    Case("edited_earliest_expired", edited(of(10, -2), expire=(0, 12))),
    # set back by hand, and the log start has moved: committed to 4 where the sink has up to 10
    Case("edited_back_expired", edited(of(4, 4), expire=(10, 10)), lost=12, reason=EXPIRED),
    *(
        Case(
            f"edited_back_{name}_allowed", edited(text, expire=at), options=FALSE, lost=lost, missing=missing
        )
        for name, text, at, lost, missing in (
            ("expired", of(4, 4), (10, 10), 12, 0),
            ("expired_further", of(4, 4), (12, 10), 14, 2),
            ("below_expired", of(0, 10), (4, 4), 4, 0),
        )
    ),
    # the plan of batch 0, and sources/0/0
    Case("edited_first_nothing", edited(None, of(4, 4), first="{}"), NONE),
    *(
        Case(f"edited_first_{name}", edited(None, of(4, 4), first=text), NONE, reason="SOURCE_START_LOST")
        for name, text in (("true", '{"<topic>":{"0":true}}'), ("cut", '{"<topic>":{"0":4'))
    ),
    Case("edited_first_plan_empty", edited(None, "{}", first=of(0, 0)), NONE, reason=PLAN_LEFT),
    Case("edited_first_beyond", edited(None, of(4, 4), first=of(4, 20)), NONE, reason=PLAN_LEFT),
    Case("edited_first_gone", edited(None, of(4, 4), first=of(0, 0, ',"2":0')), NONE, reason=PLAN_LEFT),
    # twice in one text
    Case("edited_twice_lower", edited('{"<topic>":{"0":10,"1":10,"1":4}}')),
    Case("edited_twice_higher", edited('{"<topic>":{"0":10,"1":4,"1":10}}')),
    Case("edited_twice_signed", edited('{"<topic>":{"0":10,"1":10,"01":6}}')),
    Case("edited_topic_twice", edited('{"<topic>":{"0":10},"<topic>":{"1":10}}')),
    # a partition, or a topic, that is not there
    Case("edited_plan_new", edited(of(10, 10, ',"2":5'), pending=True), FIRST, reason=GONE),
    Case("edited_plan_new_at_0", edited(of(10, 10, ',"2":0'), pending=True), FIRST, reason=GONE),
    Case(
        "edited_plan_new_allowed",
        edited(of(10, 10, ',"2":5'), pending=True),
        FIRST,
        options=FALSE,
        unknown=SINKS,
    ),
    Case("edited_plan_new_short", added(of(10, 10, ',"2":20')), FIRST, reason="KAFKA_TOPIC_RECREATED"),
    *(
        Case(
            f"edited_plan_new_topic_absent_{name}",
            edited('{"<topic>":{"0":10,"1":10},"<topic>x":{"0":5}}', pending=True),
            FIRST,
            topics=("orders", "ordersx"),
            options=options,
            reason="KAFKA_TOPIC_GONE",
        )
        for name, options in (("refused", {}), ("allowed", FALSE))
    ),
    Case("edited_plan_renamed", edited('{"other":{"0":10,"1":10}}', pending=True), FIRST, reason=GONE),
    Case("edited_plan_new_and_lower", edited(of(10, 1, ',"2":5'), pending=True), FIRST, reason=GONE),
    Case("edited_plan_lower_and_gone", edited('{"<topic>":{"0":2}}', pending=True), FIRST, reason=PLAN_LEFT),
    # numbers below 0
    Case("edited_plan_latest", edited(of(10, -1), pending=True), FIRST, reason=PLAN_LEFT),
    Case(
        "edited_plan_latest_allowed",
        edited(of(10, -1), pending=True),
        FIRST,
        options=FALSE,
        unknown=SINKS,
    ),
    Case("edited_both_latest", edited(of(10, -1), of(4, -1), pending=True), {"orders": {0: 4, 1: 10}}),
    Case(
        "edited_new_latest",
        edited(of(10, -1), '{"<topic>":{"0":4}}', pending=True),
        FIRST,
        reason=PLAN_LEFT,
    ),
    Case("edited_start_latest", edited(None, of(4, -1), pending=True), FIRST, reason=UNREADABLE),
    Case(
        "edited_start_latest_allowed",
        edited(None, of(4, -1), pending=True),
        FIRST,
        options=FALSE,
        reason=UNREADABLE,
    ),
    Case("edited_start_earliest", edited(None, of(4, -2), pending=True), FIRST),
]


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_of_edited_offsets_the_forecast_says_what_spark_does(stage: Stage, case: Case) -> None:
    compare(stage, case)
