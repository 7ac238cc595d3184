"""A page of an S3 listing, read the short way: no object of a library for each field of each key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import unquote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import unescape

from core.storage.listing import FileInfo

OLD_MARKER = "_$folder$"
"""What EMR and old Hadoop versions leave in place of a directory: an empty object with this ending."""

Entry = tuple[str, str, str, str]
"""Key, time, etag and size as the store wrote them; "" for what it did not say. Plain tuples, because there
can be 440,000 of them."""


class Page(NamedTuple):
    """One answer to ListObjectsV2. ``next_page`` is the token of the page behind it, None on the last one."""

    entries: list[Entry]
    prefixes: list[str]
    next_page: str | None = None


# Entries as AWS, Ceph, MinIO and moto write them. What is written in another way is left to the XML parser.
_OTHER = "<[A-Za-z]+>[^<]*</[A-Za-z]+>"
_ENTRY = re.compile(
    "<Contents><Key>([^<]*)</Key><LastModified>([^<]*)</LastModified>(?:<ETag>([^<]*)</ETag>)?"
    f"(?:{_OTHER})*?<Size>([0-9]+)</Size>(?:{_OTHER})*</Contents>"
)
_BEGIN, _END = "<Contents>", "</Contents>"
_TAGS = re.compile("<[^>]*>")
_FIELDS = ["<Key>", "<LastModified>", "<ETag>", "<Size>"]
_PREFIX = re.compile("<CommonPrefixes><Prefix>([^<]*)</Prefix></CommonPrefixes>")
_CODED = "%+"
_FRAME = ("<IsTruncated", "<NextContinuationToken", "<EncodingType")
_QUOTES = ("&quot;", "&#34;")  # around etags


def parse_page(body: bytes) -> Page:
    """The page in the XML of an answer. Raises ``ValueError`` when it is something else, and
    ``ElementTree.ParseError`` when it is no XML."""
    text = _usual_text(body)
    begin, end = text.find(_BEGIN), text.rfind(_END) + len(_END)
    block, frame = (text[begin:end], text[:begin] + text[end:]) if 0 <= begin < end else ("", text)
    prefixes = _PREFIX.findall(frame)
    rest = _without(frame, "CommonPrefixes")
    is_usual = (
        len(text) > 0
        and not any(strange in frame for strange in ("<!", "&#", "<Contents"))
        and len(prefixes) == frame.count("<CommonPrefixes")
        and all(frame.count(tag) == rest.count(tag) for tag in _FRAME)
    )
    columns = _columns(_entries(block)) if is_usual else None
    root, space = _root(body if columns is None else rest)
    plain: Callable[[str], str] = unquote_plus if root.findtext(space + "EncodingType") == "url" else str
    next_page = None
    if root.findtext(space + "IsTruncated") == "true":
        next_page = root.findtext(space + "NextContinuationToken")
        if not next_page:
            raise ValueError("IsTruncated")  # there is more, and no way to ask for it
    if columns is None:
        return _parsed(root, space, plain, next_page)
    keys, *others = columns
    if any(sign in "".join(keys) for sign in _CODED):
        keys = [plain(key) for key in keys]
    return Page(
        list(zip(keys, *others, strict=True)), [plain(_unescaped(prefix)) for prefix in prefixes], next_page
    )


def _entries(block: str) -> list[Entry] | None:
    """The entries as they are written, from the first to the last; None when there is anything that only the
    XML parser understands."""
    if not block:
        return []
    tags = tuple(_TAGS.findall(block, 0, block.find(_END) + len(_END)))
    if [tag for tag in tags if tag in _FIELDS] == _FIELDS:
        found: list[Entry] = _like(tags).findall(block)
        if len(found) * len(tags) == block.count("<") and "".join([entry[3] for entry in found]).isdecimal():
            return found  # all are written as the first one
    found = _ENTRY.findall(block)
    is_all = len(found) == block.count("<Contents")
    strange = any(tag in block for tag in ("<!", "<CommonPrefixes", *_FRAME))
    return found if is_all and not strange else None


@lru_cache(maxsize=16)
def _like(tags: tuple[str, ...]) -> re.Pattern[str]:
    """What finds entries with the same elements in the same order, which is faster than looking for each."""
    texts = ("([^<]*)" if tag in _FIELDS else "[^<]*" for tag in tags)
    return re.compile("".join(f"{re.escape(tag)}{text}" for tag, text in zip(tags, texts, strict=True)))


def _columns(entries: list[Entry] | None) -> tuple[Sequence[str], ...] | None:
    """Keys, times, etags and sizes, with what XML writes in another way; None when only the XML parser reads
    that."""
    if not entries:
        return None if entries is None else ((), (), (), ())
    keys, stamps, etags, sizes = zip(*entries, strict=True)
    marks: Sequence[str] = etags
    for quote in _QUOTES:
        if quote in etags[0]:
            marks = [etag.replace(quote, '"') for etag in etags]
    signs = "".join([*keys, *marks])
    if "&#" in signs:
        return None
    if "&" in signs:
        return [_unescaped(key) for key in keys], stamps, [_unescaped(mark) for mark in marks], sizes
    return keys, stamps, marks, sizes


def files_of(entries: Sequence[Entry], top: int) -> tuple[set[str], list[FileInfo]] | None:
    """The files of a page and the directories they lie in; ``top`` characters of each key are left out. None
    when a key is a marker of a directory or has a strange name: then each is looked at. Made of columns a
    file costs a third, and there can be 440,000."""
    if not entries:
        return None
    keys, stamps, etags, sizes = zip(*entries, strict=True)
    paths: Sequence[str] = [key[top:] for key in keys] if top else keys
    folders = _folders(paths)
    if folders is None or "" in sizes:
        return None
    times = {stamp: milliseconds(stamp) for stamp in set(stamps)}
    modified_ms = [times[stamp] for stamp in stamps]
    marks = [etag or None for etag in etags]
    return folders, list(map(_as_file, zip(paths, map(int, sizes), modified_ms, marks, strict=True)))


def _folders(paths: Sequence[str]) -> set[str] | None:
    """The directories of all paths; None when one of them is a marker of a directory or strange."""
    text = "\n".join(["", *paths, ""])
    if text.count("\n") != len(paths) + 1 or OLD_MARKER in text:
        return None
    first = paths[0].rpartition("/")[0]
    start = f"\n{first}/"
    if text.count(start) == len(paths) and text.count("/") == len(paths) * start.count("/"):
        return None if f"{start}\n" in text or "//" in start else {first}  # all in one
    folders = {path.rpartition("/")[0] for path in paths}
    for folder in folders:
        if not folder or folder[0] == "/" or folder[-1] == "/" or "//" in folder or f"\n{folder}/\n" in text:
            return None
    return folders


# What FileInfo(*columns) makes, without the work of calling it.
_as_file: Callable[[tuple[str, int, int | None, str | None]], FileInfo] = partial(tuple.__new__, FileInfo)


def _usual_text(body: bytes) -> str:
    """The XML as text; "" when it is encoded in another way."""
    head = body[:100].lower()
    if b"encoding=" in head and b"utf-8" not in head:
        return ""
    try:
        return body.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return ""


def _root(body: bytes | str) -> tuple[ElementTree.Element, str]:
    root = ElementTree.fromstring(body)  # noqa: S314  (botocore reads the same answer with the same parser)
    if not root.tag.endswith("ListBucketResult"):
        raise ValueError(root.tag)  # an error of the server, which botocore knows how to read
    return root, root.tag.removesuffix("ListBucketResult")


def _parsed(
    root: ElementTree.Element, space: str, plain: Callable[[str], str], next_page: str | None
) -> Page:
    entries: list[Entry] = []
    for item in root.iter(space + "Contents"):
        key, modified, etag, size = (
            item.findtext(space + name) or "" for name in ("Key", "LastModified", "ETag", "Size")
        )
        entries.append((plain(key), modified, etag, size))
    prefixes = [plain(item.findtext(space + "Prefix") or "") for item in root.iter(space + "CommonPrefixes")]
    return Page(entries, prefixes, next_page)


def _without(text: str, tag: str) -> str:
    """The XML without what stands from the first to the last element of this name."""
    begin, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
    return text if begin < 0 or end < begin else text[:begin] + text[end + len(tag) + 3 :]


def _unescaped(text: str) -> str:
    return unescape(text, {"&apos;": "'"})


@lru_cache(maxsize=4096)
def milliseconds(text: str) -> int | None:
    """The time of an entry in epoch milliseconds; None when it is none."""
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return None
