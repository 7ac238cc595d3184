"""Text from a checkpoint is hostile: it reaches the browser only where it is drawn as plain text."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pages.conftest import PAGES, OpenPage, assert_no_error, charts_of, elements, words_of
from tests.support.build import CONF_4_3, QUERY_ID, commit_text, copy_sample, offset_text, write
from tests.support.damage import rewrite

MARK = "evil.example"
TEXT = (
    f"![x](http://{MARK}/x.png) **bold** [link](http://{MARK}) <img src=http://{MARK}/y.png> <b>b</b> `c` $x$"
    " :red[y]"
)

PLAIN = {
    "text",
    "code",
    "arrow_data_frame",
    "dataframe",
    "selectbox",
    "text_input",
    "number_input",
    "download_button",
}
"""Elements that draw what they get as it is. Labels of buttons, boxes and messages are Markdown and must not
hold it."""


def hostile_checkpoint(root: Path) -> Path:
    """A Kafka query whose topic, settings, query id and stray files carry Markdown and HTML."""
    topic = TEXT.replace("/", "_")
    first = json.dumps({topic: {"0": 0, "1": 0}})
    files: dict[str, str | bytes] = {
        "metadata": json.dumps({"id": QUERY_ID}),
        "sources/0/0": b"\0v1\n" + first.encode(),
        "![x](leftover) <b>": "stray",
    }
    for batch in range(6):
        end = json.dumps({topic: {"0": 10 * batch, "1": 7 * batch}})
        conf = CONF_4_3 | {"spark.sql.shuffle.partitions": TEXT if batch > 3 else "4", TEXT: TEXT}
        files[f"offsets/{batch}"] = offset_text(
            [end, json.dumps({TEXT: TEXT})], conf=conf, timestamp_ms=1_795_176_000_000 + batch * 9_000
        )
        if batch < 5:
            files[f"commits/{batch}"] = commit_text()
    return write(root, files)


def assert_only_plain(at: object, where: str) -> None:
    for kind, proto in elements(at):  # type: ignore[arg-type]
        if proto is None or kind in PLAIN or kind == "plotly_chart":
            continue
        own = proto.DESCRIPTOR.name if hasattr(proto, "DESCRIPTOR") else ""
        if own in ("Block", "ForwardMsg"):
            continue
        shown = str(proto)
        if kind == "page_link":  # the address of the page it leads to, with everything encoded
            assert not set("<>[]()! *") & set(proto.query_string), (where, proto.query_string)
            shown = shown.replace(proto.query_string, "")
        assert MARK not in shown, (where, kind, str(proto)[:400])
    for chart in charts_of(at):  # type: ignore[arg-type]
        assert "<img" not in chart.spec and "<b>b" not in chart.spec and "href" not in chart.spec, where


def test_hostile_topics_and_settings_are_drawn_as_plain_text(open_page: OpenPage, tmp_path: Path) -> None:
    at = open_page("overview", hostile_checkpoint(tmp_path / "ck"))
    seen = False
    for page in PAGES:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert_only_plain(at, page)
        seen = seen or any(MARK in str(proto) for _, proto in elements(at) if proto is not None)
    assert seen, "the hostile text was not shown anywhere, so this test proved nothing"


def test_hostile_names_of_directories_are_drawn_as_plain_text(open_page: OpenPage, tmp_path: Path) -> None:
    place = tmp_path / f"![x](http:{MARK})<b>"
    place.mkdir()
    at = open_page("overview", copy_sample("dropduplicates-removed", place))
    for page in ("overview", "state", "recovery"):
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert_only_plain(at, page)


def test_hostile_content_of_a_broken_file_is_drawn_as_plain_text(open_page: OpenPage, tmp_path: Path) -> None:
    root = copy_sample("files-died-mid-batch", tmp_path)
    rewrite(root / "offsets" / "7", f'v1\n{{"{TEXT}": \n{TEXT}')
    at = open_page("timeline", root, batch="7")
    assert_no_error(at)
    assert_only_plain(at, "timeline")
    assert any(TEXT in code.value for code in at.code)


def test_no_page_uses_an_element_that_draws_markdown(open_page: OpenPage) -> None:
    """The sure way: apart from widget labels, which are constants, nothing on any page is Markdown."""
    at = open_page("checkpoints", "samples/files-died-mid-batch/checkpoint")
    for page in ("checkpoints", *PAGES):
        at = at.switch_page(f"pages/{page}.py").run()
        for kind in (
            "markdown",
            "caption",
            "title",
            "header",
            "subheader",
            "metric",
            "error",
            "warning",
            "info",
            "success",
            "table",
        ):
            assert not at.get(kind), (page, kind)


def test_a_source_with_a_name_of_its_own_has_no_article(open_page: OpenPage, tmp_path: Path) -> None:
    """A topic of a name that Kafka does not allow: there is no position to give."""
    copied = copy_sample("kafka-pipeline-died-mid-batch", tmp_path)
    for file in (copied / "offsets").glob("[0-9]*"):
        rewrite(file, file.read_text(encoding="utf-8").replace('"orders"', '"<b>orders"'))
    shown = words_of(open_page("overview", copied))
    assert "◐ Kafka has no option that starts at this position" in shown
    files = words_of(open_page("overview", "samples/files-stopped-cleanly/checkpoint"))
    assert "The file source has no option that starts at this position (offsets/13:3)." in files
