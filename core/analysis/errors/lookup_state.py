"""Looking an error up in ``state/``: can every partition load the version that the next batch needs, and
whose state is it?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.analysis.errors.lookup_context import CONTENTS, Looking
from core.analysis.errors.model import Statement
from core.checkpoint.model import OperatorState
from core.checkpoint.state import state_inventory
from core.sparklogs.evidence import Evidence

_OPERATORS = re.compile(r"OperatorName: ([A-Za-z][\w\-]{0,60})")
_SHOWN = 3


def look_state(look: Looking) -> Iterator[Statement]:
    """What is missing in the chains of state files, and the newest version that every partition can rebuild."""
    ck = look.ck
    inventory = state_inventory(ck)
    if not inventory.operators:
        word = "has no files" if ck.has_state else "is not there"
        yield Statement(
            f"state/ {word}.",
            (Evidence("state"),),
            shows_fault=True if look.meaning.finding == "STATE_FOLDER_MISSING" else None,
        )
        return
    look.not_checked.append(CONTENTS)
    broken = 0
    for operator in inventory.operators:
        gaps = operator.restorable.broken_partitions
        broken += len(gaps)
        if gaps:
            yield _gap(operator, gaps)
    needed = {operator.restorable.needed_version for operator in inventory.operators} - {None}
    if look.meaning.finding == "STATE_NOT_RESTORABLE":
        if broken:
            yield from _way_back(look, inventory.operators)
        elif needed:
            version = max(v for v in needed if v is not None)
            yield Statement(
                f"By names and sizes every partition can load state version {version}, which the next batch"
                " needs.",
                (Evidence("state"),),
                "inferred",
                shows_fault=False if look.says_missing else None,
            )


def _gap(operator: OperatorState, gaps: tuple[tuple[str, str], ...]) -> Statement:
    place, path = gaps[0]
    number, partition, store = (*place.split("/"), "", "")[:3]
    where = f"partition {partition} of operator {number}" + (
        "" if store in ("", "default") else f" (store {store})"
    )
    more = (
        f" {len(gaps) - 1:,} more partitions or stores of it cannot load it either." if len(gaps) > 1 else ""
    )
    return Statement(
        f"State version {operator.restorable.needed_version} cannot be loaded in {where}: {path} is what is"
        f" missing first.{more}".replace(
            "/ is what is missing first", "/ (the directory) is what is missing first"
        ),
        (Evidence(path.removesuffix(" (0 bytes)").rstrip("/")),),
        operator.restorable.certainty,
        shows_fault=True,
    )


def _way_back(look: Looking, operators: tuple[OperatorState, ...]) -> Iterator[Statement]:
    """The batch that a rewind could go back to: the state of all operators, its offset file and the one
    before it must be there."""
    ck = look.ck
    versions = [operator.restorable.newest_common_version for operator in operators]
    if any(version is None for version in versions):
        yield Statement(
            "There is no version that every partition of every store can rebuild, so a rewind is not"
            " possible.",
            (Evidence("state"),),
        )
        return
    batch = min(version for version in versions if version is not None) - 1
    logs = [i for i in (batch, batch - 1) if i >= 0]
    absent = [f"offsets/{i}" for i in logs if i not in ck.offset_files]
    if absent:
        yield Statement(
            f"The state could go back to batch {batch}, but {' and '.join(absent)}"
            f" {'is' if len(absent) == 1 else 'are'} missing.",
            (Evidence("state"), *(Evidence(path) for path in absent)),
        )
        return
    yield Statement(
        f"Every partition can rebuild state version {batch + 1}, the state after batch {batch}: a rewind can"
        f" go back to batch {batch}.",
        (Evidence("state"), *(Evidence(ck.offset_files[i].path) for i in logs)),
        "inferred",
    )


def look_operators(look: Looking) -> Iterator[Statement]:
    """Whose state it is, against the operators that the message names."""
    inventory = state_inventory(look.ck)
    names = [operator.name for operator in inventory.operators]
    if not names:
        yield Statement("This checkpoint has no state.", (Evidence("state"),))
        return
    shown = ", ".join(
        f"{operator.operator_id} {operator.name or '(name not known)'}"
        for operator in inventory.operators[:_SHOWN]
    )
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    evidence = tuple(Evidence(f"state/{operator.operator_id}") for operator in inventory.operators[:_SHOWN])
    for operator in inventory.operators:
        if operator.metadata_raw is None:
            path = f"state/{operator.operator_id}/_metadata"
            wanted = look.main.name == "STDS_FAILED_TO_READ_OPERATOR_METADATA"
            yield Statement(
                f"The description of operator {operator.operator_id} ({path}) is not there.",
                (Evidence(path),),
                shows_fault=wanted or None,
            )
    in_metadata = look.value("OpsInMetadataSeq")
    certainty = (
        "certain"
        if all(operator.name_certainty == "certain" for operator in inventory.operators)
        else "inferred"
    )
    if in_metadata is None or None in names:
        yield Statement(
            f"The state here is of operator {shown}{more}.",
            evidence,
            "certain" if certainty == "certain" else "inferred",
        )
        return
    same = _OPERATORS.findall(in_metadata) == names
    now = ", ".join(_OPERATORS.findall(look.value("OpsInCurBatchSeq") or "")) or "none"
    if same:
        yield Statement(
            f"The state here is of operator {shown}{more}, as the message says; the query that was started"
            f" has: {now}.",
            evidence,
            shows_fault=None,
        )
    else:
        yield Statement(
            f"The state here is of operator {shown}{more}, and the message speaks of other ones: it is from"
            " another checkpoint, or of an earlier moment.",
            evidence,
        )


def look_size(look: Looking) -> Iterator[Statement]:
    """How large the state is, and its heaviest operator."""
    inventory = state_inventory(look.ck)
    if not inventory.operators:
        return
    heaviest = max(inventory.operators, key=lambda operator: operator.size_bytes)
    partitions = {p.partition_id: 0 for p in heaviest.partitions}
    for partition in heaviest.partitions:
        partitions[partition.partition_id] += partition.size_bytes
    largest = max(partitions, key=lambda i: partitions[i], default=None)
    where = (
        f"; partition {largest} of operator {heaviest.operator_id} has {partitions[largest]:,}"
        if largest is not None
        else ""
    )
    yield Statement(
        f"state/ has {inventory.size_bytes:,} bytes in {inventory.file_count:,} files{where}.",
        (Evidence(f"state/{heaviest.operator_id}"),),
    )
