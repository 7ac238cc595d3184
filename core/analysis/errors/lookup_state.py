"""Looking an error up in ``state/``: can every partition load the version that the next batch needs, and
whose state is it?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.analysis.copy_forecast import forecast_rolled_back, why_copy_fails
from core.analysis.errors.lookup_context import CONTENTS, Looking
from core.analysis.errors.model import Statement
from core.analysis.forecast import Query
from core.analysis.forecast.versions import choose_spark
from core.checkpoint.model import OperatorState
from core.checkpoint.rewind import rewind
from core.checkpoint.state import state_inventory
from core.connectors import ConnectorAnswers
from core.messages import say
from core.sparklogs.evidence import Evidence

_OPERATORS = re.compile(r"OperatorName: ([A-Za-z][\w\-]{0,60})")
_SHOWN = 3


def look_state(look: Looking) -> Iterator[Statement]:
    """What is missing in the chains of state files, and the newest version all partitions can rebuild."""
    ck = look.ck
    inventory = state_inventory(ck)
    if not inventory.operators:
        yield Statement(
            say("errors_lookup.state_empty" if ck.has_state else "errors_lookup.state_missing"),
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
            yield from _way_back(look)
        elif needed:
            version = max(v for v in needed if v is not None)
            yield Statement(
                say("errors_lookup.state_loadable", version=version),
                (Evidence("state"),),
                "inferred",
                shows_fault=False if look.says_missing else None,
            )


def _gap(operator: OperatorState, gaps: tuple[tuple[str, str], ...]) -> Statement:
    place, path = gaps[0]
    number, partition, store = (*place.split("/"), "", "")[:3]
    missing = say("errors_lookup.directory", path=path) if path.endswith("/") else path
    version = operator.restorable.needed_version
    if store in ("", "default"):
        sentence = say(
            "errors_lookup.state_gap", version=version, partition=partition, operator=number, path=missing
        )
    else:
        sentence = say(
            "errors_lookup.state_gap_of_store",
            version=version,
            partition=partition,
            operator=number,
            store=store,
            path=missing,
        )
    if len(gaps) > 1:
        sentence = say("errors_lookup.state_gap_more", first=sentence, count=len(gaps) - 1)
    return Statement(
        sentence,
        (Evidence(path.removesuffix(" (0 bytes)").rstrip("/")),),
        operator.restorable.certainty,
        shows_fault=True,
    )


def _way_back(look: Looking) -> Iterator[Statement]:
    """The newest batch that a rewind could go back to."""
    ck = look.ck
    batch = rewind(ck).newest
    if batch is None:
        yield Statement(say("errors_lookup.no_rewind"), (Evidence("state"),))
        return
    spark = str(choose_spark(ck, None).version)
    if why_copy_fails(forecast_rolled_back(ck, batch, spark, Query(), ConnectorAnswers())) is not None:
        yield Statement(say("findings_checks.way_back_fails", batch_id=batch), (Evidence("state"),))
        return
    logs = [i for i in (batch, batch - 1) if i >= 0]
    yield Statement(
        say("errors_lookup.rewind", version=batch + 1, batch=batch),
        (Evidence("state"), *(Evidence(ck.offset_files[i].path) for i in logs)),
        "inferred",
        rewind_to=batch,
    )


def look_operators(look: Looking) -> Iterator[Statement]:
    """Whose state it is, against the operators that the message names."""
    inventory = state_inventory(look.ck)
    names = [operator.name for operator in inventory.operators]
    if not names:
        yield Statement(say("errors_lookup.no_state"), (Evidence("state"),))
        return
    shown = [
        f"{operator.operator_id} {operator.name}"
        if operator.name
        else say("errors_lookup.operator_unnamed", operator=operator.operator_id)
        for operator in inventory.operators
    ]
    evidence = tuple(Evidence(f"state/{operator.operator_id}") for operator in inventory.operators[:_SHOWN])
    for operator in inventory.operators:
        if operator.metadata_raw is None:
            path = f"state/{operator.operator_id}/_metadata"
            wanted = look.main.name == "STDS_FAILED_TO_READ_OPERATOR_METADATA"
            yield Statement(
                say("errors_lookup.operator_metadata_missing", operator=operator.operator_id, path=path),
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
            say("errors_lookup.operators", shown=shown),
            evidence,
            "certain" if certainty == "certain" else "inferred",
        )
        return
    same = _OPERATORS.findall(in_metadata) == names
    now = _OPERATORS.findall(look.value("OpsInCurBatchSeq") or "")
    if same:
        yield Statement(
            say("errors_lookup.operators_as_said", shown=shown, now=now),
            evidence,
            shows_fault=None,
        )
    else:
        yield Statement(
            say("errors_lookup.operators_unlike_said", shown=shown),
            evidence,
        )


def look_size(look: Looking) -> Iterator[Statement]:
    """How large the state is, and its heaviest operator."""
    inventory = state_inventory(look.ck)
    if not inventory.operators:
        return
    heaviest = max(inventory.operators, key=lambda operator: operator.size_bytes or 0)
    partitions = {p.partition_id: 0 for p in heaviest.partitions}
    for partition in heaviest.partitions:
        partitions[partition.partition_id] += partition.size_bytes or 0
    largest = max(partitions, key=lambda i: partitions[i], default=None)
    size_bytes, files = inventory.size_bytes, inventory.file_count
    if largest is None or size_bytes is None:
        sentence = say("errors_lookup.state_size", size_bytes=size_bytes, files=files)
    else:
        sentence = say(
            "errors_lookup.state_size_largest",
            size_bytes=size_bytes,
            files=files,
            partition=largest,
            operator=heaviest.operator_id,
            largest=partitions[largest],
        )
    yield Statement(
        sentence,
        (Evidence(f"state/{heaviest.operator_id}"),),
    )
