"""Which kind of source wrote an offset: the kinds in order of recognition, and the few forms that need more
than the JSON itself.

>>> kind_of(['{"orders":{"0":5}}']).name
'kafka'
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from core.checkpoint.sources.base import SourceContext, SourceKind
from core.checkpoint.sources.counters import (
    COUNTER,
    MEMORY,
    RATE,
    RATE_CONTINUOUS,
    RATE_MICRO_BATCH,
    SOCKET,
    starts_with_a_time,
)
from core.checkpoint.sources.delta import DELTA, DELTA_SHARING
from core.checkpoint.sources.documents import COSMOS, MONGODB
from core.checkpoint.sources.files import AUTO_LOADER, FILES
from core.checkpoint.sources.forms import as_int, parse
from core.checkpoint.sources.kafka import EVENT_HUBS, KAFKA
from core.checkpoint.sources.kinesis import KINESIS, KINESIS_AWSLABS, KINESIS_DATABRICKS
from core.checkpoint.sources.messaging import PUBSUB, PUBSUB_LITE, PULSAR, REDIS
from core.checkpoint.sources.other import PYTHON, SEQUENTIAL_UNION, UNKNOWN
from core.checkpoint.sources.tables import HUDI, ICEBERG, PAIMON
from core.sparklogs.json_text import is_broken

__all__ = ["KINDS", "KIND_NAMES", "kind_named", "kind_of", "kind_read_with", "parse"]

# The first kind that recognises an offset wins. Behind a kind of the same form (Event Hubs behind Kafka;
# rate, socket and memory behind the bare number) a kind is found by name or by what lies beside the offsets,
# never by form.
KINDS: tuple[SourceKind, ...] = (
    FILES,
    KAFKA,
    DELTA,
    DELTA_SHARING,
    RATE_MICRO_BATCH,
    ICEBERG,
    AUTO_LOADER,
    PUBSUB,
    PAIMON,
    HUDI,
    KINESIS_DATABRICKS,
    KINESIS_AWSLABS,
    KINESIS,
    RATE_CONTINUOUS,
    SEQUENTIAL_UNION,
    MONGODB,
    COSMOS,
    REDIS,
    PULSAR,
    PUBSUB_LITE,
    COUNTER,
    RATE,
    SOCKET,
    MEMORY,
    EVENT_HUBS,
    PYTHON,
    UNKNOWN,
)
FILE_FORMATS = frozenset({"json", "csv", "parquet", "orc", "text", "avro", "xml", "binaryfile"})
"""What Spark's file source is read with."""
KIND_NAMES: tuple[str, ...] = tuple(kind.name for kind in KINDS)
_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_named(name: str) -> SourceKind | None:
    """The kind of this name (a user may know better than the form), None when there is none."""
    return _BY_NAME.get(name)


def kind_read_with(format_name: str | None, topics: str | None = None) -> SourceKind:
    """The kind of a source that is read with this format (``spark.readStream.format(...)``): a kind's own, a
    kind of this name, else files; with topics and no format Kafka."""
    if format_name is None:
        return KAFKA if topics else UNKNOWN
    name = format_name.lower()
    own = next((kind for kind in KINDS if name in (kind.reader_format, kind.name)), None)
    if own is not None:
        return own
    return FILES if name in FILE_FORMATS else UNKNOWN


def kind_of(texts: Iterable[str | None], context: SourceContext | None = None) -> SourceKind:
    """The kind that wrote these offset texts of one source, newest first. Never raises; ends with
    ``unknown``.

    The kind of most of them, so that one edited text does not hide what the source is; of as many the newest
    decides. None (``-``) and ``{}`` say nothing, and neither does a text of no known form (an edited one,
    ``null``). Without any text the initial offset and the file source log decide.
    """
    known = [text for text in texts if text is not None]
    told = [text for text in known if parse(text) != {}]
    told = [text for text in told if not is_broken(text)] or told[:1]
    if told:
        ends = {_kind(text, parse(text), known, context) for text in (told[0], told[-1])}
        if len(ends) > 1:
            kinds = Counter(_kind(text, parse(text), known, context) for text in told)
            del kinds[UNKNOWN]
            ends = {kinds.most_common(1)[0][0]}
        kind = ends.pop()
        first = context.initial if context is not None else None
        is_lost = kind is UNKNOWN and first is not None and KAFKA.recognises(parse(first))
        return KAFKA if is_lost else kind
    if context is not None and context.file_log:
        return FILES
    if context is not None and context.initial is not None:
        # A bare number there is the start time of a rate source (the only source that leaves one), not an
        # offset.
        if starts_with_a_time(context):
            return RATE
        return _kind(context.initial, parse(context.initial), (), context)
    return UNKNOWN


def _kind(text: str, offset: object, known: Sequence[str], context: SourceContext | None) -> SourceKind:
    if as_int(offset) is not None:
        if context is not None and (context.file_log or (context.initial or "").startswith('{"path":')):
            return FILES  # Spark 2.0 and 2.1 wrote the log id alone; its log lies in sources/<n>
        return RATE if starts_with_a_time(context) else COUNTER
    spaced = _is_json_dumps(text, offset)
    for kind in KINDS:
        if not kind.recognises(offset):
            continue
        if spaced and kind in (PUBSUB_LITE, RATE_MICRO_BATCH):
            return PYTHON
        if spaced and kind is KAFKA and _is_python_history(known, context):
            return PYTHON
        if kind is PYTHON and not spaced:
            continue
        return kind
    return UNKNOWN


def _is_json_dumps(text: str, offset: object) -> bool:
    """Whether Python's json.dumps wrote this object: a space after each colon and comma, which Spark's own
    sources never write."""
    if not isinstance(offset, dict) or ": " not in text:
        return False
    try:
        return text.strip() in (json.dumps(offset), json.dumps(offset, ensure_ascii=False))
    except RecursionError:
        return False


def _is_python_history(known: Sequence[str], context: SourceContext | None) -> bool:
    """Whether offsets in Kafka's form come from a Python data source all the same.

    Kafka writes its initial offset and no spaces. One spaced text may be a Kafka offset that a person wrote
    into a transplanted checkpoint; two different ones were written by a running source.
    """
    if context is not None and context.initial is not None:
        return False
    return len(set(known)) > 1 and all(_is_json_dumps(text, parse(text)) for text in known)
