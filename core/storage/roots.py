"""Which locations may be opened, how a link names them, and which checkpoints lie below a configured root.

A link carries ``root/relative/path``: the name of a root from the settings and the path below it, never a URL
of that root or its storage options. Bound to a loopback address the app opens any location, because only its
own user can ask; bound to anything else only what lies below the roots.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from core.errors import LocationNotFound, NotAllowed, StorageError
from core.messages import say
from core.settings import PREFIX, Settings, is_loopback
from core.storage import incident_store
from core.storage.checkpoint_search import Search
from core.storage.location import Location, child_of, parse_location

ROOTS = f"{PREFIX}ROOTS"


@dataclass(frozen=True)
class FoundCheckpoints:
    """The checkpoints below a root.

    ``links`` are ``root/relative/path`` in text order (just ``root`` when the root itself is a checkpoint).
    ``is_complete`` is False when ``checkpoints_per_root`` stopped the search after ``listed`` directories.
    ``skipped``, ``too_deep``: what else the :class:`Search` left out.
    """

    root: str
    links: tuple[str, ...]
    listed: int
    is_complete: bool
    skipped: tuple[str, ...] = ()
    too_deep: int = 0


def roots(settings: Settings) -> dict[str, Location]:
    """The configured roots by name. Raises :class:`StorageError` when the URL of one is no location."""
    found = {}
    for name, root in settings.roots.items():
        try:
            found[name] = parse_location(root.url, root.storage_options.get_secret_value(), name)
        except StorageError as error:
            sentence = say("storage.root_unusable", name=name, setting=ROOTS, error=error)
            raise type(error)(sentence, root.url) from error
    return found


def require_roots(bound_to: str | None, settings: Settings) -> None:
    """Raises :class:`NotAllowed` when the app must not start: others can reach it, and nobody said what it
    may open.

    ``bound_to`` is the address the server really listens on (Streamlit's ``server.address``); None and "" are
    all interfaces.
    """
    if not is_loopback(bound_to) and settings.is_private:
        raise NotAllowed(
            say(
                "storage.server_address",
                bound_to=bound_to or "all interfaces",
                setting=f"{PREFIX}ADDRESS",
                address=settings.address,
                wanted=bound_to or "0.0.0.0",  # noqa: S104
            )
        )
    if not settings.is_private and not (settings.has_own_roots and settings.roots):
        raise NotAllowed(say("storage.server_without_roots", address=settings.address, setting=ROOTS))
    roots(settings)


def locate(text: str, settings: Settings) -> Location:
    """The location that a person typed or a link carries: a URL, a path, or ``root/relative/path``.

    A URL below a root gets the storage options of that root. A text whose first part is the name of a root
    means the root, also when a relative local path of that name exists. ``evidence:...`` is a file in the
    incident store. Raises :class:`StorageError` for a
    text that is no location and :class:`NotAllowed` for one that may not be opened.
    """
    if incident_store.is_name(text):
        return incident_store.evidence_location(text, settings)
    if text.strip().split("/", 1)[0] in settings.roots:
        return resolve_link(text, settings)
    location = parse_location(text)
    below = _below_root(location, settings)
    if below is not None:
        root, relative = below
        return child_of(root, relative) if relative else root
    if not settings.is_private:
        raise NotAllowed(
            say(
                "storage.outside_roots",
                location=location.url,
                roots=", ".join(settings.roots),
                setting=ROOTS,
            ),
            location.url,
        )
    return location


def resolve_link(link: str, settings: Settings) -> Location:
    """The location that ``root/relative/path`` names.

    Raises :class:`LocationNotFound` when no root has that name and :class:`NotAllowed` when the path leads
    out of the root.
    """
    name, _, relative = link.strip().strip("/").partition("/")
    configured = roots(settings)
    if name not in configured:
        raise LocationNotFound(
            say(
                "storage.link_no_root",
                link=link,
                name=name,
                roots=", ".join(configured) or "none",
                setting=ROOTS,
            ),
            link,
        )
    root = configured[name]
    # A percent sign may be part of a name: behind it only steps that lead elsewhere are looked for.
    steps = _decoded(relative).split("/")
    has_empty_part = bool(relative) and "" in relative.split("/")
    if has_empty_part or any(step in (".", "..") or "\0" in step for step in steps):
        raise NotAllowed(say("storage.link_leads_out", link=link, name=name), link)
    location = child_of(root, relative) if relative else root
    if not _is_below(location, root):
        raise NotAllowed(say("storage.link_symbolic", link=link, name=name), link)
    return location


def link_for(location: Location, settings: Settings) -> str | None:
    """How a link names ``location``: ``root/relative/path`` or ``evidence:...``, or None when it is neither
    below a root nor in the incident store."""
    if location.evidence_id:
        return location.name
    below = _below_root(location, settings)
    if below is None:
        return None
    root, relative = below
    return f"{root.name}/{relative}" if relative else root.name


def find_checkpoints(
    root: str, settings: Settings, on_found: Callable[[tuple[str, ...]], object] | None = None
) -> FoundCheckpoints:
    """The checkpoints below the root of this name, as a :class:`Search` finds them; ``on_found`` gets their
    links meanwhile, some at a time. Raises :class:`StorageError` when the root cannot be listed."""
    search = Search(resolve_link(root, settings), settings)
    links: list[str] = []
    for paths in search:
        found = tuple(f"{root}/{path}" if path else root for path in paths)
        links += found
        if on_found is not None:
            on_found(found)
    return FoundCheckpoints(
        root,
        tuple(sorted(links)),
        search.listed,
        search.is_complete,
        tuple(search.skipped),
        search.too_deep,
    )


def _below_root(location: Location, settings: Settings) -> tuple[Location, str] | None:
    """The root that holds ``location`` and the path below it. The deepest root wins."""
    best: tuple[Location, str] | None = None
    for root in roots(settings).values():
        if _is_below(location, root) and (best is None or len(root.path) > len(best[0].path)):
            best = (root, _relative(location, root))
    return best


def _is_below(location: Location, root: Location) -> bool:
    if location.protocol != root.protocol or not _same_store(location.storage_options, root.storage_options):
        return False
    path = _normal(location)
    return _inside(path, _normal(root)) and not {".", ".."}.intersection(path.split("/"))


def _same_store(options: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    # A pasted URL comes without options and is then opened with those of the root.
    return not options or options == wanted


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _relative(location: Location, root: Location) -> str:
    if _inside(location.path, root.path):
        return location.path[len(root.path.rstrip("/")) :].strip("/")
    return _normal(location)[len(_normal(root).rstrip("/")) :].strip("/")


def _normal(location: Location) -> str:
    """The path with nothing left in it that could lead elsewhere."""
    if location.is_local:
        return os.path.realpath(location.path)
    return _decoded(location.url)


def _decoded(text: str) -> str:
    """``text`` without percent signs that a store or a library could decode on the way."""
    while (plain := unquote(text)) != text:
        text = plain
    return text
