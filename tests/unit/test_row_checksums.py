"""State rows with checksums under a Spark that does not know them: bytes of a base that 4.3 wrote, of which 3.5
refused one partition and read the other (tests/spark/cases: row_checksum)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analysis.forecast.row_checksums import looks_like_a_row
from tests.support.build import write
from tests.support.forecasting import files_checkpoint, said, stateful_conf, struct_schema, with_state
from tests.support.state_files import pack_lz4

KEY = bytes(8) + (3).to_bytes(8, "little")
# The checksum 8e81a99b has the bit of the second column set, f48d7e94 none of the two.
REFUSED = bytes.fromhex("8e81a99b00000000000000000100000000000000010000000000000000")[:28]
READ = bytes.fromhex("f48d7e94000000000000000001000000000000000000000000000000")[:28]
TYPES = ("long", "long")


def delta(value: bytes) -> bytes:
    size = len(KEY).to_bytes(4, "big"), len(value).to_bytes(4, "big")
    return pack_lz4(size[0] + KEY + size[1] + value + b"\xff\xff\xff\xff")


def test_a_bit_for_null_over_a_column_that_holds_something_is_no_row() -> None:
    assert not looks_like_a_row(bytes.fromhex("020000000000000000000000000000000100000000000000"), TYPES)
    assert looks_like_a_row(bytes.fromhex("020000000000000000000000000000000000000000000000"), TYPES)
    assert looks_like_a_row(bytes.fromhex("000000000000000007000000000000000100000000000000"), TYPES)
    assert not looks_like_a_row(bytes(16), TYPES)


def test_texts_must_lie_inside_the_row_and_small_numbers_be_small() -> None:
    text = bytes(8) + (16 << 32 | 3).to_bytes(8, "little") + b"abc".ljust(8, b"\0")
    assert looks_like_a_row(text, ("string",))
    assert not looks_like_a_row(text[:16], ("string",))
    assert not looks_like_a_row(bytes(8) + (1 << 40).to_bytes(8, "little"), ("integer",))
    assert looks_like_a_row(bytes(8) + (-5).to_bytes(8, "little", signed=True), ("decimal(10,2)",))


@pytest.mark.parametrize(("value", "outcome"), [(REFUSED, "fail"), (READ, "resume")])
def test_the_first_row_of_a_partition_decides(tmp_path: Path, value: bytes, outcome: str) -> None:
    conf = stateful_conf(**{"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"})
    with_state(files_checkpoint(tmp_path, conf=conf), range(1, 6))
    schema = struct_schema([("k", "string", True)], [("count", "long", False), ("sum", "long", True)])
    files = {f"state/0/{p}/{v}.delta": delta(READ) for p in range(2) for v in range(1, 6)}
    write(tmp_path, {**files, "state/0/0/_metadata/schema": schema, "state/0/1/1.delta": delta(value)})
    for spark in ("3.5", "4.0"):
        answer = said(tmp_path, spark)
        assert answer.outcome == outcome
    assert said(tmp_path, "4.3").outcome == "resume"
    if outcome == "fail":
        assert "state/0/1/1.delta" in said(tmp_path, "3.5").sentence
