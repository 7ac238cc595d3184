"""What is hung into botocore: requests are counted, listings are read the short way, requests that the store
turns away are remembered, and a request can be watched without being sent."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from xml.etree import ElementTree

from core.storage.s3_pages import parse_page
from core.storage.store import Tally

PAGE = "Page"
"""Where the answer to a listing has its :class:`core.storage.s3_pages.Page`."""

counting: ContextVar[Tally | None] = ContextVar("counting", default=None)
"""What counts the requests of this task and of the tasks it starts."""

_watching: ContextVar[list[Any] | None] = ContextVar("watching", default=None)


def hang_into(client: Any) -> None:
    """Does all that for a client of botocore. Once more changes nothing."""
    events = client.meta.events
    events.register("before-send.s3", _before_send, unique_id="checkpoint-explorer-send")
    events.register("response-received.s3", _note_busy, unique_id="checkpoint-explorer-busy")
    # Spelled with "*" because that is called before botocore's own handler, which would parse the whole page
    # to see that it is no error.
    events.register("before-parse.*.ListObjectsV2", _read_listing, unique_id="checkpoint-explorer-listing")


async def watched(fs: Any, operation: str, **parameters: Any) -> Any:
    """The request that s3fs and botocore would send. It is not sent and not counted."""
    seen: list[Any] = []
    token = _watching.set(seen)
    try:
        await fs._call_s3(operation, **parameters)
    finally:
        _watching.reset(token)
    (request,) = seen
    return request


def _before_send(request: Any, event_name: str, **_: Any) -> Any:
    seen = _watching.get()
    if seen is not None:
        from aiobotocore.awsrequest import AioAWSResponse

        seen.append(request)
        return AioAWSResponse(request.url, 200, {}, _Nothing())
    tally = counting.get()
    if tally is not None:
        operation = event_name.rsplit(".", 1)[-1]
        if operation.startswith("List"):
            tally.add(list=1)
        elif request.method == "HEAD":
            tally.add(head=1)
        else:
            tally.add(get=1)
    return None


def _note_busy(response_dict: dict[str, Any] | None, parsed_response: Any, **_: Any) -> None:
    """Remembers that the store turned a request away, which botocore then sends again."""
    tally = counting.get()
    status = (response_dict or {}).get("status_code")
    if tally is None or status is None:
        return
    if status == 429 or status >= 500:
        code = (parsed_response or {}).get("Error", {}).get("Code", "")
        tally.turned_away = f"{status} {code}".rstrip()
    else:
        tally.turned_away = ""


class _Nothing:
    """The body of the answer to a request that was not sent."""

    async def read(self) -> bytes:
        return b"<ListBucketResult/>"

    def close(self) -> None:
        pass


def _read_listing(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Takes the entries out of a listing before botocore reads it."""
    if response_dict["status_code"] != 200:
        return
    try:
        page = parse_page(response_dict["body"])
    except (ElementTree.ParseError, ValueError):
        return  # botocore reads it, or says what is wrong
    customized_response_dict[PAGE] = page
    response_dict["body"] = b"<ListBucketResult/>"
