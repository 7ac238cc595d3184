"""What is wrong with a RocksDB ``.sst`` file, as clauses behind its name."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "needed": "it needs {path}, and {reason}",
    "short": "it is shorter than the footer of an SST file",
    "magic": "its footer is not that of an SST file",
    "number": "a number in its index cannot be read",
    "outside": "its index names a block at byte {offset:number}, which is outside the file",
    "block": ("its block at byte {offset:number} ({size_bytes:counted byte}) does not match its checksum"),
    "unpack": "a block of its index cannot be unpacked",
    "version": "SST format version {version} is not known here",
    "checksum_type": "checksum type {kind} of SST files is not known here",
    "compression": "compression type {kind} of SST blocks is not known here",
    "index": "its partitioned or hash index is not read here",
    "large_block": "its index unpacks to {size_bytes:size}, more than is read here",
}
