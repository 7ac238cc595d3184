"""The operator directories below ``state/`` against the stateful operators of the query: their number, their
metadata and what their state has for columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import DUPLICATES, EXACT, LOSS, DataEffect, Risk
from core.analysis.forecast.step_verdict import Verdict, failed
from core.analysis.forecast.versions import V40, V43
from core.checkpoint.families import metadata_of
from core.checkpoint.model import CommitEntry, OperatorState
from core.checkpoint.operator_metadata import (
    REAL_TIME_AGGREGATE,
    StateSchema,
    infer_name,
    schema_paths,
    split_schema_path,
)
from core.checkpoint.state import PROVIDER_KEY, provider_of_class, read_schemas, state_inventory
from core.connectors.input_files import folder_of, is_missing_here
from core.messages import Sentence, say
from core.sparklogs.evidence import Certainty, Evidence

# Operators whose state has columns (or stores) of its own, by which it is told apart.
TOLD_APART = {"stateStoreSave", "dedupe", "dedupeWithinWatermark", "symmetricHashJoin", "globalLimit"}
# Real-time mode aggregates with an operator of its own (4.3); either continues with the state of the other
# (observed with 4.3.0: no error, every count exact).
SAME_STATE: Mapping[str | None, str] = {REAL_TIME_AGGREGATE: "stateStoreSave"}
_NUMBER = re.compile(r"\d+")


def check_operators(s: RestartContext) -> Verdict:
    """Operator metadata against the query's stateful operators (4.0 and newer; others compare nothing)."""
    wanted = s.query.operators
    if not s.checkpoint.has_state and not wanted:
        return Verdict("does_not_apply", note=say("forecast_steps.stateless"))
    operators = state_inventory(s.checkpoint).operators if s.checkpoint.has_state else ()
    recorded = {op.operator_id: op.name for op in operators if op.metadata_raw is not None}
    evidence = tuple(Evidence(f"state/{i}/_metadata") for i in recorded)
    elsewhere: tuple[Risk, ...] = ()
    for op in operators:
        verdict = _own_metadata(s, op)
        if verdict is not None and verdict.ok is False:
            return verdict
        elsewhere += verdict.risks if verdict is not None else ()
    sureness: Certainty = "inferred" if elsewhere else "certain"  # nobody looks at the other place
    if wanted is None:
        other = _missing_operator(s, operators) or _other_operator(s, operators)
        if other is not None:
            return other
        note = say("forecast_steps.same_operators")
        is_open = s.first_batch != 0 and s.may_lack_an_operator
        return Verdict(
            evidence=evidence,
            note=note,
            risks=elsewhere,
            certainty="needs_input" if is_open else sureness,
            not_checked=(say("forecast_steps.open_operator_removed"),) if is_open else (),
        )
    asked = dict(enumerate(wanted))
    if s.version < V40:
        return _before_operator_metadata(s, asked, operators)
    if not recorded and operators and not asked:
        return _state_dropped(s, operators)
    if not recorded:
        return Verdict(note=say("forecast_steps.no_operator_metadata"), certainty="inferred")
    if recorded == asked or (s.version >= V43 and _by_state(recorded) == _by_state(asked)):
        return Verdict(evidence=evidence, risks=elsewhere, certainty=sureness)
    why = say("forecast_steps.operators_differ", recorded=_named(recorded), wanted=_named(asked))
    return failed(s, "operators_differ", "OPERATORS_DIFFER", why, *evidence)


def _by_state(operators: Mapping[int, str | None]) -> dict[int, str | None]:
    return {operator_id: SAME_STATE.get(name, name) for operator_id, name in operators.items()}


