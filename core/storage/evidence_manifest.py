"""What an evidence file says of itself: when and where it was taken, the listing of the whole checkpoint, and
what became of each file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import quote

from core.errors import EvidenceRefused
from core.messages import say
from core.storage.evidence_zip import leads_out
from core.storage.listing import FileInfo
from core.storage.location import Location

FORMAT = "checkpoint-explorer evidence"
FORMAT_VERSION = 1
NAME = "manifest.json"
MOST_BYTES = 128 * 1024 * 1024
MOST_FILES = 1_000_000
MOST_TEXT = 4_096
_LARGEST = 2**63 - 1

NotTaken = Literal["state_contents", "foreign", "too_large", "full", "not_read"]
"""Why a file is in the listing only: contents of state were not asked for; Spark does not write such a file;
larger than the setting for its kind; the evidence file was full; it could not be read."""

_SHA = re.compile(r"[0-9a-f]{64}")
_VERB = re.compile(r"[a-z]{1,20}")
MOST_ANSWERS = 20


@dataclass(frozen=True, slots=True)
class Recorded:
    """One file of the checkpoint. ``sha256`` and ``taken_bytes`` are those of its content in the evidence
    file; where they are None, ``not_taken`` says why, and ``reason`` in the words of the store.
    ``is_masked``: secrets in it were replaced by asterisks, so Hadoop's checksum beside it does not fit."""

    info: FileInfo
    sha256: str | None = None
    taken_bytes: int | None = None
    not_taken: NotTaken | None = None
    reason: str | None = None
    is_masked: bool = False


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The answer of a verb at the time, JSON: its checksum and size."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record. ``location`` is where the checkpoint lay, without credentials; ``moment_ms`` when its logs
    were listed (epoch milliseconds). ``not_listed``: directories that could not be listed, and why."""

    version: str
    moment_ms: int
    location: str
    with_state_contents: bool
    files: tuple[Recorded, ...]
    directories: tuple[str, ...]
    not_listed: Mapping[str, str]
    answers: Mapping[str, RecordedAnswer] = field(default_factory=dict)

    @property
    def origin(self) -> Location:
        """Where the checkpoint lay: for sentences and judgement. It is never opened."""
        protocol, found, rest = self.location.partition("://")
        if not found:
            protocol, rest = "file", self.location
        name = self.location.rstrip("/").rpartition("/")[2] or self.location
        return Location(url=self.location, protocol=protocol, path=rest, name=name)

    def to_bytes(self) -> bytes:
        """The record as JSON; the same record gives the same bytes."""
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "version": self.version,
            "moment_ms": self.moment_ms,
            "location": self.location,
            "with_state_contents": self.with_state_contents,
            "directories": list(self.directories),
            "not_listed": dict(sorted(self.not_listed.items())),
            "answers": {
                verb: {"sha256": each.sha256, "size_bytes": each.size_bytes}
                for verb, each in sorted(self.answers.items())
            },
            "files": [_as_json(file) for file in self.files],
        }
        return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def answer_member(verb: str) -> str:
    """The name in the zip of the answer of a verb."""
    return f"answers/{verb}.json"


def member_of(path: str) -> str:
    """The name in the zip of a file of the checkpoint."""
    return "files/" + quote(path, safe="/=,+@", errors="surrogatepass")


def read_manifest(data: bytes) -> Manifest:
    """The record of an evidence file. Every value is checked. Raises :class:`EvidenceRefused`."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise EvidenceRefused(say("evidence.manifest_json")) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise EvidenceRefused(say("evidence.manifest_json"))
    if raw.get("format_version") != FORMAT_VERSION or isinstance(raw["format_version"], bool):
        raise EvidenceRefused(say("evidence.manifest_version", known=FORMAT_VERSION))
    try:
        return _manifest(raw)
    except (KeyError, TypeError, ValueError):
        raise EvidenceRefused(say("evidence.manifest_values")) from None


def _manifest(raw: dict[str, Any]) -> Manifest:
    listed, reasons = _list(raw["directories"]), raw["not_listed"]
    if len(raw["files"]) > MOST_FILES or len(listed) > MOST_FILES:
        raise EvidenceRefused(say("evidence.too_many", limit=MOST_FILES))
    if not isinstance(reasons, dict) or not isinstance(raw["with_state_contents"], bool):
        raise TypeError
    if not _text(raw["location"]).isprintable() or not raw["location"]:
        raise ValueError
    files = tuple(_recorded(each) for each in _list(raw["files"]))
    if len({file.info.path for file in files}) < len(files):
        raise ValueError
    return Manifest(
        version=_text(raw["version"]),
        moment_ms=_number(raw["moment_ms"]),
        location=_text(raw["location"]),
        with_state_contents=raw["with_state_contents"],
        files=files,
        directories=tuple(_path(each) for each in listed),
        not_listed={_path(path): _text(reason) for path, reason in reasons.items()},
        answers=_answers(raw.get("answers", {})),
    )


def _as_json(file: Recorded) -> dict[str, object]:
    found: dict[str, object] = {
        "path": file.info.path,
        "size_bytes": file.info.size_bytes,
        "modified_ms": file.info.modified_ms,
    }
    if file.sha256 is not None:
        taken = {**found, "sha256": file.sha256, "taken_bytes": file.taken_bytes}
        return {**taken, "masked": True} if file.is_masked else taken
    found["not_taken"] = file.not_taken
    return found if file.reason is None else {**found, "reason": file.reason}


def _recorded(raw: dict[str, Any]) -> Recorded:
    size, modified = raw["size_bytes"], raw["modified_ms"]
    info = FileInfo(
        _path(raw["path"]),
        None if size is None else _number(size),
        None if modified is None else _number(modified, least=-_LARGEST),
    )
    if "sha256" not in raw:
        if raw["not_taken"] not in get_args(NotTaken):
            raise ValueError
        reason = raw.get("reason")
        return Recorded(info, not_taken=raw["not_taken"], reason=None if reason is None else _text(reason))
    if "not_taken" in raw or _SHA.fullmatch(raw["sha256"]) is None:
        raise ValueError
    # The mark of its content: another evidence file under the same name never answers with this one's.
    info = info._replace(etag=f"sha256:{raw['sha256']}")
    is_masked = raw.get("masked", False)
    if not isinstance(is_masked, bool):
        raise TypeError
    return Recorded(info, raw["sha256"], _number(raw["taken_bytes"]), is_masked=is_masked)


def _answers(raw: object) -> dict[str, RecordedAnswer]:
    if not isinstance(raw, dict) or len(raw) > MOST_ANSWERS:
        raise TypeError
    for verb, each in raw.items():
        if _VERB.fullmatch(verb) is None or _SHA.fullmatch(each["sha256"]) is None:
            raise ValueError
    return {verb: RecordedAnswer(each["sha256"], _number(each["size_bytes"])) for verb, each in raw.items()}


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise TypeError
    return value


def _path(value: object) -> str:
    path = _text(value)
    if not path or leads_out(path) or path.endswith("/"):
        raise ValueError
    return path


def _number(value: object, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
        raise TypeError
    return value
