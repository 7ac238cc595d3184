"""The incident report: the sentences of the judgement, as Markdown, as one HTML file and as a chat message;
nothing in a checkpoint becomes markup, and no secret gets in."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.cli import main
from core.incident import Beside, is_address, report, take, to_chat, to_html, to_markdown
from core.incident.batch_marks import newest_marks
from core.incident.report_markdown import CHAT_LINES, escaped, fenced
from core.incident.secrets import without_secrets
from core.judgement import judge
from core.recovery import Answers
from core.storage import Door, parse_location
from tests.support.build import (
    CONF_4_3,
    QUERY_ID,
    SAMPLES,
    commit_text,
    copy_sample,
    offset_text,
    sample_names,
    write,
)

NASTY = (
    "<script>alert(1)</script> `tick` ``` | pipe | [x](javascript:alert(1)) ![i](http://evil.example/x.png) *b* _i_ "
    "<!-- --> &lt;b&gt; # head @everyone http://evil.example www.evil.example \u202egnp.exe"
)


def made(place: Path, beside: Beside | None = None) -> Any:
    return report(judge(Checkpoint.open(str(place))), beside)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main([*arguments])
    output = capsys.readouterr()
    return status, output.out, output.err


class Tags(HTMLParser):
    """What a browser would make of a report: its tags, the addresses in them, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


ALLOWED = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "div",
        "p",
        "section",
        "ul",
        "li",
    ),
    *("small", "svg", "g", "circle", "path", "rect", "span", "dl", "dt", "dd", "a", "pre"),
}


def assert_harmless(page: str) -> Tags:
    found = Tags(page)
    assert set(found.tags) <= ALLOWED
    names = {name for name, _ in found.attributes}
    assert not {
        name for name in names if name.startswith("on") or name in ("src", "srcset", "action", "background")
    }
    for name, value in found.attributes:
        if name == "href":
            assert value.startswith(("http://", "https://"))
        assert "javascript:" not in value or name in ("aria-label",)
    assert not re.search(r"url\(|@import", page[: page.index("</style>")])
    return found


@pytest.mark.parametrize("name", sample_names())
def test_every_report_says_what_the_forecast_and_the_findings_say(name: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"))
    judgement = judge(ck)
    said = report(judgement)
    page, markdown, chat = assert_harmless(to_html(said)), to_markdown(said), to_chat(said)
    shown = " ".join(page.text.split())
    forecast = judgement.forecast
    assert said.sentence == " ".join(forecast.sentence.split())
    assert said.sentence in shown and escaped(said.sentence) in markdown
    assert forecast.certainty.replace("_", " ").split()[0] in said.proof.text
    assert all(str(item) in said.proof.text for item in forecast.evidence[:2])
    for item in judgement.findings.findings[:12]:
        assert item.id in shown and item.id in markdown.replace("\\", "")
    for part in forecast.not_checked:
        assert " ".join(part.split())[1:] in shown
    assert len(chat.splitlines()) <= CHAT_LINES
    assert name in chat.replace("\\", "")


def test_the_start_position_is_there_to_paste() -> None:
    said = made(SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint")
    line = """.option('startingOffsets', '{"orders":{"0":224,"1":184,"2":133},"refunds":{"0":69,"1":54,"2":40}}')"""
    assert line in to_markdown(said).splitlines()
    assert line in to_chat(said).splitlines()
    assert line in Tags(to_html(said)).text


def test_the_picture_shows_each_batch_of_the_window(tmp_path: Path) -> None:
    root = copy_sample("files-stopped-cleanly", tmp_path)
    batches = Checkpoint.open(str(root)).offset_ids
    (root / "commits" / str(batches[-1])).unlink()
    (root / "commits" / f".{batches[-1]}.crc").unlink(missing_ok=True)
    (root / "commits" / str(batches[1])).unlink()
    for log in ("offsets", "commits"):
        (root / log / str(batches[2])).unlink()
    marks = newest_marks(Checkpoint.open(str(root)))
    assert {mark.first: mark.status for mark in marks.marks if mark.status != "committed"} == {
        batches[1]: "missing_commit",
        batches[2]: "absent",
        batches[-1]: "pending",
    }
    page = to_html(made(root))
    assert page.count('class="diamond"') == 2  # the mark and its legend
    assert "✕" in to_markdown(made(root)) and "◇" in to_markdown(made(root))


def nasty_checkpoint(root: Path) -> Path:
    """A Kafka query whose topic, settings and stray files are markup, with a batch that is not committed."""
    topic = NASTY.replace("/", "_")
    files: dict[str, str | bytes] = {
        "metadata": json.dumps({"id": QUERY_ID}),
        "sources/0/0": b"\0v1\n" + json.dumps({topic: {"0": 0}}).encode(),
    }
    for batch in range(4):
        files[f"offsets/{batch}"] = offset_text(
            [json.dumps({topic: {"0": 10 * batch}})],
            conf=CONF_4_3 | {NASTY: NASTY},
            timestamp_ms=1_795_176_000_000 + batch * 9_000,
        )
        if batch < 3:
            files[f"commits/{batch}"] = commit_text()
    return write(root, files)


@pytest.mark.parametrize("broken", [False, True])
def test_nothing_in_a_checkpoint_becomes_markup(tmp_path: Path, broken: bool) -> None:
    root = nasty_checkpoint(tmp_path / NASTY.replace("/", "_").replace("\u202e", ""))
    if broken:
        (root / "offsets" / "3").write_text(f'v1\n{{"{NASTY}": \n{NASTY}')
    said = made(root)
    page = to_html(said)
    found = assert_harmless(page)
    assert "script" in found.text, "the nasty text is not in the report, so this test proved nothing"
    assert "a" not in found.tags  # no link was given, so there is none
    for text in (to_markdown(said), to_chat(said)):
        outside = re.sub(r"(?ms)^(`{3,})[a-z]*\n.*?^\1$", "", text)
        assert "script" in text
        plain = re.sub(r"\\.", "", outside)  # without what is escaped
        for sign in ("<", "[", "]", "`", "|", "~", "!["):
            assert sign not in plain, sign
        assert "http://" not in plain and "www." not in plain and "@e" not in plain
        assert "\u202e" not in text
    assert len(to_chat(said).splitlines()) <= CHAT_LINES


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a_b c", "a_b c"),
        ("_a_ *b*", r"\_a\_ \*b\*"),
        ("# head", r"\# head"),
        ("- item", r"\- item"),
        ("<b>&amp;`x`|", r"\<b\>\&amp;\`x\`\|"),
        (r"back\slash", r"back\\slash"),
        ("see http://x.y", r"see http\://x.y"),
        ("s3://bucket/ck", "s3://bucket/ck"),
    ],
)
def test_text_is_shown_as_it_is(text: str, markdown: str) -> None:
    assert escaped(text) == markdown


