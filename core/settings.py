"""Every limit and choice, with its default and its reason. ``docs/settings.md`` repeats this list; a test
keeps the two equal."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Secret, ValidationError, ValidationInfo, field_validator

from core.errors import InvalidSettingError
from core.messages import Sentence, say

PREFIX = "CHECKPOINT_EXPLORER_"
_EXAMPLES = {"roots": "s3://bucket/checkpoints", "kafka": "/etc/checkpoint-explorer/prod.properties"}
_PASSWORD = re.compile(r"://[^/@:]*:(?!\d+(/|$))[^@]*@")  # hdfs://host:8020/a@b has a port
_SIGNATURE = re.compile(
    r"://.*[?&](sig|signature|token|access_token|sas_token|account_key"
    r"|x-(amz|goog)-(signature|credential|security-token))=[^&]",
    re.IGNORECASE,
)
SAMPLES = Path(__file__).resolve().parent.parent / "sample_checkpoints"


def has_password(url: str) -> bool:
    """Whether a URL carries one (``ftp://user:secret@host``), or a token or signature in its query (a shared
    access signature of Azure, a presigned URL): it would stand in links, logs and answers."""
    return _PASSWORD.search(url) is not None or _SIGNATURE.search(url) is not None


def is_loopback(address: str | None) -> bool:
    """Whether a server that listens on ``address`` can be reached from this machine only. None and "" mean
    all interfaces."""
    host = (address or "").strip().strip("[]").lower()
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class RootSettings(BaseModel):
    """A place: a root below which checkpoints lie, or the incident store. ``storage_options`` are fsspec's
    (credentials, endpoint); they are never printed."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str
    storage_options: Secret[dict[str, Any]] = Secret({})


