"""What is wrong with the files of the state. Most entries are clauses that follow the name of the file."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # The files that describe an operator.
    "no_operator_info": 'has no "operatorInfo" with an operatorId and an operatorName',
    "no_store_info": 'has no "stateStoreInfo" with a storeName for each store',
    "bad_properties": 'has an "operatorPropertiesJson" that is not a JSON object',
    "other_operator": "describes operator {described}, but lies in the directory of operator {operator_id}",
    # State schemas.
    "schema_empty": "is empty (0 bytes): the write was interrupted",
    "schema_unknown_version": "is a state schema of version {version!r}; v1, v2 and v3 are known",
    "schema_truncated": "ends in the middle (after {size_bytes:counted byte})",
    "schema_not_text": "is not a state schema (text in it cannot be decoded)",
    "schema_surplus": "has {surplus_bytes:counted byte} after the end of the schema",
    "schema_no_type": "has a schema for the {part} that is no data type of Spark",
    "schema_struct": "has a schema for the {part} that {clause}",
    # Sizes.
    "sizes_not_known": (
        "The store does not give the sizes of the state files of operator {operator_id}: its partitions"
        " cannot be compared by size"
    ),
    # Files of the stores.
    "file_empty": "is empty (0 bytes); Spark fails when it needs this file",
    "other_provider": "is not a file of the state store that the offset log names ({provider_class})",
}
