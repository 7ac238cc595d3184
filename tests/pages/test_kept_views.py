"""A link to kept evidence shows the same view when the checkpoint has changed, and leads back to now; uploads
are for one session alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from zipfile import ZipFile

import pytest
from streamlit.testing.v1 import AppTest

from core.checkpoint import Checkpoint
from core.incident import take
from core.judgement import judge
from core.settings import PREFIX, get_settings
from core.storage import Door
from tests.pages.conftest import PAGES, OpenPage, assert_no_error, elements, words_of
from tests.support.build import SAMPLES, copy_sample
from tests.unit.test_evidence import crafted, rebuilt
from ui import evidence_file, kept_incidents, open_checkpoints, uploads

HOT = "windowed-aggregation-hot-partition"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """A server of this test, with an incident store."""
    (tmp_path / "store").mkdir()
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv(
        f"{PREFIX}ROOTS", json.dumps({"samples": str(SAMPLES), "prod": str(tmp_path / "prod")})
    )
    get_settings.cache_clear()
    yield monkeypatch
    get_settings.cache_clear()


@pytest.fixture
def prod(tmp_path: Path) -> Path:
    """A checkpoint below the root prod."""
    return copy_sample(HOT, tmp_path / "prod").rename(tmp_path / "prod" / "orders")


def kept_link(at: AppTest, key: str = "keep") -> dict[str, str]:
    """Clicks, and gives the parameters of the link that appears."""
    at.button(key=key).click().run()
    assert_no_error(at)
    codes = [code.value for code in at.code if "ck=evidence:" in code.value]
    assert codes, words_of(at)
    return {name: values[-1] for name, values in parse_qs(urlsplit(codes[-1]).query).items()}


def test_the_link_shows_every_page_as_it_was_when_the_checkpoint_is_gone(
    open_page: OpenPage, prod: Path
) -> None:
    before = {}
    for page in PAGES:
        at = open_page(page, "prod/orders", batch="3")
        assert_no_error(at)
        before[page] = [proto.alt for kind, proto in elements(at) if kind == "plotly_chart"]
    at = open_page("timeline", "prod/orders", batch="3", follow="true", kafka="prod")
    link = kept_link(at)
    assert link["ck"].startswith("evidence:") and link["batch"] == "3"
    assert not {"follow", "kafka"} & link.keys()
    shutil.rmtree(prod)
    for page in PAGES:
        at = open_page(page, **link)
        assert_no_error(at)
        assert "Evidence of " in words_of(at) and f"of {prod}" in words_of(at)
        assert at.text[0].value == "orders", "it is called what the checkpoint was called"
        if page not in ("compare", "integrity", "state"):  # contents of state are not in it
            shown = [proto.alt for kind, proto in elements(at) if kind == "plotly_chart"]
            assert shown == before[page], page
        assert "keep" not in [button.key for button in at.button], "it is kept already"


def test_overview_keeps_the_view_too(open_page: OpenPage, prod: Path, tmp_path: Path) -> None:
    link = kept_link(open_page("overview", "prod/orders"), "keep-here")
    assert [f"evidence:{file.stem}" for file in (tmp_path / "store").iterdir()] == [link["ck"]]


def test_what_is_kept_is_what_the_page_shows_then_and_the_difference_is_said(
    open_page: OpenPage, prod: Path
) -> None:
    at = open_page("overview", "prod/orders")
    newest = max(int(file.name) for file in (prod / "offsets").iterdir() if file.name.isdecimal())
    for log in ("offsets", "commits"):
        shutil.copy(prod / log / str(newest), prod / log / str(newest + 1))
    link = kept_link(at, "keep-here")
    shown = words_of(at)
    assert f"the newest batch is {newest + 1} there, and was {newest} on this page before." in shown
    assert f"Last committed\nbatch {newest + 1}" in shown
    assert f"Last committed\nbatch {newest + 1}" in words_of(open_page("overview", **link))
    assert (
        "on this page before"
        not in (kept_link(again := open_page("overview", "prod/orders")), words_of(again))[1]
    )


def test_evidence_holds_the_answers_of_its_own_files(open_page: OpenPage, prod: Path) -> None:
    """Removed after the page was read: the list of incidents said "resumes", what the link opened failed."""
    judged = judge(Checkpoint.open(str(prod)))
    assert judged.forecast.outcome == "resume"
    at = open_page("overview", "prod/orders")
    for file in (prod / "state/0").glob("[0-9]*/*.*"):
        file.unlink()
    sent = prod.parent / "sent.zip"
    sent.write_bytes(evidence_file._taken(judged))
    with ZipFile(sent) as packed:
        (name,) = [each for each in packed.namelist() if each.endswith("forecast.json")]
        assert json.loads(packed.read(name))["outcome"] == "fail"
    link = kept_link(at, "keep-here")
    assert "fails" in words_of(open_page("overview", **link))
    rows = open_page("incidents").dataframe[0].value.to_dict("records")
    assert "fails" in rows[0]["next start"]


def test_without_a_store_nothing_is_offered_and_a_link_says_so(
    open_page: OpenPage, settings: pytest.MonkeyPatch
) -> None:
    settings.delenv(f"{PREFIX}INCIDENT_STORE")
    get_settings.cache_clear()
    at = open_page("overview", f"samples/{HOT}/checkpoint")
    assert not {"keep", "keep-here"} & {button.key for button in at.button}
    at = open_page("overview", "evidence:" + "0" * 32)
    assert_no_error(at)
    assert "No incident store is configured here" in words_of(at)


@pytest.mark.parametrize(
    "name", ["evidence:" + "0" * 32, "evidence:../../etc/passwd", "evidence:", "upload:1"]
)
def test_a_link_to_nothing_is_one_sentence(open_page: OpenPage, name: str) -> None:
    for page in ("overview", "recovery"):
        at = open_page(page, name)
        assert_no_error(at)
        assert len([text.value for text in at.text if text.value.startswith("▲")]) == 1


def test_evidence_that_was_changed_is_refused(open_page: OpenPage, prod: Path, tmp_path: Path) -> None:
    link = kept_link(open_page("overview", "prod/orders"))
    (file,) = (tmp_path / "store").iterdir()
    take(Door.open(str(SAMPLES / "missing-delta-file" / "checkpoint")), file)
    at = open_page("overview", **link)
    assert_no_error(at)
    assert "is not the one that was kept: its checksum differs" in words_of(at)


def test_why_nothing_was_kept_is_said(open_page: OpenPage, settings: pytest.MonkeyPatch, prod: Path) -> None:
    settings.setenv(f"{PREFIX}INCIDENT_STORE", str(prod / "state"))
    get_settings.cache_clear()
    at = open_page("overview", "prod/orders")
    at.button(key="keep").click().run()
    assert_no_error(at)
    assert "The incident store lies inside" in words_of(at)


def test_compare_with_now_shows_what_happened_since(open_page: OpenPage, prod: Path) -> None:
    link = kept_link(open_page("overview", "prod/orders"))
    (prod / "commits" / "0").unlink()
    at = open_page("state", **link)
    at.button(key="compare-now").click().run()
    assert_no_error(at)
    assert "A and B differ in 1 place: 1 in the commit log." in words_of(at)
    assert at.query_params["with"] in ("prod/orders", ["prod/orders"]), "read again, not as it was shared"
    assert "compare-now" not in [button.key for button in at.button]


@pytest.mark.parametrize(
    ("address", "recorded", "is_offered"),
    [
        ("127.0.0.1", "/data/elsewhere/orders", True),
        ("192.0.2.1", "/data/elsewhere/orders", False),
        ("192.0.2.1", "/data/prod/../../etc", False),
        ("127.0.0.1", "s3://somebody-elses-bucket/orders", False),
        ("127.0.0.1", "http://127.0.0.1:1/admin", False),
        ("127.0.0.1", "evidence:" + "0" * 32, False),
    ],
)
def test_evidence_sends_nobody_where_the_roots_do_not_lead(
    open_page: OpenPage,
    settings: pytest.MonkeyPatch,
    tmp_path: Path,
    address: str,
    recorded: str,
    is_offered: bool,
) -> None:
    """The recorded location is text that somebody sent."""
    settings.setenv(f"{PREFIX}ADDRESS", address)
    get_settings.cache_clear()
    (tmp_path / "prod").mkdir()
    door = Door.open(str(SAMPLES / HOT / "checkpoint"))
    taken = take(door, tmp_path / "prod" / "sent.zip")
    data = taken.path.read_bytes()

    def elsewhere(manifest: dict[str, object]) -> None:
        manifest["location"] = recorded

    taken.path.write_bytes(rebuilt(data, elsewhere))
    at = open_page("overview", "prod/sent.zip")
    assert_no_error(at)
    assert recorded in words_of(at)
    assert ("compare-now" in [button.key for button in at.button]) is is_offered


def uploaded(at: AppTest, name: str, data: bytes) -> AppTest:
    at.file_uploader(key="upload").set_value((name, data, "application/zip"))
    at.run()
    assert_no_error(at)
    return at


def test_an_upload_opens_on_every_page_and_for_nobody_else(open_page: OpenPage, tmp_path: Path) -> None:
    file = take(Door.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint")), tmp_path / "sent.zip").path
    at = uploaded(open_page("checkpoints"), "sent.zip", file.read_bytes())
    file.unlink()
    name = at.session_state["ck"]
    assert name.startswith("upload:")
    for page in PAGES:
        at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert "Evidence of " in words_of(at) and at.text[0].value == "files-died-mid-batch", page
    other = open_page("overview", name)
    assert_no_error(other)
    assert "was uploaded in another session" in words_of(other)
    assert "files-died-mid-batch" not in words_of(other)


def test_a_hostile_upload_is_one_sentence_and_opens_nothing(open_page: OpenPage, tmp_path: Path) -> None:
    real = take(Door.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint")), tmp_path / "t.zip").path
    for what, data in {**crafted(real.read_bytes()), "empty": b"", "html": b"<script>"}.items():
        at = uploaded(open_page("checkpoints"), "![x](http:evil)<b>.zip", data)
        refused = [text.value for text in at.text if "cannot be opened as an evidence file" in text.value]
        assert len(refused) == 1, (what, words_of(at))
        assert "ck" not in at.session_state or not at.session_state["ck"], what
        assert not at.markdown


def test_a_server_takes_no_uploads_unless_it_is_told_to(
    open_page: OpenPage, settings: pytest.MonkeyPatch
) -> None:
    settings.setenv(f"{PREFIX}ADDRESS", "192.0.2.1")
    get_settings.cache_clear()
    assert not list(open_page("checkpoints").file_uploader)
    settings.setenv(f"{PREFIX}OPEN_UPLOADS", "always")
    get_settings.cache_clear()
    assert len(list(open_page("checkpoints").file_uploader)) == 1


def test_a_session_keeps_few_uploads(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST", 2)
    state: dict[str, object] = {}
    monkeypatch.setattr("ui.uploads.st.session_state", state)
    names = [uploads._keep(b"x") for _ in range(3)]
    assert len(uploads._files()) == 2
    assert uploads.location(names[2]).is_local and Path(uploads.location(names[2]).path).exists()
    with pytest.raises(Exception, match="another session"):
        uploads.location(names[0])


def test_pasting_names_keeps_them(settings: pytest.MonkeyPatch) -> None:
    assert open_checkpoints.canonical(" evidence:" + "0" * 32) == "evidence:" + "0" * 32
    assert open_checkpoints.canonical("upload:12") == "upload:12"
    assert Checkpoint.open(str(SAMPLES / HOT / "checkpoint")).name == "checkpoint"


def test_no_secret_of_the_settings_is_in_a_link(
    open_page: OpenPage, settings: pytest.MonkeyPatch, prod: Path, tmp_path: Path
) -> None:
    properties = tmp_path / "broker.properties"
    properties.write_text("bootstrap.servers=127.0.0.1:1\nsasl.password=PLANTED-kafka\n")
    options = {"auto_mkdir": False, "secret": "PLANTED-option"}
    place = {"url": str(tmp_path / "prod"), "storage_options": options}
    settings.setenv(f"{PREFIX}ROOTS", json.dumps({"prod": place}))
    settings.setenv(f"{PREFIX}KAFKA", json.dumps({"broker": str(properties)}))
    settings.setenv(f"{PREFIX}INCIDENT_STORE", json.dumps({"url": str(tmp_path / "store")}))
    get_settings.cache_clear()
    for page in ("overview", "ends", "recovery"):
        at = open_page(page, "prod/orders", kafka="broker", batch="3")
        assert_no_error(at)
        at.button(key="keep").click().run()
        links = [code.value for code in at.code if "ck=" in code.value]
        assert "ck=prod/orders" in links[0] and all("ck=evidence:" in link for link in links[1:]), page
        assert len(links) >= 2, page
        assert "PLANTED" not in words_of(at), page


def test_the_page_incidents_lists_what_was_kept(open_page: OpenPage, prod: Path, tmp_path: Path) -> None:
    at = open_page("incidents")
    assert_no_error(at)
    assert "The incident store has no evidence file yet." in words_of(at)
    name = kept_link(open_page("overview", "prod/orders"))["ck"]
    shutil.rmtree(prod)
    (tmp_path / "store" / ("0" * 32 + ".zip")).write_bytes(b"<script>")
    at = open_page("incidents")
    assert_no_error(at)
    assert "2 evidence files in the incident store, newest first." in words_of(at)
    assert f"evidence:{'0' * 32}: its bytes are not those that were kept" in words_of(at)
    rows = at.dataframe[0].value.to_dict("records")
    row = next(row for row in rows if row["opens as"] == name)
    assert row["checkpoint"] == "orders" and row["location"] == str(prod)
    assert row["next start"] == "resumes with batch 10", rows
    assert set(at.dataframe[0].value.index) == {"●", "○"}
    assert not at.markdown
    layout = json.loads(at.dataframe[0].proto.columns)
    pinned = sum(
        column["width"] for name, column in layout.items() if column.get("pinned") or name == "_index"
    )
    on_a_phone = 390 - 24
    assert pinned + layout["as of"]["width"] <= on_a_phone, "no scrolling brings its time into view"


def test_without_a_store_or_its_list_there_is_no_page_of_incidents(
    open_page: OpenPage, settings: pytest.MonkeyPatch
) -> None:
    settings.setenv(f"{PREFIX}INCIDENT_STORE_LISTED", "0")
    get_settings.cache_clear()
    at = open_page("overview", f"samples/{HOT}/checkpoint")
    assert "keep-here" in {button.key for button in at.button}, "keeping needs no list"
    assert not kept_incidents.are_listed()
    settings.delenv(f"{PREFIX}INCIDENT_STORE")
    get_settings.cache_clear()
    assert not kept_incidents.are_listed()


def test_what_the_level_deep_showed_is_kept(open_page: OpenPage, prod: Path) -> None:
    """The contents of state files are not in the evidence; what they showed is said on every page."""
    file = prod / "state" / "0" / "1" / "9.changelog"
    file.write_bytes(file.read_bytes()[:40])
    link = kept_link(open_page("integrity", "prod/orders", level="deep"))
    assert link["level"] == "deep"
    shutil.rmtree(prod)
    for given in (link, {"ck": link["ck"]}):  # as from the page Incidents
        for page in PAGES:
            at = open_page(page, **given)
            assert_no_error(at)
            shown = words_of(at)
            assert "Spark will start and fail in batch 10" in shown, page
            assert "Spark will resume with batch 10" not in shown, page
            assert "level=deep" in next(code.value for code in at.code if "ck=" in code.value)
    shown = words_of(open_page("recovery", **link))
    assert "Logs and state are complete for batch 7" in shown and "A plain start resumes" not in shown
    shown = words_of(open_page("integrity", **link))
    assert shown.count("▲ Spark will start and fail") + shown.count("▲ state/0/1/9.changelog") == 2, shown
    assert "▲ fails: load state version 10" in shown
    shown = words_of(open_page("overview", **link))
    assert "Nothing is planned or committed yet" not in shown
    rows = open_page("incidents").dataframe[0].value.to_dict("records")
    assert [row["next start"] for row in rows] == ["fails in batch 10"]


def test_the_level_deep_of_evidence_that_was_kept_without_it_is_said_not_to_be_run(
    open_page: OpenPage, prod: Path
) -> None:
    link = kept_link(open_page("overview", "prod/orders"), "keep-here")
    for page in ("overview", "integrity", "recovery"):
        at = open_page(page, **link, level="deep")
        assert_no_error(at)
        assert "It was not run: the evidence has no contents of state files" in words_of(at), page
    shown = words_of(open_page("recovery", **link))
    assert "The options cannot be worked out" not in shown and "A plain start resumes" in shown


@pytest.mark.parametrize(
    ("store", "told"),
    [
        (None, "No incident store is configured here, so no evidence can be kept in it or opened"),
        ("store", "The incident store is not listed here"),
    ],
)
def test_a_link_to_the_incidents_says_why_there_is_no_such_page(
    open_page: OpenPage, settings: pytest.MonkeyPatch, store: str | None, told: str
) -> None:
    settings.setenv(f"{PREFIX}INCIDENT_STORE_LISTED", "0")
    if store is None:
        settings.delenv(f"{PREFIX}INCIDENT_STORE")
    get_settings.cache_clear()
    at = open_page("overview", f"samples/{HOT}/checkpoint")
    at.session_state["_unknown_page"] = "incidents"  # as of an address that no page answers
    shown = words_of(at.run())
    assert told in shown and "which does not exist" not in shown and "This is Overview." in shown
    at.session_state["_unknown_page"] = "nonsense"
    assert "This link asks for the page 'nonsense', which does not exist." in words_of(at.run())