class Settings(BaseModel):
    """The settings. :func:`load_settings` takes them from environment variables that begin with
    ``CHECKPOINT_EXPLORER_``."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, extra="forbid", validate_default=True)

    roots: dict[str, RootSettings] = Field(
        default_factory=lambda: {"samples": RootSettings(url=str(SAMPLES))},
        description=(
            "Where checkpoints lie: JSON, a name for each place, with its URL or {url, storage_options}."
            " Links carry the name, never the URL's credentials. The default is the samples that come with"
            " the project, so that the first start has something to show."
        ),
    )
    address: str = Field(
        default="127.0.0.1",
        description=(
            "The address the app listens on. On a loopback address any location may be opened, because only"
            " you can ask; on any other only what lies below the roots, and the app does not start without"
            " roots."
        ),
    )
    hosts: str = Field(
        default="",
        description=(
            "The names by which browsers reach the app when it does not listen on this machine alone,"
            " comma-separated; scripts/run hands them to Streamlit and does not start without. Other names"
            " are refused, so that no foreign page can read through the visitor's browser. The default is"
            " none: localhost, 127.0.0.1 and [::1]."
        ),
    )
    kafka: dict[str, Path] = Field(
        default_factory=dict,
        description=(
            "Kafka brokers that may be asked for offsets: JSON, a name for each, with the path of a"
            " librdkafka properties file. Links and pages carry the name only. The default is none: nobody is"
            " asked."
        ),
    )
    content_cache_bytes: int = Field(
        default=128 * 1024 * 1024,
        ge=0,
        description=(
            "How many bytes of file contents are kept in memory, over all checkpoints. The logs of 20,000"
            " batches are about 80 MB, so one long-lived query fits. 0 keeps nothing."
        ),
    )
    concurrent_requests: int = Field(
        default=128,
        ge=1,
        le=256,
        description=(
            "How many requests are sent to a remote store at one time. 128 was a fifth faster than 64 for a"
            " first view, and at 30 ms a request it stays below the 5,500 reads a second that S3 allows for"
            " one prefix; lower it when the store answers with 503 (slow down). A local disk is read one by"
            " one, which is faster there."
        ),
    )
    s3_client: Literal["auto", "s3fs"] = Field(
        default="auto",
        description=(
            "How S3 is asked. auto: plain listings and reads repeat the form that botocore gives such a"
            " request, without its work around signing and sending, which takes a quarter of the processor"
            " time; all else, and any store where that form cannot be repeated exactly, goes through s3fs."
            " s3fs: everything does."
        ),
    )
    store_seconds: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description=(
            "How many seconds a remote store may take to connect or to answer one request, retries included."
            " After that one sentence says so; other stores are not affected. Raise it where large files come"
            " over a slow line."
        ),
    )
    first_view_batches: int = Field(
        default=100,
        ge=1,
        description=(
            "How many of the newest batches are read for the first view. Older ones are known from the"
            " listing and read when asked for."
        ),
    )
    look_for_new_seconds: int = Field(
        default=30,
        ge=0,
        le=86_400,
        description=(
            "How often an open page looks whether the checkpoint was written since it was read, and a"
            " followed one is read again: at most four requests for all viewers together, no listing. 0"
            " never looks, for stores that charge by the request."
        ),
    )
    kept_listing_seconds: int = Field(
        default=600,
        ge=0,
        le=86_400,
        description=(
            "How long a refresh that finds nothing new among the newest files of an object store keeps what"
            " was listed before: the state, older log files, files of the sources. The page says so and can"
            " list everything again; where something is wrong everything is listed at once. 0 always lists"
            " everything."
        ),
    )
    open_checkpoint_seconds: float = Field(
        default=900.0,
        gt=0,
        le=86_400,
        description=(
            "How long the app keeps what it read of a checkpoint after the last page that shows it was"
            " closed. Who opens it again meanwhile, or opens a link to it, does not wait for the store; after"
            " that the memory is given back. At most 24 checkpoints are kept."
        ),
    )
    log_file_bytes: int = Field(
        default=32 * 1024 * 1024,
        ge=1024,
        description=(
            "How large a file of the offset or commit log, the file metadata, or the first offset of a source"
            " may be to be read. Such a file has a few kB, with thousands of Kafka partitions some MB; a"
            " larger one is named as not read."
        ),
    )
    source_log_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=1024,
        description=(
            "How large a file of the log of a file source or file sink may be to be read. 64 MB name about"
            " 400,000 input files; a larger one is named as not read, and the files in it are not counted."
        ),
    )
    restart_log_bytes: int = Field(
        default=8 * 1024 * 1024,
        ge=1024,
        description=(
            "How many bytes of the log of one file source the forecast reads. Spark reads all of it at every"
            " start and stops at a damaged file. 8 MB name about 50,000 input files and are parsed in half a"
            " second; what is beyond is named as not read."
        ),
    )
    restart_log_files: int = Field(
        default=100,
        ge=1,
        description=(
            "How many files of the log of one file source the forecast reads, newest first. Spark compacts"
            " ten into one by default, so that a start reads at most ten; each is one small request."
        ),
    )
    input_files: int = Field(
        default=100,
        ge=0,
        description=(
            "How many input files of the batch that runs next are looked for: at the full paths that the log"
            " of the file source holds, where those may be opened, and in the table of a Delta source that"
            " was given. Each is one request for its size and time, nothing is read. 0 looks for none unless"
            " the place of the file source is given."
        ),
    )
    state_definition_bytes: int = Field(
        default=16 * 1024 * 1024,
        ge=1024,
        description=(
            "How large the metadata of a stateful operator, or a state schema, may be to be read. They have a"
            " few kB, with thousands of columns some MB; a larger one is named as not read."
        ),
    )
    state_file_bytes: int = Field(
        default=256 * 1024 * 1024,
        ge=1024,
        description=(
            "How large one state file may be for its contents to be checked or its rows to be counted."
            " Spark's own files rarely have more than 64 MB; while it is checked, a file is in memory"
            " together with its unpacked rows. A larger one is named as not read."
        ),
    )
    table_versions: int = Field(
        default=200,
        ge=1,
        description=(
            "How many versions of a Delta table, or batches of a file sink, are looked into for one answer,"
            " newest first. Each is one small request; the answer says when the limit bit."
        ),
    )
    log_checkpoint_bytes: int = Field(
        default=128 * 1024 * 1024,
        ge=0,
        description=(
            "How large a log checkpoint of a Delta table (all its parts), or a single commit, may be to be"
            " read. A log checkpoint is needed only where the newest version has no .crc that lists the"
            " transactions; 128 MB name about a million files. The answer says when the limit bit."
        ),
    )
    sink_directories: int = Field(
        default=100,
        ge=1,
        description=(
            "How many directories of a file sink's output are listed to find files that its log does not"
            " name. Each is one listing; the answer says when the limit bit."
        ),
    )
    checkpoints_per_root: int = Field(
        default=20_000,
        ge=1,
        description=(
            "How many directories below a root are listed to find checkpoints: those of 5,000 queries, with"
            " the directories around them. Each is one listing, many of them side by side; the answer says"
            " when the limit bit."
        ),
    )
    checkpoint_levels: int = Field(
        default=4,
        ge=1,
        le=20,
        description=(
            "How many levels below a root checkpoints are searched: team, project, query and one more; five"
            " more below a directory _checkpoints, where a declarative pipeline keeps its own. What lies in a"
            " checkpoint is never searched."
        ),
    )
    survey_batches: int = Field(
        default=7,
        ge=2,
        description=(
            "Of how many of the newest batches a survey reads the log files; of a query with a file source"
            " half as many, because the log of that source is read too. With 7 a Kafka query costs at"
            " most 20 small files, those of one stateful operator included. Times of the older ones come from"
            " the listing."
        ),
    )
    evidence_bytes: int = Field(
        default=512 * 1024 * 1024,
        ge=1024,
        le=3 * 1024 * 1024 * 1024,
        description=(
            "How many bytes of contents one evidence file may hold, unpacked; what is beyond is in it by"
            " name, size and time only. One with more is not opened, because it is in memory as long as it is"
            " open. The logs of 20,000 batches are about 80 MB."
        ),
    )
    incident_store: RootSettings | None = Field(
        default=None,
        description=(
            "Where evidence files are kept that links name: a folder or a bucket prefix of its own, as a URL"
            " or as JSON {url, storage_options}; never inside a checkpoint. It is the one place that this"
            " program writes to, and it deletes nothing there. The default is none: nothing is kept, and such"
            " links do not open."
        ),
    )
    incident_store_bytes: int = Field(
        default=10 * 1024 * 1024 * 1024,
        ge=1024,
        description=(
            "How many bytes the files in the incident store may have together. When that is reached, nothing"
            " more is kept until somebody removes some: whoever reaches the app could fill the store."
        ),
    )
    incident_store_listed: int = Field(
        default=100,
        ge=0,
        le=1_000,
        description=(
            "How many of the newest evidence files in the incident store are listed, on the page Incidents"
            " and by incidents: each costs one request, and at most 64 MB of them are read for a list. 0"
            " lists nothing: only who has the link of an incident opens it."
        ),
    )
    open_uploads: Literal["private", "always", "never"] = Field(
        default="private",
        description=(
            "Whether evidence files can be uploaded on the page Checkpoints: private (only where the app"
            " listens on this machine alone), always or never. An upload is in memory as long as its viewer"
            " is there, so that on a server each viewer could fill it."
        ),
    )
    reveal_state: bool = Field(
        default=True,
        description=(
            "Whether keys and values of the state may be shown. They are hidden until somebody asks for them"
            " in any case; false: nobody can, in the app and with --reveal. They may be personal data."
        ),
    )
    survey_seconds: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description=(
            "How many seconds a survey spends on one checkpoint. After that its row says so, and the survey"
            " continues with the others."
        ),
    )
    survey_at_once: int = Field(
        default=32,
        ge=1,
        le=256,
        description=(
            "How many checkpoints a survey reads at one time. Each waits for the store most of the time; each"
            " sends several requests itself."
        ),
    )
    price_of_writes: float = Field(
        default=0.005,
        ge=0,
        description=(
            "What 1,000 writes cost in the object store, in dollars: 0.005 is what S3 takes in us-east-1. The"
            " page Checkpoints shows what each checkpoint costs a month at this price."
        ),
    )
    price_of_storage: float = Field(
        default=0.023,
        ge=0,
        description=(
            "What one GiB costs in the object store each month, in dollars: 0.023 is about what S3 takes in"
            " us-east-1."
        ),
    )
    history: str = Field(
        default="",
        description=(
            "Where the rows of surveys are kept (survey --to, as Parquet): a URL, a directory, or a root's"
            " name with a path below it. Timeline then shows batches that Spark has purged, and how state and"
            " watermark lag developed; Checkpoints shows how the state developed. The default is none. It is"
            " only read."
        ),
    )
    history_files: int = Field(
        default=3_000,
        ge=1,
        description=(
            "How many files of the history are read at most, the newest. A survey adds one file: 3,000 are"
            " four months of a survey every hour."
        ),
    )
    checked_batches: int = Field(
        default=1_000,
        ge=1,
        description=(
            "How many of the newest batches the integrity check reads (quick reads fewer). 1,000 is ten "
            "times what Spark keeps by default, and at most 2,000 small files; the answer says how many "
            "older batches were not read."
        ),
    )
    clock_slack_ms: int = Field(
        default=60_000,
        ge=0,
        description=(
            "How far the time of a batch may lie before that of the batch before it without a sign of two "
            "writers. Clocks of two hosts differ by seconds, and a query may move to another host."
        ),
    )
    short_retention_batches: int = Field(
        default=5,
        ge=1,
        description=(
            "With at most so many batches left of a longer log, the check notes that there is hardly a batch"
            " to roll back to. Spark keeps 100 by default."
        ),
    )
    long_retention_batches: int = Field(
        default=1_010,
        ge=1,
        description=(
            "With more batches than so many in the offset log, the check notes that retention is long."
            " 1,010 is ten times what Spark keeps by default."
        ),
    )
    growth_batches: int = Field(
        default=20,
        ge=2,
        description=(
            "Over so many batches the watermark must not have moved before growing state is noted: fewer are"
            " a pause."
        ),
    )
    growth_ratio: float = Field(
        default=1.5,
        gt=1,
        description=(
            "How many times its size the state must have reached to be noted as growing: less is the noise "
            "of a busy hour."
        ),
    )
    growth_attention_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=0,
        description=(
            "From which size on growing state asks for attention; smaller state is a note. The number of keys"
            " may be small by nature, and 64 MiB hurt nobody."
        ),
    )
    watermark_stall_batches: int = Field(
        default=3,
        ge=1,
        description=(
            "How many batches with data at one watermark are a stall, at least. In fewer, rows simply share "
            "their newest event time."
        ),
    )
    watermark_stall_ms: int = Field(
        default=93_600_000,
        ge=0,
        description=(
            "After how long a watermark that did not move in any batch that was read is a stall, when no"
            " other rest shows what is usual. 26 hours: event times of whole days move it once a day."
        ),
    )
    watermark_ahead_ms: int = Field(
        default=60_000,
        ge=0,
        description=(
            "How far the watermark may be ahead of the clock of its batch. Clocks of producers run ahead a"
            " little; more comes from wrong event times, and rows with right ones are dropped as late. Raise"
            " it where event times are local times taken for UTC."
        ),
    )
    skew_ratio: float = Field(
        default=10.0,
        gt=1,
        description=(
            "How many times the median the state of one partition must have to be named as skewed. Hashing a"
            " few hundred keys leaves 2 to 6; 10 is one hot key."
        ),
    )
    skew_least_bytes: int = Field(
        default=64 * 1024,
        ge=0,
        description=(
            "How large the state of a partition must be, at least, to be named as skewed. With less, a few"
            " keys make the ratio and no task takes longer for it."
        ),
    )
    slow_batches: int = Field(
        default=30,
        ge=6,
        description=(
            "Of so many batches with data, at least, the durations are compared to see whether batches become"
            " slower: the first third, the middle and the last. In fewer, the start of the query is in one of"
            " them."
        ),
    )
    slow_ratio: float = Field(
        default=2.0,
        gt=1,
        description=(
            "How many times as long a batch must take now as at first to be named as slower. Less is the"
            " noise of a busy cluster."
        ),
    )
    slow_least_ms: int = Field(
        default=5_000,
        ge=0,
        description=(
            "How much longer a batch must take in any case to be named as slower. Twice half a second is"
            " nobody's trouble."
        ),
    )
    lag_batches: int = Field(
        default=50,
        ge=2,
        description=(
            "A source is behind when as much as so many usual batches is waiting at the broker, or when so"
            " many batches in a row ran at the same amount without a pause. A burst is caught up in fewer."
        ),
    )
    pending_ratio: float = Field(
        default=20.0,
        gt=1,
        description=(
            "How many times the median duration of a batch the newest one may be planned without a commit"
            " before the check asks for attention. Slow batches take a few times as long as usual, not 20."
        ),
    )
    pending_least_ms: int = Field(
        default=600_000,
        ge=0,
        description=(
            "How long the newest batch may be planned without a commit in any case: 10 minutes, in which a"
            " query is restarted or a cluster is started."
        ),
    )

    checkpoint_rows: int = Field(
        default=1_000,
        ge=1,
        description=(
            "How many checkpoints below a root the page Checkpoints looks into. Each costs up to 3 listings"
            " and 20 small files, and a listing of its state; the others are named only. More of them are for"
            " the command line (survey)."
        ),
    )
    deep_check_seconds: float = Field(
        default=60.0,
        ge=1,
        description=(
            "For how long a page may decode state files in the deep check. What was not reached is named; the"
            " command line takes as long as its --seconds allows."
        ),
    )
    spark_in_app: Literal["private", "always", "never"] = Field(
        default="private",
        description=(
            "Whether the page State may start Spark: private (only where the app listens on this machine"
            " alone), always or never. On a server each viewer could keep its cores busy. The command line"
            " always may."
        ),
    )
    spark_master: str = Field(
        default="local[2]",
        description=(
            "Where Spark runs when state is read through it: a master URL (local[2], spark://host:7077, yarn,"
            " k8s://...). Two local cores are enough for what one person asks. A cluster reads the"
            " checkpoint's store itself; one on this machine reads the staged copy."
        ),
    )
    spark_remote: str = Field(
        default="",
        description=(
            "A Spark Connect server (sc://host:15002) that is asked in place of a Spark of our own; no Java"
            " is needed here then. The default is none. It needs PySpark's own extra: pip install"
            " 'pyspark[connect]'."
        ),
    )
    spark_memory: str = Field(
        default="1g",
        pattern=r"^[1-9][0-9]{0,5}[mg]$",
        description=(
            "The heap of the Java process that reads state, as Java writes it (1g, 512m). 1 GB reads RocksDB"
            " state of any size, row by row; an HDFS-backed store keeps the rows of two partitions in it."
        ),
    )
    spark_idle_seconds: float = Field(
        default=300.0,
        gt=0,
        description=(
            "After how many seconds without a question the process of Spark ends and gives its memory back"
            " (about 500 MB). Starting it again takes some seconds."
        ),
    )
    spark_seconds: float = Field(
        default=600.0,
        gt=0,
        le=86_400,
        description=(
            "How many seconds one question to Spark may take, its start included. After that the job is"
            " cancelled and one sentence says so."
        ),
    )
    spark_cancel_seconds: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description=(
            "How many seconds a cancelled question may take to end. Spark cannot cancel a job before it has"
            " begun, so the request is repeated; after this time the process is ended."
        ),
    )
    spark_staged_bytes: int = Field(
        default=2 * 1024 * 1024 * 1024,
        ge=1024,
        description=(
            "How many bytes of state files one question may copy to this machine for Spark to read. 2 GB come"
            " over a fast line in a minute and fit a temporary directory; large files on a local disk are"
            " linked, not copied, and do not count. A larger state is for a cluster (spark_master)."
        ),
    )
    spark_directory: str = Field(
        default="",
        description=(
            "Where staged files and Spark's own temporary files lie while Spark runs. The default is the"
            " system's directory for temporary files; choose a disk when that is in memory."
        ),
    )
    rehearsal_seconds: float = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description=(
            "How many seconds a rehearsal may take once Spark is ready (rehearse); Spark itself has"
            " spark_seconds to start. After"
            " that the process is ended and one sentence says what it was doing."
        ),
    )
    rehearsal_bytes: int = Field(
        default=2 * 1024 * 1024 * 1024,
        ge=1024,
        description=(
            "How many bytes of a checkpoint a rehearsal may copy to this machine; with --against the copy is"
            " written twice. Above it state of older versions is left out first."
        ),
    )
    trace: bool = Field(
        default=False,
        description=(
            "Whether the command line prints the trace of an error that it does not know, below the sentence."
            " For a report of the error; the app always writes it to the log of the server."
        ),
    )

    @field_validator("roots", mode="before")
    @classmethod
    def _bare_url(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: {"url": root} if isinstance(root, str) else root for name, root in value.items()}
        return value

    @field_validator("incident_store", mode="before")
    @classmethod
    def _bare_store(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = value.strip()
        if not text.startswith("{"):
            return {"url": text} if text else None
        try:
            return json.loads(text)
        except ValueError:
            raise ValueError(say("settings.store_json")) from None

    @field_validator("incident_store")
    @classmethod
    def _no_password(cls, value: RootSettings | None) -> RootSettings | None:
        if value is not None and has_password(value.url):
            raise ValueError(say("settings.store_password"))
        return value

    @field_validator("roots", "kafka")
    @classmethod
    def _plain_names(cls, value: dict[str, Any], field: ValidationInfo) -> dict[str, Any]:
        for name in value:
            if (
                not name
                or name.strip() != name
                or "/" in name
                or ":" in name
                or not name.isprintable()
                or name in (".", "..")
            ):
                is_root = field.field_name == "roots"
                raise ValueError(say("settings.root_name" if is_root else "settings.broker_name"))
        for root in value.values():
            if isinstance(root, RootSettings) and has_password(root.url):
                raise ValueError(say("settings.root_password"))
        return value

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the app, so that any location may be opened."""
        return is_loopback(self.address)

    @property
    def takes_uploads(self) -> bool:
        """Whether viewers may upload evidence files."""
        return self.open_uploads == "always" or (self.open_uploads == "private" and self.is_private)

    @property
    def has_own_roots(self) -> bool:
        """Whether someone configured roots, so that they are not the samples that are only the default."""
        return "roots" in self.model_fields_set


