"""One row per checkpoint, and the verb that shows many of them."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.analysis.findings.practice_checks import is_temporary_place
from core.checkpoint import Checkpoint
from core.checkpoint.recovery_copies import recovery_copy
from core.cli import main
from core.judgement import judge
from core.recovery import Answers
from core.recovery.places import beside
from core.recovery.repairs import REPAIRS
from core.settings import DEFAULTS, Settings
from core.storage import Location
from core.storage.checkpoint_search import Search
from core.survey import Survey, SurveyRow, attention, search_root, survey_places, survey_row
from tests.support.build import PROJECT, kafka_checkpoint

SAMPLES = PROJECT / "sample_checkpoints"
EXPECTED = {
    "missing-delta-file": ("fails", 10, "STATE_NOT_RESTORABLE"),
    "kafka-pipeline-died-mid-batch": ("reruns", 8, "BATCH_PENDING_LONG"),
    "files-stopped-cleanly": ("resumes", 14, None),
    "windowed-aggregation-hot-partition": ("resumes", 10, "STATE_SKEWED"),
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_row_says_what_forecast_check_and_size_say(name: str) -> None:
    place = str(SAMPLES / name / "checkpoint")
    row, judgement = survey_row(place), judge(Checkpoint.open(place))
    assert (row.status, row.next_batch, row.worst_finding) == EXPECTED[name]
    assert row.sentence == judgement.forecast.sentence and row.certainty == judgement.forecast.certainty
    assert row.findings["blocks_restart"] == sum(
        finding.severity == "blocks_restart" for finding in judgement.findings.findings
    )
    size = judgement.size
    assert row.log_bytes == size.logs.size_bytes
    assert row.state_bytes == (size.state.size_bytes if size.state is not None else 0)
    assert row.age_seconds is not None and row.age_seconds > 0 and row.written_by is not None
    assert pickle.loads(pickle.dumps(row)) == row


def test_the_skew_and_the_lag_are_those_of_state_and_watermark() -> None:
    row = survey_row(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"))
    assert row.state_skew is not None and row.state_skew >= DEFAULTS.skew_ratio
    assert row.watermark_lag_ms is not None and row.watermark_lag_ms > 0
    stateless = survey_row(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    assert (stateless.operators, stateless.state_bytes, stateless.state_skew) == (0, 0, None)
    quick = survey_row(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"), level="quick")
    assert (quick.state_bytes, quick.state_skew, quick.operators) == (None, None, None)


def test_a_copy_is_as_old_as_its_log_and_not_as_its_files(tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", tmp_path / "ck")
    now = time.time()
    for log, later in (("offsets", 0), ("commits", 5)):
        for file in (place / log).iterdir():
            os.utime(file, (now + later, now + later))
    row = survey_row(str(place))
    assert row.age_seconds is not None and row.age_seconds > 3600 and row.median_duration_ms is None


def test_an_error_is_a_row_and_no_damage(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "readme.txt").write_text("nothing")
    for place in (tmp_path / "plain", tmp_path / "gone"):
        row = survey_row(str(place))
        assert row.status == "unreadable" and row.error == row.sentence and not row.has_problems
    assert survey_row("s3:/one-slash").status == "unreadable"


def test_what_the_next_start_needs_and_could_not_be_read_leaves_it_open(tmp_path: Path) -> None:
    place = kafka_checkpoint(tmp_path / "ck", range(3))
    (place / "offsets" / "2").rename(tmp_path / "offsets-2")
    (place / "offsets" / "2").symlink_to(tmp_path / "offsets-2")  # a server does not follow it
    row = survey_row(str(place), Settings(address="10.0.0.1", roots={}))
    assert row.status == "unknown" and row.not_read == ("offsets/2",) and row.certainty == "needs_input"


def test_a_checkpoint_that_takes_too_long_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(kafka_checkpoint(tmp_path, range(3)))
    slow = Checkpoint.load
    monkeypatch.setattr(Checkpoint, "load", lambda self, ids: (time.sleep(5), slow(self, ids))[1])
    row = survey_row(place, DEFAULTS.model_copy(update={"survey_seconds": 0.1}))
    assert row.status == "unreadable" and row.error is not None and "survey_seconds" in row.error
    assert row.seconds < 5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("orders.backup-batch-4", "backup of a recovery, not used"),
        ("orders.before-refresh-batch-4", "put aside by a recovery, not used"),
        ("orders.rewound-to-batch-2.preparing", "unfinished copy of a recovery, not used"),
    ],
)
def test_what_a_recovery_left_behind_stands_last_and_says_what_it_is(
    tmp_path: Path, name: str, words: str
) -> None:
    place = kafka_checkpoint(tmp_path / name, range(5))
    (place / "offsets" / "4").write_text("")
    plain = survey_row(str(shutil.copytree(place, tmp_path / "orders")))
    row = survey_row(str(place))
    assert plain.status != "unused" and plain.has_problems
    assert (row.status, str(row.next_start), row.has_problems) == ("unused", words, False)
    assert str(row.no_finding) == "not counted" and row.worst_finding is None
    assert row.sentence.startswith(f"By its name: {words}.") and plain.sentence in row.sentence
    assert sorted([plain, row], key=attention) == [plain, row]


@pytest.mark.parametrize(
    "name", ["orders.backup-batch-3", "orders.rewound-to-batch-2", "backup-batch-4", "jobs.preparing"]
)
def test_what_a_query_runs_on_is_no_copy_of_a_recovery(tmp_path: Path, name: str) -> None:
    """A batch after the one in the name, a checkpoint that was made to be started, names of their own."""
    assert survey_row(str(kafka_checkpoint(tmp_path / name, range(5)))).status == "resumes"


def test_the_copies_of_every_repair_are_known_while_they_are_unfinished() -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"))
    context = judge(ck).recovery(Answers({}))
    for repair in REPAIRS.values():
        assert recovery_copy(f"/data/orders.{repair.suffix(context)}.preparing", None) == "unfinished"
    for what in ("reset-after-batch", "refresh-after-batch"):
        made = beside(context, "pyspark", what)
        assert made and recovery_copy(f"{made}.preparing", None) == "unfinished"
    for what, kind in (("backup-batch", "backup"), ("before-refresh-batch", "put_aside")):
        made = beside(context, "pyspark", what)
        assert made and recovery_copy(made, ck.last_committed_batch) == kind


def test_temporary_places_are_marked(tmp_path: Path) -> None:
    name = "temporary-0a1b2c3d-1111-2222-3333-444455556666"
    place = tmp_path / name
    shutil.copytree(kafka_checkpoint(tmp_path / "ck", range(2)), place)
    assert survey_row(str(place)).is_temporary
    sample = survey_row(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    assert sample.is_temporary == is_temporary_place(str(SAMPLES)), "a clone may lie in /tmp"
    assert not is_temporary_place("/data/files-stopped-cleanly/checkpoint")


def test_what_needs_attention_comes_first() -> None:
    def row(path: str, status: str, **found: int) -> SurveyRow:
        return SurveyRow("", "r", path, status, "", 0, findings=found)  # type: ignore[arg-type]

    rows = [
        row("g", "resumes"),
        row("f", "resumes", attention=1),
        row("e", "reruns"),
        row("d", "unreadable"),
        row("c", "resumes", data_risk=1),
        row("b", "fails", blocks_restart=1),
        row("a", "resumes"),
    ]
    assert [each.path for each in sorted(rows, key=attention)] == ["b", "c", "d", "e", "f", "a", "g"]


def test_who_stops_taking_rows_stops_the_reading() -> None:
    places = search_root(str(SAMPLES), DEFAULTS).places
    rows = survey_places(places, DEFAULTS.model_copy(update={"survey_at_once": 1}))
    first = next(rows)
    rows.close()
    assert first.root and first.path.endswith("checkpoint")
    assert search_root(str(SAMPLES / "nothing"), DEFAULTS).error is not None


@pytest.fixture
def two(tmp_path: Path) -> Path:
    for name in ("files-stopped-cleanly", "missing-delta-file"):
        shutil.copytree(SAMPLES / name / "checkpoint", tmp_path / "team" / name)
    return tmp_path / "team"


def test_the_verb_lists_what_fails_first_and_ends_with_1(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["survey", str(two), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert [(row["path"], row["status"], row["next_batch"]) for row in answer["rows"]] == [
        ("missing-delta-file", "fails", 10),
        ("files-stopped-cleanly", "resumes", 14),
    ]
    assert answer["roots"] == [
        {
            "root": str(two),
            "location": str(two),
            "checkpoints": 2,
            "listed": 3,
            "is_complete": True,
            "skipped": [],
            "too_deep": 0,
            "error": None,
        }
    ]
    assert main(["survey", str(two)]) == 1
    text = capsys.readouterr().out
    assert text.startswith(f"2 checkpoints below {two}: 1 fails and 1 resumes.")
    assert "FAIL" in text and "fails in batch 10" in text and "STATE_NOT_RESTORABLE" in text


def test_the_verb_goes_on_past_a_name_with_a_line_break_and_says_what_lies_deeper(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (two / "odd" / "a\nb" / "offsets").mkdir(parents=True)
    (two / "1/2/3/4/5/offsets").mkdir(parents=True)
    assert main(["survey", str(two), "--json"]) == 1
    root = json.loads(capsys.readouterr().out)["roots"][0]
    assert (root["checkpoints"], root["error"]) == (2, None)
    assert (root["skipped"], root["too_deep"], root["is_complete"]) == (["odd/a\nb"], 1, True)
    main(["survey", str(two)])
    text = capsys.readouterr().out
    assert r"1 checkpoint below" in text and r"odd/a\nb. Rename the directory" in text
    assert "1 directory more than 4 levels below" in text and "(setting checkpoint_levels)" in text
    assert "missing-delta-file" in text


def test_the_verb_ends_with_0_without_a_problem_and_with_10_without_an_answer(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = two / "files-stopped-cleanly"
    assert main(["survey", str(clean), str(two / "nothing")]) == 0  # one of the roots could be answered
    assert "Nothing found" in capsys.readouterr().out
    assert main(["survey", str(two / "nothing"), "--json"]) == 10
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == [] and answer["roots"][0]["error"] and answer["not_read"]
    (two / "plain").mkdir()
    assert main(["survey", str(two / "plain")]) == 10
    assert "No checkpoint was found up to 4 levels" in capsys.readouterr().err
    assert main(["survey"]) == 2


def test_a_checkpoint_below_two_roots_is_one_row(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["survey", str(two), str(two / "missing-delta-file"), "--level", "quick", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert sorted(row["location"] for row in rows) == [
        str(two / "files-stopped-cleanly"),
        str(two / "missing-delta-file"),
    ]


class _Held(Search):
    """A search that waits after the first place below a root of this name until it is let go."""

    name = ""
    let_go = threading.Event()

    def __init__(self, location: Location, settings: Settings) -> None:
        super().__init__(location, settings)
        self._is_held = location.url.endswith(self.name)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for at, path in enumerate(path for paths in super().__iter__() for path in paths):
            if at == 1 and self._is_held:
                assert self.let_go.wait(60), "rows waited for the end of the search"
            yield (path,)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> type[_Held]:
    monkeypatch.setattr("core.survey.search.Search", _Held)
    monkeypatch.setattr(_Held, "let_go", threading.Event())
    return _Held


def test_a_row_is_given_while_the_search_runs(two: Path, held: type[_Held]) -> None:
    held.name = "team"
    survey = Survey([str(two)], DEFAULTS)
    rows = iter(survey)
    assert next(rows).path == "files-stopped-cleanly" and survey.known == 1
    held.let_go.set()
    assert [row.path for row in rows] == ["missing-delta-file"] and survey.known == 2
    (found,) = survey.searched
    assert [place.path for place in found.places] == ["files-stopped-cleanly", "missing-delta-file"]


def test_a_checkpoint_that_two_roots_find_belongs_to_the_one_that_was_named_first(
    two: Path, tmp_path: Path, held: type[_Held]
) -> None:
    """Also while the search of that one is slower; what only the other can find does not wait for it."""
    shutil.copytree(two / "files-stopped-cleanly", tmp_path / "alone")
    held.name = "team"
    rows = iter(Survey([str(two), str(tmp_path)], DEFAULTS))
    first = [(row.root, row.path) for row in (next(rows), next(rows))]
    assert sorted(first) == [(str(tmp_path), "alone"), (str(two), "files-stopped-cleanly")]
    held.let_go.set()
    assert [(row.root, row.path) for row in rows] == [(str(two), "missing-delta-file")]