def test_a_code_block_is_not_closed_by_what_is_in_it() -> None:
    assert fenced("a\n````\nb")[0] == "`````"


SECRET = "hunter2-very-secret"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"s3://key:{SECRET}@bucket/ck is gone", "s3://bucket/ck is gone"),
        (
            f"abfss://c@acc.dfs.core.windows.net/x?sv=1&sig={SECRET}&se=2",
            "abfss://acc.dfs.core.windows.net/x?sv=1&sig=***&se=2",
        ),
        (f'username="u" password="{SECRET}";', 'username="u" password="***";'),
        (f"fs.s3a.secret.key={SECRET} region=eu", "fs.s3a.secret.key=*** region=eu"),
        (f"X-Amz-Security-Token={SECRET}&a=b", "X-Amz-Security-Token=***&a=b"),
        ("offsets/7 has no commits/7", "offsets/7 has no commits/7"),
        ('{"orders":{"0":224}}', '{"orders":{"0":224}}'),
    ],
)
def test_secrets_are_taken_out(text: str, clean: str) -> None:
    assert without_secrets((text,), ()) == (clean,)


def test_no_secret_of_a_location_or_a_link_is_in_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy_sample("kafka-pipeline-died-mid-batch", tmp_path / SECRET)
    place = parse_location(
        str(root), {"secret": SECRET, "client_kwargs": {"endpoint": f"http://u:{SECRET}@h"}}
    )
    judgement = judge(Checkpoint.open(place))
    said = report(judgement, Beside(link=f"https://me:{SECRET}@host/overview?ck=a&token={SECRET}"))
    for text in (to_markdown(said), to_html(said), to_chat(said)):
        assert SECRET not in text
    assert said.link == "https://host/overview?ck=a&token=***"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "ftp://x", "http://x/ a", 'http://x/"', "http://x/>", "http://x/\n", ""]
)
def test_only_a_plain_web_address_is_a_link(link: str) -> None:
    assert not is_address(link)


