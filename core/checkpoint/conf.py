"""The settings that Spark pins in each offset log entry: kept once per distinct text, and what changed
between batches."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from core.checkpoint.model import ConfChange, OffsetEntry
from core.sparklogs.json_text import first_value, parse_object

ROW_CHECKSUM_KEY = "spark.sql.streaming.stateStore.rowChecksum.enabled"
"""Whether rows of the state carry a checksum (Spark 4.1 and newer)."""
ENCODING_KEY = "spark.sql.streaming.stateStore.encodingFormat"
"""How rows of the state are encoded: unsaferow, or avro (Spark 4.0 and newer)."""
NOTHING: Mapping[str, str] = MappingProxyType({})


class ConfPool:
    """Parses the metadata line of offset log entries and keeps each distinct conf once.

    The conf is 9/10 of a typical metadata line and changes only when the query restarts with other settings.
    So the text of the conf is cut out and looked up; only a text that was not seen before is parsed. Safe to
    share between threads.
    """

    def __init__(self) -> None:
        self._by_text: dict[str, Mapping[str, str]] = {}
        self._by_items: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self._newest: tuple[str, Mapping[str, str]] = ("", NOTHING)
        self._lock = threading.Lock()

    def same_again(self, text: str, at: int) -> tuple[int, Mapping[str, str]] | None:
        """Where the conf that begins at this place of ``text`` ends, and the conf, when it is the one of the
        line that :meth:`parse` read last: a comparison of bytes. None for any other."""
        newest, conf = self._newest
        return (at + len(newest), conf) if newest and text.startswith(newest, at) else None

    def parse(self, line: str) -> tuple[dict[str, object], Mapping[str, str]]:
        """The fields of a metadata line without ``conf``, and the conf. Raises ValueError when the line is no
        JSON object."""
        start = line.find('"conf":{')
        end = line.find("}", start) if start >= 0 else -1
        if end < 0:
            return self._slow(line)
        text = line[start + len('"conf":') : end + 1]
        known = self._by_text.get(text)
        if known is None:
            try:
                conf = parse_object(text)
            except ValueError:  # a value with a brace in it: let the parser find the end
                return self._slow(line)
            known = self._intern(conf)
            with self._lock:
                known = self._by_text.setdefault(text, known)
        try:
            fields = parse_object(line[:start] + '"conf":0' + line[end + 1 :])
        except ValueError:
            return self._slow(line)
        if fields.get("conf") != 0:  # a second "conf" in the line: leave it to the parser
            return self._slow(line)
        del fields["conf"]
        self._newest = (text, known)
        return fields, known

    def _slow(self, line: str) -> tuple[dict[str, object], Mapping[str, str]]:
        fields = parse_object(first_value(line))  # Spark does not look at what follows either
        conf = fields.pop("conf", None)
        if conf is None:
            return fields, NOTHING
        if not isinstance(conf, dict):
            raise ValueError('"conf" is not an object')
        return fields, self._intern(conf)

    def _intern(self, conf: Mapping[str, object]) -> Mapping[str, str]:
        items = tuple((key, value if isinstance(value, str) else str(value)) for key, value in conf.items())
        with self._lock:
            return self._by_items.setdefault(items, MappingProxyType(dict(items)))


def conf_changes(entries: Iterable[OffsetEntry]) -> list[ConfChange]:
    """The pinned settings that differ from one entry to the next; ``entries`` ascending by batch id. None =
    not in the file."""
    changes: list[ConfChange] = []
    before: OffsetEntry | None = None
    for entry in entries:
        if before is not None and before.conf is not entry.conf:
            keys = sorted(set(before.conf) | set(entry.conf))
            changes += [
                ConfChange(entry.batch_id, key, before.conf.get(key), entry.conf.get(key))
                for key in keys
                if before.conf.get(key) != entry.conf.get(key)
            ]
        before = entry
    return changes


def codec_named(codec: str | None) -> str | None:
    """The codec that a setting names: ``lz4``, or the class ``org.apache.spark.io.LZ4CompressionCodec``.
    lz4 where there is no setting, None for a name that is not known."""
    if codec is None:
        return "lz4"
    name = codec.rpartition(".")[-1].lower().removesuffix("compressioncodec")
    return name if name in ("lz4", "zstd", "snappy", "lzf") else None
