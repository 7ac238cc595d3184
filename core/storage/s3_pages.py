"""A page of an S3 listing, read the short way: no object of a library for each field of each key."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import unescape

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
_PREFIX = re.compile("<CommonPrefixes><Prefix>([^<]*)</Prefix></CommonPrefixes>")
_CODED = re.compile("[&%+]")
_FRAME = ("<IsTruncated", "<NextContinuationToken", "<EncodingType")


def parse_page(body: bytes) -> Page:
    """The page in the XML of an answer. Raises ``ValueError`` when it is something else, and
    ``ElementTree.ParseError`` when it is no XML."""
    text = _usual_text(body)
    entries, prefixes = _ENTRY.findall(text), _PREFIX.findall(text)
    frame = _without(_without(text, "Contents"), "CommonPrefixes")
    is_usual = (
        len(entries) == text.count("<Contents")
        and len(prefixes) == text.count("<CommonPrefixes")
        and all(text.count(tag) == frame.count(tag) for tag in _FRAME)
        and bool(text)
    )
    root, space = _root(frame if is_usual else body)
    plain: Callable[[str], str] = unquote_plus if root.findtext(space + "EncodingType") == "url" else str
    next_page = None
    if root.findtext(space + "IsTruncated") == "true":
        next_page = root.findtext(space + "NextContinuationToken")
        if not next_page:
            raise ValueError("IsTruncated")  # there is more, and no way to ask for it
    if not is_usual:
        return _parsed(root, space, plain, next_page)
    if _CODED.search(text, text.find("<Contents>"), text.rfind("</Contents>")):
        entries = [(plain(_unescaped(key)), *more) for key, *more in entries]
    return Page(
        entries,
        [plain(_unescaped(prefix)) for prefix in prefixes],
        next_page,
    )


def _usual_text(body: bytes) -> str:
    """The XML as text, with the quotes around etags as they are; "" when it is encoded in another way or has
    parts that only a parser understands."""
    head = body[:100].lower()
    if (b"encoding=" in head and b"utf-8" not in head) or b"<!" in body or b"&#" in body:
        return ""
    try:
        return body.decode().removeprefix("\ufeff").replace("&quot;", '"')
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
