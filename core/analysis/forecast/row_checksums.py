"""State rows with a checksum in front (4.2 and newer) under a Spark that does not know it: whether it refuses
them.

Spark 3.3 to 4.1 take the four bytes of the checksum for the beginning of the row. With the HDFS provider they
look at the first row of each partition that they load (``UnsafeRowUtils.validateStructuralIntegrity``), and
by chance it looks like a row or not: a bit of the checksum says that a column is null, and the column holds
something. Seen with 3.5: of one checkpoint written by 4.3 one partition was refused and the other one read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from core.analysis.forecast.context import RestartContext
from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.operator_metadata import StateSchema, column_fields
from core.checkpoint.state import read_schemas
from core.checkpoint.state_content.framing import Unpacked, unpack
from core.storage import FileInfo

_BYTES = 64 << 20  # so much is read to find the first rows
_FIXED = frozenset(
    {"long", "double", "timestamp", "timestamp_ntz", "integer", "date", "float", "short", "byte", "boolean"}
)
_BITS = {"boolean": 1, "byte": 8, "short": 16, "integer": 32, "float": 32}


def first_refused(s: RestartContext, op: OperatorState, version: int) -> StateFile | None:
    """The file whose first row an older Spark refuses; None when it reads them all, or nothing can be
    said."""
    schemas = {
        item.store: item
        for item in read_schemas(s.checkpoint, op.operator_id)
        if isinstance(item, StateSchema)
    }
    chains = [(schemas[part.store], _chain(part, version)) for part in op.partitions if part.store in schemas]
    files = [file for _, chain in chains for file in chain]
    if sum(file.size_bytes or 0 for file in files) > _BYTES:
        return None
    contents = s.checkpoint.door.read([FileInfo(file.path, file.size_bytes) for file in files])
    unpacked = unpack({path: data for path, data in contents.items() if isinstance(data, bytes)}, op.codec)
    for schema, chain in chains:
        for file in chain:
            content = unpacked.get(file.path)
            row = next(_puts(content.content), None) if isinstance(content, Unpacked) else None
            if row is None:
                continue  # a change that only removes rows
            if not looks_like_a_row(row, _types(schema)):
                return file
            break
    return None


def _chain(part: PartitionState, version: int) -> list[StateFile]:
    """The files that a load of ``version`` reads, in order."""
    files = {(file.kind, file.version): file for file in part.files}
    full = max((v for kind, v in files if kind == "snapshot" and v is not None and v <= version), default=0)
    found = [files.get(("snapshot", full)), *(files.get(("delta", v)) for v in range(full + 1, version + 1))]
    return [file for file in found if file is not None]


def _puts(content: bytes) -> Iterator[bytes]:
    """The values of a delta or snapshot in order, as an older Spark cuts them: to a multiple of eight
    bytes."""
    at = 0
    while at + 4 <= len(content):
        key = struct.unpack_from(">i", content, at)[0]
        at += 4 + key
        if key < 0 or at + 4 > len(content):
            return
        size = struct.unpack_from(">i", content, at)[0]
        at += 4
        if size >= 0:
            yield content[at : at + size // 8 * 8]
            at += size


def _types(schema: StateSchema) -> list[object]:
    return [field.get("type") for field in column_fields(schema.value)]


def looks_like_a_row(row: bytes, types: Sequence[object]) -> bool:
    """Whether bytes pass for an UnsafeRow of these types, by the rules of Spark's check."""
    nulls = (len(types) + 63) // 64 * 8
    fixed = nulls + 8 * len(types)
    if len(row) < fixed or (types and nulls >= len(row)):
        return False
    variable = 0
    for index, kind in enumerate(types):
        is_null = row[index // 8] >> (index % 8) & 1
        value = struct.unpack_from("<q", row, nulls + 8 * index)[0]
        if is_null:
            if value:
                return False
        elif not (isinstance(kind, str) and (kind in _FIXED or _is_small_decimal(kind))):
            offset, size = value >> 32, struct.unpack_from("<i", row, nulls + 8 * index)[0]
            if size < 0 or offset < fixed or offset + size > len(row):
                return False
            variable += size
        elif kind in _BITS and value >> _BITS[kind]:
            return False
    return fixed + variable <= len(row)


def _is_small_decimal(kind: str) -> bool:
    return kind.startswith("decimal(") and int(kind[8:].partition(",")[0]) <= 18