def test_the_verb_writes_a_file_and_never_into_the_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = copy_sample("missing-delta-file", tmp_path)
    file = tmp_path / "incident.html"
    status, out, err = run(
        capsys, "report", str(root), "--to", str(file), "--link", "https://h/overview?ck=x"
    )
    assert (status, err) == (1, "")
    assert out.startswith(str(file)) and "fails in batch 10" in out
    assert '<a href="https://h/overview?ck=x"' in file.read_text()
    assert run(capsys, "report", str(root), "--to", str(file))[0] == 2  # it exists
    assert run(capsys, "report", str(root), "--to", str(file), "--overwrite")[0] == 1
    assert run(capsys, "report", str(root), "--to", str(root / "r.md"))[0] == 2
    assert main(["report", str(root), "--to", str(tmp_path / "r.txt")]) == 2
    assert "ends in .md or .html, not" in capsys.readouterr().err
    assert run(capsys, "report", str(root), "--format", "html", "--to", str(tmp_path / "r.md"))[0] == 2
    assert run(capsys, "report", str(root), "--link", "javascript:alert(1)")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        {root.parts[len(tmp_path.parts)], "incident.html"}
    )


def test_a_report_of_evidence_says_as_of_when_and_names_its_checksum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = SAMPLES / "kafka-pipeline-died-mid-batch" / "checkpoint"
    file = tmp_path / "taken.zip"
    taken = take(Door.open(str(place)), file)
    for arguments in ([str(file)], [str(place), "--evidence", str(file)]):
        for form in ("markdown", "html", "chat"):
            status, out, err = run(capsys, "report", *arguments, "--format", form)
            assert (status, err) == (0, "")
            assert taken.sha256 in out
            assert ("As of " in out) == (arguments == [str(file)])
    status, out, _ = run(capsys, "report", str(file), "--json")
    answer = json.loads(out)
    assert (answer["evidence_sha256"], answer["is_evidence"]) == (taken.sha256, True)
    assert answer["moment_ms"] == taken.manifest.moment_ms
    other = str(SAMPLES / "files-died-mid-batch" / "checkpoint")
    status, out, err = run(capsys, "report", other, "--evidence", str(file))
    assert (status, out) == (2, "") and "of another checkpoint" in err


def test_sink_and_source_are_asked_as_for_the_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    place = SAMPLES / "delta-batch-already-in-table"
    ends = ["--sink", str(place / "sink"), "--source", f"0={place / 'source'}"]
    checkpoint = str(place / "checkpoint")
    _, alone, _ = run(capsys, "report", checkpoint, "--json")
    _, asked, _ = run(capsys, "report", checkpoint, *ends, "--json")
    _, forecast, _ = run(capsys, "forecast", checkpoint, *ends, "--json")
    assert json.loads(asked)["sentence"] == json.loads(forecast)["sentence"] != json.loads(alone)["sentence"]
    facts = {fact["label"]: fact["value"] for fact in json.loads(asked)["facts"]}
    assert facts["Asked beside the checkpoint"] == "source 0 and the sink"


def test_what_could_not_be_read_is_named_and_nothing_is_added_to_the_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = copy_sample("files-died-mid-batch", tmp_path)
    target = root / "offsets" / "6"
    target.unlink()
    target.symlink_to("6")  # a loop: listed, and cannot be read
    status, out, _ = run(capsys, "report", str(root), "--format", "html")
    assert out.rstrip().endswith("</html>")
    assert status in (1, 10)


def test_answers_given_beside_it_decide_what_to_do_and_are_named() -> None:
    place = SAMPLES / "missing-delta-file" / "checkpoint"
    given = Beside(
        answers=Answers({"sink": "kafka", "stateful": "unchanged", "what_happened": "batch_fails"})
    )
    for text in (to_chat(made(place, given)), to_markdown(made(place, given))):
        assert "Reset the checkpoint and continue incrementally" in text and "depends on the sink" not in text
    named = "By the answers given on Recovery (sink: Kafka, stateful part: unchanged and what happened: batch fails)."
    assert named in to_html(made(place, given))
    assert "depends on the sink" in to_chat(made(place)) and "By the answers" not in to_html(made(place))


def test_many_files_that_are_left_out_for_one_reason_are_one_line(tmp_path: Path) -> None:
    sent = take(
        Door.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint")), tmp_path / "sent.zip"
    ).path
    made = report(judge(Checkpoint.open(str(sent)), level="deep"))
    parts = next(each for each in made.rest if each.title == "Not checked").blocks
    alike = [part.text for part in parts if "state/0/0/1.changelog is the first of them" in part.text]  # type: ignore[union-attr]
    assert len(alike) == 1 and "state files, " in alike[0]
    assert made.not_checked == len(parts) < 20
