"""The zip of an evidence file, written and read by Python's own ``zipfile``. The same members give the same
bytes. Of a zip that somebody sent, every size, name and flag is looked at before anything is unpacked."""

from __future__ import annotations

import io
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from struct import error as StructError  # noqa: N812
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from core.errors import EvidenceRefused
from core.messages import say

MOST_MEMBERS = 500_000
MOST_NAME = 16_384
_FIRST_BYTES, _END = b"PK\3\4", b"PK\5\6"
_END_BYTES = 22  # without a comment
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip can say
_REGULAR_FILE = 0o100644
_ENCRYPTED = 0x2041
# What zipfile raises on bytes that are no zip, on packings it does not know, and on what ends too early.
_BROKEN = (
    BadZipFile,
    NotImplementedError,
    RuntimeError,
    zlib.error,
    StructError,
    EOFError,
    ValueError,
    OSError,
)


class ZipWriter:
    """Writes members in the order they come. Leaving the context ends the zip."""

    def __init__(self, target: BinaryIO) -> None:
        self._zip = ZipFile(target, "w", ZIP_DEFLATED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add(self, name: str, content: bytes) -> None:
        """Adds a member. ``name`` is ASCII."""
        info = ZipInfo(name, _MOMENT)
        info.create_system = 3  # Unix, on whatever system it is written
        info.external_attr = _REGULAR_FILE << 16
        self._zip.writestr(info, content, ZIP_DEFLATED, 6)


@dataclass(frozen=True, slots=True)
class CheckedZip:
    """A zip in memory. ``members``: what its directory says, by name. Safe to read from many threads."""

    data: bytes
    members: Mapping[str, ZipInfo]
    _zip: ZipFile

    def read(self, name: str) -> bytes:
        """The content of a member; never more than the directory says. Raises :class:`EvidenceRefused` when
        it is not what the directory says."""
        info = self.members[name]
        try:
            with self._zip.open(info) as member:
                content = member.read(info.file_size + 1)
        except _BROKEN as error:
            raise EvidenceRefused(say("evidence.damaged", name=_shown(name))) from error
        if len(content) != info.file_size:
            raise EvidenceRefused(say("evidence.damaged", name=_shown(name)))
        return content


def checked_zip(data: bytes, most_bytes: int) -> CheckedZip:
    """Looks at a zip without unpacking anything. All its members together have ``most_bytes`` at most.

    Raises :class:`EvidenceRefused` for what is no zip, is cut or encrypted, has links, names that lead out or
    stand twice, or more and larger members than are read.
    """
    if data[:4] not in (_FIRST_BYTES, _END):
        raise EvidenceRefused(say("evidence.no_zip"))
    if data[-_END_BYTES:][:4] != _END:
        raise EvidenceRefused(say("evidence.cut"))
    try:
        opened = ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise EvidenceRefused(say("evidence.cut")) from error
    infos = opened.infolist()
    if len(infos) > MOST_MEMBERS:
        raise EvidenceRefused(say("evidence.too_many", limit=MOST_MEMBERS))
    if sum(info.file_size for info in infos) > most_bytes:
        raise EvidenceRefused(say("evidence.too_large", limit_bytes=most_bytes))
    members: dict[str, ZipInfo] = {}
    for info in infos:
        name = info.orig_filename
        if info.compress_size > len(data):
            raise EvidenceRefused(say("evidence.cut"))
        if info.flag_bits & _ENCRYPTED:
            raise EvidenceRefused(say("evidence.encrypted"))
        if stat.S_ISLNK(info.external_attr >> 16):
            raise EvidenceRefused(say("evidence.link"))
        if leads_out(name) or "\\" in name:
            raise EvidenceRefused(say("evidence.name_leads_out", name=_shown(name)))
        if name in members:
            raise EvidenceRefused(say("evidence.name_twice", name=_shown(name)))
        members[name] = info
    return CheckedZip(data, members, opened)


def leads_out(path: str) -> bool:
    """Whether a path is absolute, or has parts that lead elsewhere."""
    return path.startswith("/") or "\0" in path or not {".", ".."}.isdisjoint(path.split("/"))


def _shown(name: str) -> str:
    return ascii(name[:80])[1:-1]
