"""``restore_versions.py``, run as it is handed out against a real S3 server: a checkpoint that was uploaded batch after batch, purged,
overwritten and deleted comes back as it was."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.lost import lost_checkpoint
from core.cli import main
from core.recovery import Answers, generate, read_recovery_context
from core.storage import Location
from core.storage.filesystems import forget
from tests.support.build import SAMPLES
from tests.support.s3 import KEY, REGION, SECRET, S3Server

SAMPLE = SAMPLES / "files-stopped-cleanly" / "checkpoint"
NASTY = [
    'state/0/it\'s "quoted".delta',
    "state/0/two  spaces ",
    "state/0/über-漢字-🙂",
    "state/0/a#b+c%20d&e=f?g",
    "state/0/{{ 7*7 }}$(boom)`boom`",
]


class Bucket:
    """A bucket and the checkpoint in it; remembers nothing, the server does."""

    def __init__(
        self, server: S3Server, name: str, prefix: str = "jobs/ck", is_versioned: bool = True
    ) -> None:
        self.server, self.name, self.prefix = server, name, prefix
        self.s3: Any = server._client
        server.bucket(name)
        if is_versioned:
            self.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})

    @property
    def location(self) -> Location:
        return self.server.location(f"s3://{self.name}/{self.prefix}")

    @property
    def restored(self) -> Location:
        return self.server.location(f"s3://{self.name}/{self.prefix}.restored")

    def put(self, files: Mapping[str, bytes]) -> None:
        self.server.put_many(self.name, {f"{self.prefix}/{name}": body for name, body in files.items()})

    def delete(self, *names: str) -> None:
        for name in names:
            self.server.delete(self.name, f"{self.prefix}/{name}")

    def delete_all(self) -> None:
        keys = [{"Key": key} for key in self.server.keys(self.name) if key.startswith(f"{self.prefix}/")]
        self.s3.delete_objects(Bucket=self.name, Delete={"Objects": keys})

    def contents(self, prefix: str | None = None) -> dict[str, bytes]:
        """Every object below a prefix with its content."""
        start = f"{prefix or self.prefix}/"
        keys = [key for key in self.server.keys(self.name) if key.startswith(start)]
        with ThreadPoolExecutor(8) as pool:
            read = pool.map(lambda key: self.s3.get_object(Bucket=self.name, Key=key)["Body"].read(), keys)
            return {key[len(start) :]: body for key, body in zip(keys, read, strict=True)}

    def new(self) -> dict[str, bytes]:
        return self.contents(f"{self.prefix}.restored")

    def versions(self) -> list[tuple[str, str]]:
        """Every version and delete marker: nothing may be added to them or go from them below the checkpoint."""
        pages = self.s3.get_paginator("list_object_versions").paginate(Bucket=self.name)
        return sorted(
            (entry["Key"], entry["VersionId"])
            for page in pages
            for entry in page.get("Versions", []) + page.get("DeleteMarkers", [])
        )

    def old_versions(self) -> list[tuple[str, str]]:
        return [each for each in self.versions() if each[0].startswith(f"{self.prefix}/")]


def moment() -> str:
    """Now, as it is written into AT; what comes later has a later second."""
    time.sleep(1.1)
    now = datetime.now(UTC).isoformat()
    time.sleep(1.1)
    return now


def script_of(bucket: Bucket, folder: Path, at: str | None, **answers: str) -> Path:
    """The file as it is handed out for a lost checkpoint, with AT filled in as a person would."""
    url = bucket.location.url
    context = replace(read_recovery_context(lost_checkpoint(None), Answers(answers)), url=url)
    text = next(b.text for b in generate(context, "restore_backup") if b.file_name == "restore_versions.py")
    if at is not None:
        text, filled = re.subn(r"^AT = None", lambda _: f"AT = {at!r}", text, count=1, flags=re.MULTILINE)
        assert filled == 1
    path = folder / "restore_versions.py"
    path.write_text(text, encoding="utf-8")
    return path


def environment(server: S3Server) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    return {
        **kept,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": server.endpoint,
    }


def run(script: Path, bucket: Bucket, *arguments: str, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, script, *arguments],
        cwd=script.parent,
        env={**environment(bucket.server), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def sample(newest: int = 99) -> dict[str, bytes]:
    """The files of a checkpoint that Spark wrote, as S3A leaves them, up to a batch."""
    found = {}
    for path in sorted(SAMPLE.rglob("*")):
        name = path.relative_to(SAMPLE).as_posix()
        batch = path.name.removesuffix(".compact")
        if path.is_file() and not name.endswith(".crc") and (not batch.isdigit() or int(batch) <= newest):
            found[name] = path.read_bytes()
    return {**found, "commits/": b"", "offsets/": b""}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server.start() as started:
        yield started


class Incident:
    """A checkpoint that grew to batch 7 (AT), then to its newest batch, was purged, overwritten and deleted."""

    def __init__(self, server: S3Server, name: str) -> None:
        self.bucket = bucket = Bucket(server, name)
        bucket.put(sample(3))
        bucket.put({"offsets/.3.6b0e-4d.tmp": b"of a kill", "offsets/2": b"overwritten before AT"})
        bucket.put({"offsets/2": sample()["offsets/2"], "commits/gone-before": b"", "commits/.3.x.tmp": b""})
        bucket.delete("commits/gone-before", "commits/.3.x.tmp")
        bucket.put(sample(7))
        bucket.put({name: name.encode() for name in NASTY})
        self.then = {name: body for name, body in bucket.contents().items() if not name.endswith(".tmp")}
        self.at = moment()
        bucket.put(sample())
        bucket.put({"metadata": b'{"id":"another"}', "offsets/7": b"garbage", NASTY[3]: b"changed"})
        bucket.delete("offsets/0", "commits/0", NASTY[0])
        bucket.put({"offsets/0": b"again"})
        bucket.delete_all()
        assert not bucket.contents()


@pytest.fixture(scope="module")
def incident(server: S3Server) -> Incident:
    return Incident(server, "incident")


def test_a_deleted_checkpoint_comes_back_byte_for_byte(incident: Incident, tmp_path: Path) -> None:
    bucket, script = incident.bucket, script_of(incident.bucket, tmp_path, incident.at)
    before = bucket.versions()
    status, out = run(script, bucket)
    assert status == 0, out
    size = sum(map(len, incident.then.values()))
    assert f"there were {len(incident.then)} objects of {size} bytes" in out
    assert "newest batch in offsets: 7, newest batch in commits: 7" in out
    assert "Left out: 1 .tmp files" in out and "Nothing was changed" in out and "NOT PROVEN" not in out
    assert bucket.versions() == before

    status, out = run(script, bucket, "--execute")
    assert status == 0, out
    assert f"Copied {len(incident.then)} objects" in out and "read the forecast before you" in out
    assert bucket.new() == incident.then
    old = [each for each in before if each[0].startswith(f"{bucket.prefix}/")]
    assert bucket.old_versions() == old

    after = bucket.versions()
    status, out = run(script, bucket, "--execute")
    assert status == 0 and f"Copied 0 objects to s3://incident/jobs/ck.restored; {len(incident.then)}" in out
    assert bucket.versions() == after

    ck = Checkpoint.open(bucket.restored)
    assert (ck.last_committed_batch, ck.offset_ids[-1]) == (7, 7)
    assert ck.query_id == json.loads(sample()["metadata"])["id"]

    # The query has run with it: it is no longer a copy of that moment.
    bucket.server.put(bucket.name, f"{bucket.prefix}.restored/offsets/8", b"v1\n")
    status, out = run(script, bucket, "--execute")
    assert status == 4 and "NEW_PREFIX is not empty" in out and "offsets/8" in out


def test_the_verb_gives_the_same_file_for_a_checkpoint_that_is_gone(
    incident: Incident, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment(incident.bucket.server).items():
        monkeypatch.setenv(name, value)
    forget()  # whoever connected before had another environment
    to = tmp_path / "by-verb" / "restore_versions.py"
    to.parent.mkdir()
    gone = Bucket(
        incident.bucket.server, "incident", "never/ck"
    )  # moto lists folders whose objects are deleted
    words = ["recover", "s3a://incident/never/ck", "--without-checkpoint", "--option", "restore_backup"]
    assert main([*words, "--to", str(to)]) == 0
    assert to.read_text() == script_of(gone, tmp_path, None).read_text()
    assert (
        main([*words, "--to", str(tmp_path / "mine.py")]) == 0
    )  # not named: the file that restores a backup
    assert "restore_versions" not in (tmp_path / "mine.py").read_text()
    capsys.readouterr()
    assert main(words) == 0
    out = capsys.readouterr().out
    assert 'PREFIX = "never/ck"' in out and "python restore_versions.py --execute" in out
    assert "versioning was enabled before" in out


def test_a_run_that_was_killed_is_run_again(server: S3Server, tmp_path: Path) -> None:
    bucket = Bucket(server, "killed")
    files = {**sample(), **{f"state/0/{part}/{n}.delta": b"%d" % n for part in range(4) for n in range(50)}}
    bucket.put(files)
    at = moment()
    bucket.delete_all()
    script, old = script_of(bucket, tmp_path, at), bucket.old_versions()
    process = subprocess.Popen(
        [sys.executable, script, "--execute"], env=environment(server), stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not (there := len(server.keys("killed"))) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    left: dict[str, bytes] = {}
    while len(left) != len(left := bucket.new()):
        time.sleep(1)  # the server may still do what the killed process had asked for
    assert there and 0 < len(left) < len(files), "the kill came too late to say anything"

    status, out = run(script, bucket, "--execute")
    assert status == 0, out
    assert f"Copied {len(files) - len(left)} objects" in out and f"{len(left)} were there already" in out
    assert bucket.new() == files and bucket.old_versions() == old


def test_more_versions_than_a_page_of_a_listing_holds(server: S3Server, tmp_path: Path) -> None:
    bucket = Bucket(server, "pages")
    bucket.put(sample())
    bucket.put({f"state/0/0/{n}.delta": b"first" for n in range(350)})
    bucket.put({f"state/0/0/{n}.delta": b"%d" % n for n in range(350)})
    then = bucket.contents()
    at = moment()
    bucket.put({f"state/0/0/{n}.delta": b"later" for n in range(350)})
    bucket.delete_all()
    assert len(bucket.versions()) > 1400
    status, out = run(script_of(bucket, tmp_path, at), bucket, "--execute")
    assert status == 0, out
    assert bucket.new() == then


def test_what_was_not_there_is_said_and_is_not_called_proven(server: S3Server, tmp_path: Path) -> None:
    bucket = Bucket(server, "damaged")
    files = {
        name: body for name, body in sample(7).items() if name not in ("metadata", "offsets/7", "offsets/4")
    }
    files["state/0/_stateSchema/default/0_1"] = b"{}"
    bucket.put(files)
    at = moment()
    status, out = run(script_of(bucket, tmp_path, at), bucket)
    assert status == 0
    for sentence in (
        "metadata was not there",
        "The newest commit [7] was there without its offsets",
        "offsets has gaps, normal only with asynchronous progress tracking: [4]",
        "the query starts only from PREFIX",
    ):
        assert f"NOT PROVEN: {sentence}" in out or sentence in out, out
    status, out = run(script_of(bucket, tmp_path, at), bucket, "--execute")
    assert status == 5 and "Verified" in out and bucket.new() == files


def test_an_object_that_was_written_in_parts_is_compared_by_size(server: S3Server, tmp_path: Path) -> None:
    bucket, big = Bucket(server, "parts"), os.urandom(5 * 1024**2) + b"end"
    bucket.put(sample())
    key = {"Bucket": "parts", "Key": f"{bucket.prefix}/state/0/0/1.zip"}
    upload = bucket.s3.create_multipart_upload(**key)["UploadId"]
    pieces = []
    for number, piece in enumerate((big[: 5 * 1024**2], big[5 * 1024**2 :]), start=1):
        done = bucket.s3.upload_part(**key, UploadId=upload, PartNumber=number, Body=piece)
        pieces.append({"ETag": done["ETag"], "PartNumber": number})
    bucket.s3.complete_multipart_upload(**key, UploadId=upload, MultipartUpload={"Parts": pieces})
    at = moment()
    bucket.delete_all()
    script = script_of(bucket, tmp_path, at)
    for _ in range(2):
        status, out = run(script, bucket, "--execute")
        assert bucket.new()["state/0/0/1.zip"] == big
        if bucket.s3.head_object(Bucket="parts", Key="jobs/ck.restored/state/0/0/1.zip")["ETag"].count("-"):
            assert status == 0  # this server keeps the ETag
        else:
            assert status == 5 and "only their sizes were compared" in out


def test_what_is_refused_changes_nothing(server: S3Server, incident: Incident, tmp_path: Path) -> None:
    def refused(bucket: Bucket, at: str | None, why: str, **answers: str) -> None:
        before = bucket.versions()
        status, out = run(script_of(bucket, tmp_path, at, **answers), bucket, "--execute")
        assert status == 4 and out.splitlines()[-1].startswith("Refused: ") and why in out, out
        assert bucket.versions() == before

    gone = incident.bucket
    refused(gone, None, "before the deletion")
    refused(gone, "last Friday", "is not a moment")
    refused(gone, (datetime.now(UTC) + timedelta(hours=1)).isoformat(), "not over yet")
    refused(gone, "2001-01-01T00:00:00Z", "nothing was below jobs/ck")
    for place in (gone.prefix, f"{gone.prefix}/new", "jobs"):
        refused(gone, incident.at, "lies in the other", checkpoint_new=f"s3a://incident/{place}")
    for elsewhere in ("s3a://another-bucket/new", "/local/new", "s3://incident/"):
        refused(gone, incident.at, "fill in BUCKET, PREFIX and NEW_PREFIX", checkpoint_new=elsewhere)
    root = Bucket(server, "incident", "")
    refused(root, incident.at, "fill in BUCKET, PREFIX and NEW_PREFIX")

    plain = Bucket(server, "unversioned", is_versioned=False)
    plain.put(sample())
    archived = Bucket(server, "archived")
    archived.s3.put_object(Bucket="archived", Key="jobs/ck/offsets/0", Body=b"", StorageClass="GLACIER")
    at = moment()
    refused(plain, at, "keeps no versions")
    refused(archived, at, "a version is archived")


def test_a_new_place_with_something_in_it_is_refused(incident: Incident, tmp_path: Path) -> None:
    bucket = incident.bucket
    for name, body in (("of somebody else", b""), ("offsets/7", b"another"), ("", b"")):
        bucket.server.put(bucket.name, f"jobs/used-{len(name)}/{name}", body)
        place = f"s3://incident/jobs/used-{len(name)}"
        before = bucket.versions()
        status, out = run(script_of(bucket, tmp_path, incident.at, checkpoint_new=place), bucket, "--execute")
        assert status == 4 and "NEW_PREFIX is not empty" in out and bucket.versions() == before


def test_an_error_of_the_store_says_what_was_copied_and_how_to_undo_it(
    server: S3Server, incident: Incident, tmp_path: Path
) -> None:
    bucket, place = incident.bucket, "s3://incident/jobs/it's refused"
    script = script_of(bucket, tmp_path, incident.at, checkpoint_new=place)
    server.fail({"match": "?versioning", "status": 403, "code": "AccessDenied", "times": 1})
    status, out = run(script, bucket, "--execute")
    assert (
        status == 1
        and "0 objects were copied so far" in out
        and "nothing to undo" in out
        and " rm " not in out
    )
    server.fail({"match": "refused/offsets/5", "status": 403, "code": "AccessDenied", "times": -1})
    try:
        status, out = run(script, bucket, "--execute")
    finally:
        server.fail()
    assert status == 1 and "Stopped: " in out and "AccessDenied" in out
    found = re.search(r"(\d+) objects were copied so far.* (aws s3 rm --recursive .*)", out)
    copied = bucket.contents("jobs/it's refused")
    assert found is not None and int(found[1]) == len(copied) < len(incident.then)
    assert found[2] == """aws s3 rm --recursive 's3://incident/jobs/it'"'"'s refused/'"""
    status, out = run(script, bucket, "--execute")
    assert status == 0 and bucket.contents("jobs/it's refused") == incident.then


def test_without_boto3_one_sentence_says_so(incident: Incident, tmp_path: Path) -> None:
    (tmp_path / "boto3.py").write_text("raise ImportError('no')\n", encoding="utf-8")
    status, out = run(script_of(incident.bucket, tmp_path, incident.at), incident.bucket)
    assert status == 4 and out == "Refused: this script needs the package boto3 (pip install boto3).\n"
