"""``inspect --all --json`` of a long log is written as it is read: the same bytes as in one piece, in bounded
memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli import main
from core.documents import inspect as inspect_documents
from core.sparklogs.json_text import is_counts, parse_counts, parse_json
from core.verbs import inspect as inspect_verb
from scripts.bench.large_checkpoint import Shape, write
from tests.support.build import (
    PROJECT,
    SAMPLES,
    commit_text,
    corpus_names,
    kafka_checkpoint,
    offset_text,
    sample_names,
    unpack_corpus,
)
from tests.support.build import write as write_files

_READ_AT = re.compile(r'"read_at":"[^"]*"')


def both(
    place: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, int, str]:
    """Exit status and answer, in one piece and in windows of some batches."""
    answers: list[int | str] = []
    for limit in (10**9, -1):
        monkeypatch.setattr(inspect_verb, "LONG_LOG", limit)
        monkeypatch.setattr(inspect_documents, "WINDOW", 7)
        answers.append(main(["inspect", str(place), "--all", "--json"]))
        answers.append(_READ_AT.sub('"read_at":""', capsysbinary.readouterr().out.decode()))
    one, text, other, pieces = answers
    assert isinstance(one, int) and isinstance(other, int)
    return one, str(text), other, str(pieces)


@pytest.mark.parametrize("name", sample_names())
def test_samples(
    name: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, text, other, pieces = both(SAMPLES / name / "checkpoint", capsysbinary, monkeypatch)
    assert (one, text) == (other, pieces) and text


@pytest.mark.parametrize("name", corpus_names())
def test_corpus(
    name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, text, other, pieces = both(unpack_corpus(name, tmp_path), capsysbinary, monkeypatch)
    assert (one, text) == (other, pieces)


def test_offsets_of_every_form_and_damage_are_the_same(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = kafka_checkpoint(tmp_path, range(40))
    big, name = 10**30, 't\\u00e9 \\ud83d\\ude00 \\u007f \\\\ \\" \\n'
    offsets = [
        f'{{"{name}":{{"0":1,"1":2}}}}',
        f'{{ "a": {{"0": {big}}} }}',
        '{"a":{"0":1.50,"1":1e22}}',
        '{"a":{"0":1},"a":{"0":2}}',
        '{"a":{}}',
        "{}",
        '{"a":{"0":true}}',
        '{"a":{"0":18446744073709551615}}',
        '"text"',
        "-",
        "17",
        '{"broken":',
    ]
    files: dict[str, str | bytes] = {
        f"offsets/{40 + at}": offset_text([text]) for at, text in enumerate(offsets)
    }
    files |= {f"commits/{40 + at}": commit_text() for at in range(0, len(offsets), 2)}
    files |= {"offsets/20": "v1\n", "commits/21": "", "commits/90": commit_text()}
    write_files(root, files)
    (root / "offsets" / "12").unlink()
    one, text, other, pieces = both(root, capsysbinary, monkeypatch)
    assert (one, text) == (other, pieces)
    batches = {batch["id"]: batch for batch in json.loads(text)["batches"]}
    assert batches[41]["sources"][0]["end"] == {"a": {"0": big}}


def test_the_short_way_of_reading_counts_reads_what_the_other_one_does() -> None:
    text = '{"a":{"0":1,"1":9223372036854775807}}'
    assert parse_counts(text) == json.loads(text) and is_counts(parse_json(text))
    for other in ("{}", '{"a":{}}', '{"a":1}', f'{{"a":{{"0":{10**20}}}}}', '{"a":{"0":true}}', "[1]", "{"):
        assert parse_counts(other) is None
    assert parse_json(f'{{"a":{{"0":{10**20}}}}}') == {"a": {"0": 10**20}}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """20,000 batches of 100 partitions: 65 MB of JSON, 570 MB of memory in one piece."""
    write(tmp_path / "ck", Shape(batches=20_000, partitions=0, topic_partitions=100))
    program = (
        "import sys; from core.cli import main; status = main(['inspect', sys.argv[1], '--all', '--json']);"
        # Not ru_maxrss: that begins with the size of the process that started this one.
        " peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')][0];"
        " print(int(peak.split()[1]) // 1024, file=sys.stderr)"
    )
    with (tmp_path / "answer.json").open("wb") as out:
        run = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "ck")],
            cwd=PROJECT,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    assert int(run.stderr.split()[-1]) <= 150
    assert (tmp_path / "answer.json").stat().st_size > 60_000_000