def load_settings() -> Settings:
    """The settings from the environment, read now. Raises :class:`InvalidSettingError` with one sentence for
    each that cannot be used."""
    try:
        return Settings(**_environment())
    except ValidationError as error:
        problems = [
            _problem(f"{PREFIX}{str(e['loc'][0]).upper()}", e["loc"][1:], e["msg"])
            for e in error.errors(include_input=False, include_url=False)
        ]
        raise InvalidSettingError("; ".join(problems)) from None


def _environment() -> dict[str, Any]:
    """What the environment says, by the name of the setting; upper and lower case are the same, variables
    that are no setting are passed over. Names with their places come as JSON."""
    prefix = PREFIX.lower()
    given = {name.lower(): text for name, text in os.environ.items()}
    found: dict[str, Any] = {}
    for name in Settings.model_fields:
        text = given.get(prefix + name)
        if text is not None:
            found[name] = _from_json(name, text) if name in _EXAMPLES else text
    return found


def _from_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        sentence = say("settings.no_json", setting=f"{PREFIX}{name.upper()}", example=_EXAMPLES[name])
        raise InvalidSettingError(sentence) from None


def _problem(setting: str, part: tuple[int | str, ...], problem: str) -> Sentence:
    if not part:
        return say("settings.invalid", setting=setting, problem=problem)
    return say("settings.invalid_part", setting=setting, part=".".join(map(str, part)), problem=problem)


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The settings of this process, read once. For entry points (app, command line, scripts); everything else
    is given its settings."""
    return load_settings()


# What a caller gets who gives no settings: the defaults. The environment is not read.
DEFAULTS = Settings.model_construct()
