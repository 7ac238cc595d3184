"""The fsspec file systems of this process: one for each store and set of options, so that connections are
made once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import fsspec
from fsspec.utils import tokenize

from core.storage.location import Location

_lock = threading.Lock()
_open: OrderedDict[Hashable, Any] = OrderedDict()

# One for each store and set of options; credentials that rotate would add one each time.
MOST_OPEN = 32


def filesystem(location: Location, at_once: int) -> Any:
    """The fsspec file system for ``location``, connected as the project needs it: no cache of listings,
    ``at_once`` connections."""
    cls = fsspec.get_filesystem_class(location.protocol)
    options = {**cls._get_kwargs_from_urls(location.url), **location.storage_options}
    if location.protocol == "s3":
        # botocore keeps 10 connections unless it is told otherwise; more requests at once then only wait.
        options["config_kwargs"] = {"max_pool_connections": at_once, **options.get("config_kwargs", {})}
    key = (location.protocol, tokenize(sorted(options.items(), key=lambda item: item[0])))
    with _lock:
        fs = _open.get(key)
        if fs is not None:
            _open.move_to_end(key)
        if fs is None:
            fs = cls(**options, skip_instance_cache=True)
            # A cached listing shows wrong facts while a query runs: a committed batch would look pending.
            fs.dircache.use_listings_cache = False
            _open[key] = fs
            while len(_open) > MOST_OPEN:
                _open.popitem(last=False)  # a door that still uses it keeps it alive
        return fs


def forget() -> None:
    """Lets go of all file systems; the next use connects again. For tests, and after credentials were
    changed."""
    with _lock:
        _open.clear()
