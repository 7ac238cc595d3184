"""What is wrong with a RocksDB ``.sst`` file, as clauses behind its name."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "needed": "it needs {path}, and {reason}",
    "short": "it is shorter than the footer of an SST file",
    "magic": "its footer is not that of an SST file",
    "number": "a number in it cannot be read",
    "outside": "its index names a block at byte {offset:number}, which is outside the file",
    "block": ("its block at byte {offset:number} ({size_bytes:counted byte}) does not match its checksum"),
    "unpack": "a block cannot be unpacked",
    "version": "SST format version {version} is not known here",
    "checksum_type": "checksum type {kind} of SST files is not known here",
    "compression": "compression type {kind} of SST blocks is not known here",
    "index": "its partitioned or hash index is not read here",
    "comparator": "its keys are in another order than that of their bytes",
    "global_sequence": "it was ingested from elsewhere",
    "hash_index": "its data blocks have a hash index, which is not read here",
    "entry_kind": "entries of type {kind} are not known here",
    "large_block": "its index unpacks to {size_bytes:size}, more than is read here",
}