def _missing_operator(s: RestartContext, operators: tuple[OperatorState, ...]) -> Verdict | None:
    """The failure at an operator that had a directory and has none, while others are there. What tells: a
    directory with a higher number (they have no gaps), one that holds an operator's files under another name
    (``state/1_old``), or state ids of it in the newest commit (state format 2)."""
    there = {operator.operator_id for operator in operators}
    if s.first_batch == 0 or not there:
        return None
    commit = s.commit(s.c)
    named = commit.state_unique_ids if isinstance(commit, CommitEntry) else {}
    expected = {*range(max(there)), *(int(key) for key in named if key.isdecimal())}
    renamed: dict[int, str] = {}
    for put_away in s.operators_put_away:
        number = _NUMBER.search(put_away)
        # A copy beside the original is none; neither is a date an operator's number.
        if number is not None and int(number[0]) <= max(there) + len(s.operators_put_away):
            renamed[int(number[0])] = put_away
    gone = min((expected | set(renamed)) - there, default=None)
    if gone is None:
        return None
    directory = renamed.get(gone)
    why = say("forecast_steps.operator_gone", operator_id=gone)
    if directory is not None:
        why = say("forecast_steps.operator_renamed", operator_id=gone, directory=directory)
    has_metadata = any(operator.metadata_raw is not None for operator in operators)
    at = Evidence(directory or f"state/{gone}")
    if s.version >= V40 and has_metadata:
        return failed(s, "operators_differ", "STATE_FOLDER_MISSING", why, at, certainty="inferred")
    return failed(s.loading, missing_file_error(s), "STATE_FOLDER_MISSING", why, at, certainty="inferred")


def _other_operator(s: RestartContext, operators: tuple[OperatorState, ...]) -> Verdict | None:
    """Operator metadata that cannot be that of the query which wrote the state: another id than its directory
    has, or another name than the columns of the state have."""
    if s.version < V40 or s.first_batch == 0:
        return None
    for op in operators:
        at = Evidence(f"state/{op.operator_id}/_metadata")
        other = next((item for item in op.problems if item.condition == "mismatch"), None)
        if other is not None and other.evidence.path.startswith(at.path):
            why = say("forecast_steps.operator_elsewhere", path=other.evidence.path, clause=other.clause)
            at = other.evidence
            # Spark goes by the ids in the files; directories that changed places differ in their schemas.
            is_there = _described(operators) == {each.operator_id for each in operators}
            error = "key_schema" if is_there else "operators_differ"
            return failed(s, error, "OPERATORS_DIFFER", why, at, certainty="inferred")
        schemas = (s for s in read_schemas(s.checkpoint, op.operator_id) if isinstance(s, StateSchema))
        by_stores = any(part.store.startswith(("left-", "right-")) for part in op.partitions)
        seen = "symmetricHashJoin" if by_stores else infer_name(schemas)
        if op.metadata_raw is not None and {op.name, seen} <= TOLD_APART and op.name != seen:
            why = say(
                "forecast_steps.operator_not_of_state", operator_id=op.operator_id, name=op.name, seen=seen
            )
            return failed(s, "operators_differ", "OPERATORS_DIFFER", why, at, certainty="inferred")
    return None


def _described(operators: tuple[OperatorState, ...]) -> set[int]:
    """The operators that the metadata describe, whatever directories they lie in."""
    return {each.operator_id for each in map(metadata_of, operators) if each is not None}


def _named(operators: Mapping[int, str | None]) -> list[Sentence]:
    return [
        say("forecast_steps.operator", name=name, operator_id=operator_id)
        for operator_id, name in sorted(operators.items())
    ]


def _own_metadata(s: RestartContext, op: OperatorState) -> Verdict | None:
    """transformWithState needs its operator metadata and the schema files that it names, a newer join (state
    formats 3 and 4) its operator metadata; other operators do without."""
    schemas = [file for file in op.own_files if file.kind == "schema"]
    if s.version < V40 or s.first_batch == 0 or not (op.is_transform or schemas):
        return None
    reason = "STATE_DEFINITION_UNREADABLE"
    if not any(file.kind == "metadata" for file in op.own_files):
        at = Evidence(f"state/{op.operator_id}/_metadata")
        details = {"batch": s.first_batch, "operator": op.operator_id}
        return failed(
            s,
            "operator_metadata_missing",
            reason,
            say("forecast_steps.operator_metadata_needed", at=str(at), operator_id=op.operator_id),
            at,
            details=details,
        )
    broken = next(
        (p for p in op.problems if "/_metadata/v2/" in p.evidence.path and not p.is_read_failure), None
    )
    if broken is not None:
        error = "json_cut" if broken.condition == "truncated" else "json_bad"
        why = say("forecast_steps.log_unreadable", path=broken.evidence.path, clause=broken.clause)
        return failed(s, error, reason, why, broken.evidence)
    if not op.is_transform:  # a join starts without its schema files, and where the checkpoint was moved
        return None
    present = {file.path for file in schemas}
    for path in schema_paths(op.metadata_raw):
        own = _below(path, s.location)
        if own is None:  # a copy of a checkpoint reads the files of the original
            return _schema_elsewhere(s, op, path)
        if own not in present:
            why = say("forecast_steps.schema_file_needed", path=own)
            return failed(s, "schema_file_missing", reason, why, Evidence(own), details={"file": path})
    return None


