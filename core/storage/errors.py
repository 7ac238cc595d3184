"""What can go wrong at the door to the files. Every message is one sentence for a person: what is wrong,
where, what to do."""

# ruff: noqa: N818  (the names say what is so; they are part of the contract in docs/architecture.md)
from __future__ import annotations


class StorageError(Exception):
    """A location cannot be read. ``location`` is the URL (never with storage options)."""

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(message)
        self.location = location


class LocationNotFound(StorageError):
    """Nothing is there under this name."""


class AccessDenied(StorageError):
    """The store refused: no permission, or no valid credentials."""


class NotADirectory(StorageError):
    """The location is a file."""


class UnsupportedLocation(StorageError):
    """The text is no location, or no installed package can read this kind of location."""


class NotAllowed(StorageError):
    """This server may not open the location: it lies outside the configured roots."""
