"""The one read-only door to files: locations, listings, contents. See ``docs/architecture.md`` for the
contract."""

from core.storage.door import Door
from core.storage.listing import Content, FileInfo, Gone, Listing, Look, ReadFailure, Requests, file_info
from core.storage.location import Location, parse_location

__all__ = [
    "Content",
    "Door",
    "FileInfo",
    "Gone",
    "Listing",
    "Location",
    "Look",
    "ReadFailure",
    "Requests",
    "file_info",
    "parse_location",
]
