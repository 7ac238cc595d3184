"""How the sources of a query are read, where a query file leaves that to the checkpoint and the answers."""

from __future__ import annotations

from core.errors import UsageError
from core.messages import say
from core.recovery import RecoveryContext
from core.recovery.readers import SourceReader, answered_readers, source_reader

_WRITES_TO_SOURCE = ("cleansource", "sourcearchivedir")


def readers_of(context: RecoveryContext) -> tuple[SourceReader, ...]:
    """How the sources are read. Raises UsageError that names every answer that is missing."""
    readers = tuple(source_reader(context, source) for source in context.sources)
    readers = readers or answered_readers(context.answers)
    missing = [name for reader in readers for name in reader.missing]
    if not readers:
        missing = ["source.0.format", "source.0.path", "source.0.schema"]
    if missing:
        raise UsageError(say("rehearse.needs", answers=missing))
    return readers


def as_request(reader: SourceReader) -> dict[str, object]:
    """The reader for the process with Spark, without the options that change files at the source."""
    options = {k: v for k, v in reader.options.items() if k.lower() not in _WRITES_TO_SOURCE}
    return {
        "key": reader.key,
        "name": reader.name,
        "format": reader.format,
        "path": reader.path,
        "schema": reader.schema,
        "options": options,
        "secrets": {k: v for k, v in reader.secrets.items() if k.lower() not in _WRITES_TO_SOURCE},
    }
