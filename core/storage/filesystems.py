"""The fsspec file systems of this process: one for each store and set of options, so that connections are
made once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import fsspec
from fsspec.utils import tokenize

from core.errors import UnsupportedLocation
from core.messages import say
from core.storage.clouds import AZURE, demand_credentials, silence_log
from core.storage.location import Location
from core.storage.patience import NoAnswer, in_time
from core.storage.store import NotAsked

_lock = threading.Lock()  # of the two tables below; never held while a store is asked
_making: dict[Hashable, threading.Lock] = {}
_open: OrderedDict[Hashable, Any] = OrderedDict()

# One for each store and set of options; credentials that rotate would add one each time.
MOST_OPEN = 32


def filesystem(location: Location, at_once: int, seconds: float | None = None) -> Any:
    """The fsspec file system for ``location``, connected as the project needs it: no cache of listings,
    ``at_once`` connections. Raises :class:`NoAnswer` when connecting takes longer than ``seconds``,
    :class:`UnsupportedLocation` when it needs options that a text cannot give, :class:`NotAsked` when a
    file that connecting needs is not there or may not be read, and :class:`NoCloudCredentials` when none were
    found for Azure."""
    cls = fsspec.get_filesystem_class(location.protocol)
    options = {**cls._get_kwargs_from_urls(location.url), **location.storage_options}
    if location.protocol == "s3":
        # botocore keeps 10 connections unless it is told otherwise; more requests at once then only wait.
        options["config_kwargs"] = {"max_pool_connections": at_once, **options.get("config_kwargs", {})}
    key = (location.protocol, tokenize(sorted(options.items(), key=lambda item: item[0])))
    with _lock:
        making = _making.setdefault(key, threading.Lock())
        if key in _open:
            _open.move_to_end(key)
            return _open[key]
    # Some connect at once, and a host that does not answer must keep nobody but its own viewers waiting.
    if not making.acquire(timeout=-1 if seconds is None else seconds):
        raise NoAnswer(seconds or 0)
    try:
        with _lock:
            fs = _open.get(key)
        if fs is None:
            fs = in_time(lambda: _connected(cls, options, location.protocol), seconds)
            # A cached listing shows wrong facts while a query runs: a committed batch would look pending.
            fs.dircache.use_listings_cache = False
            with _lock:
                _open[key] = fs
                while len(_open) > MOST_OPEN:
                    _making.pop(
                        _open.popitem(last=False)[0], None
                    )  # a door that still uses it keeps it alive
        return fs
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise NotAsked(error) from error
    except ValueError as error:
        if location.protocol != AZURE or "account_name" not in str(error):
            raise
        raise UnsupportedLocation(
            say("storage.location_no_account", url=location.url), location.url
        ) from error
    except TypeError as error:
        protocol = location.protocol
        raise UnsupportedLocation(say("storage.needs_options", protocol=protocol), location.url) from error
    finally:
        making.release()


def _connected(cls: Any, options: dict[str, Any], protocol: str) -> Any:
    silence_log(protocol)
    fs = cls(**options, skip_instance_cache=True)
    demand_credentials(fs, protocol)
    return fs


def let_go(fs: Any) -> None:
    """Lets go of one file system: the next use connects again, with the credentials that are there then."""
    with _lock:
        for key in [key for key, other in _open.items() if other is fs]:
            del _open[key]
            _making.pop(key, None)


def forget() -> None:
    """Lets go of all file systems; the next use connects again. For tests."""
    with _lock:
        _open.clear()
        _making.clear()
