"""The short way to read a page of a listing gives what an XML parser gives, or leaves the page to it."""

from __future__ import annotations

from urllib.parse import quote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.storage.s3_pages import Page, parse_page

# What XML can write and a store may keep in a key.
TEXTS = st.text(
    st.characters(min_codepoint=0x20, blacklist_categories=("Cs",), blacklist_characters="\x7f\ufffe\uffff"),
    min_size=1,
    max_size=12,
)
STAMP = "2026-11-20T03:12:11.000Z"


def page(
    keys: list[str], prefixes: list[str], token: str, *, url: bool = False, space: str = "", extra: str = ""
) -> bytes:
    """A page as a server writes it. ``space`` stands between the parts of an entry, ``extra`` in each."""

    def written(text: str) -> str:
        return escape(quote_plus(text, safe="/") if url else text)

    entries = "".join(
        f"<Contents>{space}<Key>{written(key)}</Key><LastModified>{STAMP}</LastModified>"
        f"<ETag>&quot;{at}&quot;</ETag>{extra}<Size>{at}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        for at, key in enumerate(keys)
    )
    folders = "".join(
        f"<CommonPrefixes>{space}<Prefix>{written(each)}</Prefix></CommonPrefixes>" for each in prefixes
    )
    frame = "<EncodingType>url</EncodingType>" if url else ""
    if token:
        frame += (
            f"<IsTruncated>true</IsTruncated><NextContinuationToken>{escape(token)}</NextContinuationToken>"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Prefix></Prefix>{frame}{entries}{folders}</ListBucketResult>"
    ).encode()


@given(
    st.lists(TEXTS, max_size=5), st.lists(TEXTS, max_size=3), st.sampled_from(["", 't<&">==']), st.booleans()
)
def test_a_page_is_read_as_an_xml_parser_reads_it(
    keys: list[str], prefixes: list[str], token: str, url: bool
) -> None:
    wanted = Page([(key, STAMP, f'"{at}"', str(at)) for at, key in enumerate(keys)], prefixes, token or None)
    assert parse_page(page(keys, prefixes, token, url=url)) == wanted
    assert parse_page(page(keys, prefixes, token, url=url, space="\n  ")) == wanted
    owner = "<Owner><ID>1</ID><DisplayName>&lt;Contents&gt;</DisplayName></Owner>"
    assert parse_page(page(keys, prefixes, token, url=url, extra=owner)) == wanted
    assert (
        parse_page(page(keys, prefixes, token, url=url, extra="<ChecksumType>FULL</ChecksumType>")) == wanted
    )


def test_what_is_written_with_numbers_or_in_another_encoding_is_read_by_the_parser() -> None:
    body = page(["ab"], [], "").replace(b"<Key>ab</Key>", b"<Key>a&#x80;&#13;b</Key>")
    assert parse_page(body).entries[0][0] == "a\x80\rb"
    body = page(["a\u00e9"], [], "").decode().replace("UTF-8", "ISO-8859-1").encode("latin-1")
    assert parse_page(body).entries[0][0] == "a\u00e9"
    body = page(["ab"], [], "").replace(b"<Key>ab</Key>", b"<Key><![CDATA[a<b]]></Key>")
    assert parse_page(body).entries[0][0] == "a<b"


def test_what_says_there_is_more_is_found_wherever_it_stands() -> None:
    more = b"<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
    body = page(["a", "b"], ["c/"], "").replace(
        b"</Contents><Contents>", b"</Contents>" + more + b"<Contents>"
    )
    assert parse_page(body).next_page == "t"
    assert len(parse_page(body).entries) == 2


def test_a_page_that_says_there_is_more_and_not_how_to_ask_is_no_page() -> None:
    body = page(["a"], [], "t").replace(b"<NextContinuationToken>t</NextContinuationToken>", b"")
    with pytest.raises(ValueError, match="IsTruncated"):
        parse_page(body)


@pytest.mark.parametrize("cut", [40, 200, -3])
def test_half_a_page_is_no_page(cut: int) -> None:
    with pytest.raises((ElementTree.ParseError, ValueError)):
        parse_page(page(["a", "b"], ["c/"], "t")[:cut])
