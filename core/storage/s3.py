"""S3 and what speaks like it: s3fs for connections, credentials and all that is not plain, listings in as few
and as short waits as S3 allows.

Three things are slow when s3fs is used as it comes (measured with s3fs 2026.9): a HEAD before each GET, pages
that wait for one another, and about 2 ms of work in botocore for each request. Here a GET is one request, a
large directory is listed in ranges side by side (``s3_listing``), and plain requests take a short way
(``s3_direct``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from fsspec.asyn import sync

from core.messages import say
from core.storage.filesystems import let_go
from core.storage.listing import Content, Look
from core.storage.patience import awaited_in_time
from core.storage.remote import content_of, gather_bounded, look_of
from core.storage.s3_direct import Lane, lane_of
from core.storage.s3_events import PAGE, counting, hang_into
from core.storage.s3_listing import Lister, first_of
from core.storage.s3_pages import Page
from core.storage.store import (
    Folder,
    NotAsked,
    Tally,
    are_credentials_missing,
    are_credentials_refused,
    join,
)

T = TypeVar("T")


class S3Store:
    """The keys below ``root`` (``bucket/prefix``) of the s3fs file system that ``connect`` makes at the first
    use. ``is_direct``: plain requests take the short way where there is one."""

    def __init__(
        self,
        root: str,
        connect: Callable[[], Any],
        at_once: int,
        seconds: float | None = None,
        is_direct: bool = True,
    ) -> None:
        self._root = root
        self._connect = connect
        self._at_once = at_once
        self._seconds = seconds
        self._is_direct = is_direct
        self._there: set[str] = set()
        self._reads_next = 0

    def expect(self, prefixes: Iterable[str]) -> None:
        """Notes that another listing shows something in these directories, which saves their next listing a
        wait."""
        self._there.update(prefixes)

    def expect_reads(self, count: int) -> None:
        """Notes that about so many files are read after the next listing: connections for them are opened
        while it is waited for."""
        self._reads_next = min(count, self._at_once)

    def list(
        self, prefixes: Sequence[str], recursive: bool, first_page: bool, tally: Tally
    ) -> dict[str, Folder]:
        reads, self._reads_next = self._reads_next, 0

        async def listed(client: _Client) -> dict[str, Folder]:
            lister = self._lister(client, first_page)
            await client.connect(reads - len(prefixes))
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [
                        group.create_task(lister.folder(prefix, recursive, prefix in self._there))
                        for prefix in prefixes
                    ]
            except ExceptionGroup as errors:
                raise first_of(errors) from None
            return dict(zip(prefixes, [task.result() for task in tasks], strict=True))

        return self._run(tally, listed)

    def list_without(self, left_out: str, tally: Tally) -> Folder | None:
        """Everything below the root, at any depth, but what is in the directory ``left_out``: one request, or
        two. None when it is longer than one page, or nothing is there."""
        return self._run(tally, lambda client: self._lister(client).without(left_out))

    def list_flat(self, prefixes: Sequence[str], tally: Tally) -> dict[str, Folder]:
        """The whole tree below each prefix, page after page: as few requests as S3 allows, one after another.
        :meth:`list` takes more of them, side by side."""

        async def listed(client: _Client) -> dict[str, Folder]:
            lister = self._lister(client)
            return {prefix: await lister.flat(prefix) for prefix in prefixes}

        return self._run(tally, listed)

    def list_after(self, after: Mapping[str, str], first_page: bool, tally: Tally) -> dict[str, Folder]:
        """One level of each directory: what sorts behind a name."""

        async def listed(client: _Client) -> dict[str, Folder]:
            lister = self._lister(client, first_page)
            found = await asyncio.gather(*(lister.after(prefix, name) for prefix, name in after.items()))
            return dict(zip(after, found, strict=True))

        return self._run(tally, listed)

    def read(self, paths: Sequence[str], tally: Tally) -> dict[str, Content]:
        answers = self._each(paths, _Client.read, tally)
        contents = {path: content_of(answer) for path, answer in zip(paths, answers, strict=True)}
        tally.add(bytes=sum(len(content) for content in contents.values() if isinstance(content, bytes)))
        return contents

    def look(self, paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        answers = self._each(paths, _Client.head, tally)
        return {path: look_of(path, answer) for path, answer in zip(paths, answers, strict=True)}

    def _each(
        self, paths: Sequence[str], call: Callable[[_Client, str], Awaitable[Any]], tally: Tally
    ) -> Sequence[Any]:
        """The answers for each path, in order; an answer can be the exception that was raised."""

        def work(client: _Client) -> Awaitable[Sequence[Any]]:
            calls = [partial(call, client, path) for path in paths]
            return gather_bounded(calls, self._at_once, self._seconds)

        try:
            return self._run(tally, work)
        except NotAsked as error:
            return [error] * len(paths)

    def _lister(self, client: _Client, first_page: bool = False) -> Lister:
        return Lister(client.page, client.key, first_page, self._at_once, self._seconds)

    def _run(self, tally: Tally, work: Callable[[_Client], Awaitable[T]]) -> T:
        """What ``work`` gives, in the thread of the file system's connections. Credentials are read when a
        file system connects and never again; so one whose credentials S3 does not take any more is let go,
        and the same is asked once more with those that are there now."""
        is_last = False
        while True:
            fs = self._connect()
            try:
                answer = self._run_on(fs, tally, work)
            except Exception as error:
                is_refused = are_credentials_refused(error)
                if is_refused or are_credentials_missing(error):
                    let_go(fs)
                if is_last or not is_refused:
                    raise
            else:
                is_refused = isinstance(answer, list) and any(map(_is_refusal, answer))
                if is_refused:
                    let_go(fs)
                if is_last or not is_refused:
                    return answer
            is_last = True

    def _run_on(self, fs: Any, tally: Tally, work: Callable[[_Client], Awaitable[T]]) -> T:
        async def run() -> T:
            counting.set(tally)  # the requests of this task and the tasks it starts
            await _prepare(fs, self._root, self._seconds)
            return await work(_Client(fs, self._root, tally, self._is_direct))

        answer: T = sync(fs.loop, run)
        return answer


class _Client:
    """Sends the requests of one call of the store: the short way where it gives a plain answer, else through
    s3fs."""

    def __init__(self, fs: Any, root: str, tally: Tally, is_direct: bool) -> None:
        self._fs = fs
        self._root = root
        self._tally = tally
        self._is_direct = is_direct
        self._bucket, key, _ = fs.split_path(root)
        self.key = key.strip("/")

    async def page(self, **where: Any) -> Page:
        lane = await self._lane()
        if lane is not None and (found := await lane.page(where, self._tally)) is not None:
            return found
        answer = await _sent(self._fs._call_s3("list_objects_v2", Bucket=self._bucket, **where))
        if PAGE not in answer:
            raise OSError(say("storage.not_a_listing"))
        page: Page = answer[PAGE]
        return page

    async def read(self, path: str) -> bytes:
        lane = await self._lane()
        key = join(self.key, path) if self.key else path
        if lane is not None and (found := await lane.read(key, self._tally)) is not None:
            return found
        # max_concurrency=1 keeps s3fs from asking for the size first.
        content: bytes = await _sent(self._fs._cat_file(join(self._root, path), max_concurrency=1))
        return content

    async def head(self, path: str) -> dict[str, Any]:
        bucket, key, _ = self._fs.split_path(join(self._root, path))
        answer = await _sent(self._fs._call_s3("head_object", Bucket=bucket, Key=key))
        return {"size": answer.get("ContentLength"), "modified": answer.get("LastModified"), **answer}

    async def connect(self, count: int) -> None:
        """Opens connections that the next requests will take."""
        lane = await self._lane() if count > 0 else None
        if lane is not None:
            lane.connect(count)

    async def _lane(self) -> Lane | None:
        if not self._is_direct:
            return None
        return await lane_of(self._fs, self._bucket)


def _is_refusal(answer: object) -> bool:
    return isinstance(answer, Exception) and are_credentials_refused(answer)


async def _prepare(fs: Any, root: str, seconds: float | None) -> None:
    """Connects, with credentials that can be read. Raises :class:`NotAsked` when they cannot, or not within
    ``seconds`` (a program that gives them may wait for somebody)."""

    async def connect() -> Any:
        await fs.set_session()
        client = await fs.get_s3(fs.split_path(root)[0])
        if (credentials := client._request_signer._credentials) is not None:
            await credentials.get_frozen_credentials()
        return client

    _prepare_session(fs)
    try:
        hang_into(await awaited_in_time(connect(), seconds))
    except Exception as error:
        raise NotAsked(error) from error


async def _sent(call: Awaitable[T]) -> T:
    """What S3 answers. A file that this machine does not find or may not read (a token, a certificate) is no
    answer: such an error has a number, those that s3fs makes of answers have none."""
    try:
        return await call
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        if error.errno is None:
            raise
        raise NotAsked(error) from error


_models: list[Any] = []  # botocore's description of AWS, read once for all sessions: about 50 ms each time


def _prepare_session(fs: Any) -> None:
    """The session of a file system that is not connected yet: it has the description that another one read,
    and asks nobody for anything."""
    if fs.session is not None or fs.asynchronous:
        return
    from aiobotocore.session import AioSession

    session = AioSession(**fs.kwargs)
    if session.get_config_variable("data_path") is None:  # whoever names a description of their own gets it
        if _models:
            session.register_component("data_loader", _models[0])
        else:
            _models.append(session.get_component("data_loader"))
    # A role that needs an MFA code (mfa_serial) is asked for on the terminal of the server, in the one thread
    # of all stores: each of them would wait until somebody types there.
    for provider in session.get_component("credential_provider").providers:
        if hasattr(provider, "_prompter"):
            provider._prompter = _ask_nobody
    # As s3fs does itself when it connects.
    fs.session, fs._session_is_owned = session, True


def _ask_nobody(prompt: str) -> str:
    from botocore.exceptions import RefreshWithMFAUnsupportedError

    raise RefreshWithMFAUnsupportedError