def _schema_elsewhere(s: RestartContext, op: OperatorState, path: str) -> Verdict:
    """Seen with transformWithState on 4.0 and 4.3: a checkpoint that was moved or copied reads the schema
    file of the old place, and every start fails in its batch once that is gone."""
    at = Evidence(next(file.path for file in op.own_files if file.kind == "metadata"))
    place = split_schema_path(path)[0]
    if _is_old_place_gone(s, place):
        why = say("forecast_steps.schema_place_gone", operator_id=op.operator_id, place=place)
        details = {"file": path}
        return failed(
            s, "schema_file_missing", "STATE_SCHEMA_GONE", why, at, details=details, certainty="inferred"
        )
    sentence = say(
        "forecast_steps.schema_elsewhere", operator_id=op.operator_id, place=place, batch_id=s.first_batch
    )
    risk = Risk("STATE_SCHEMA_ELSEWHERE", sentence, (at,), EXACT, "certain", "attention")
    return Verdict(risks=(risk,))


def _is_old_place_gone(s: RestartContext, place: str) -> bool:
    """Whether the directory in which the checkpoint was is gone from this machine, on which the one above it
    still is. One right below the root, such as /tmp, is on every machine and shows nothing, unless this
    checkpoint lies in it too."""
    ck = s.checkpoint
    above, here = folder_of(place), folder_of(ck.location.url)
    shows = above == here or above.count("/") > 1
    return shows and is_missing_here(urlsplit(place).path, above, ck.location, ck.settings)


def _below(path: str, location: str) -> str | None:
    """A path below the checkpoint, relative to it; None when it lies elsewhere. The two may be spelled
    differently (file:/x, /x)."""
    plain, root = urlsplit(path).path or path, (urlsplit(location).path or location).rstrip("/") + "/"
    return plain[len(root) :] if plain.startswith(root) else None


def _before_operator_metadata(
    s: RestartContext, asked: dict[int, str], operators: tuple[OperatorState, ...]
) -> Verdict:
    """To 3.5 nothing compares operators: one that is gone is not missed, another one in its place does not
    fit the schema of its state."""
    if operators and not asked:
        return _state_dropped(s, operators)
    other = next(
        (op for op in operators if op.name is not None and asked.get(op.operator_id, op.name) != op.name),
        None,
    )
    if other is not None:
        now = asked[other.operator_id]
        why = say("forecast_steps.operator_replaced", operator_id=other.operator_id, name=other.name, now=now)
        return failed(
            s,
            "key_schema",
            "OPERATORS_DIFFER",
            why,
            Evidence(f"state/{other.operator_id}"),
            certainty="inferred",
        )
    return Verdict(
        "cannot_be_judged",
        note=say("forecast_steps.operators_not_compared", spark=s.version),
        certainty="needs_input",
    )


def _state_dropped(s: RestartContext, operators: tuple[OperatorState, ...]) -> Verdict:
    """The query has no state any more and nothing stops it: what the state held, and whether a row comes
    again, the names of its files do not tell."""
    data = DataEffect()
    for op in operators:
        data = data.plus((DUPLICATES if (op.name or "").startswith("dedupe") else LOSS).may())
    sentence = say("forecast_steps.state_dropped", spark=s.version)
    return Verdict(risks=(Risk("STATE_DROPPED", sentence, (Evidence("state"),), data),))


def missing_file_error(s: RestartContext) -> str:
    """Which file is missed first where no file of the state is left."""
    on_rocksdb = s.newest is not None and provider_of_class(s.newest.conf.get(PROVIDER_KEY)) == "rocksdb"
    return "state_files_missing_rocksdb" if on_rocksdb else "state_files_missing"
