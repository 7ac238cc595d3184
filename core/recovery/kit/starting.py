"""What a start of Spark reads of a checkpoint: whether it is there and fits together."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from core.recovery.kit.files import Files, log_entries
from core.recovery.kit.run import Run
from core.recovery.kit.words import Checks, first_line, show

STATE_FORMAT_CONF = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def newest_in(files: Files, place: str, log: str) -> int | None:
    """The newest batch in a log of a checkpoint."""
    return max(files.numbers(f"{place}/{log}"), default=None)


def offset_file(files: Files, place: str, number: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The header of an offset file and its line per source key."""
    version, header, *lines = files.read(f"{place}/offsets/{number}").splitlines()
    if version == "v1":
        return json.loads(header), {str(key): line for key, line in enumerate(lines)}
    if version == "v2":
        named = (line.split(":", 1) for line in lines if line.strip())
        return json.loads(header), dict(named)
    raise ValueError(f"offsets/{number} has the version {version}")


def readable(read: Callable[[], Any], what: str) -> tuple[Any, Checks]:
    """What a file holds, or a failed check that says why it cannot be read."""
    try:
        return read(), []
    except Exception as error:
        return None, [(False, f"{what} cannot be read: {first_line(error)}")]


def check_start(run: Run, place: str, file_sources: Mapping[str, str], is_async: bool) -> Checks:
    """What a start needs is there and fits together: the logs, a state version in each store, source logs."""
    files = run.files
    return [
        *check_logs(files, place, is_async),
        *check_state_versions(files, place),
        *check_source_logs(files, place, file_sources),
    ]


def check_logs(files: Files, place: str, is_async: bool) -> Checks:
    """The logs are what a start needs: an id, a newest commit, its offsets and those before it, at most one
    batch beyond. ``is_async``: not every batch has files of its own."""
    checks: Checks = []
    found, wrong = readable(
        lambda: str(uuid.UUID(json.loads(files.read(f"{place}/metadata"))["id"])), "metadata"
    )
    checks += wrong or [(True, f"metadata has the query id {found}")]
    committed, planned = newest_in(files, place, "commits"), newest_in(files, place, "offsets")
    if planned is None:
        return [*checks, (False, "there is no offset file")]
    if committed is not None:
        what = f"commits/{committed}"
        text, wrong = readable(lambda: files.read(f"{place}/{what}"), what)
        good = not wrong and re.match(r"v[0-9]+", text) is not None
        checks += wrong or [(good, f"commits/{committed} is the newest commit")]
    last = -1 if committed is None else committed
    fits = planned in (last, last + 1)
    checks.append((fits, f"the newest offset file is {planned}, the newest commit {committed}"))
    needed = [number for number in sorted({planned - 1, planned, max(last, 0)}) if number >= 0]
    if is_async:
        needed = files.numbers(f"{place}/offsets")[-2:]
    for number in needed:
        checks += readable(partial(offset_file, files, place, number), f"offsets/{number}")[1]
    return [*checks, (True, f"offsets {needed} can be read")]


def version_of(name: str) -> int | None:
    """The state version in the name of a state file; None for other files."""
    found = re.fullmatch(r"([0-9]+)(_[^.]+)?\.(delta|snapshot|zip|changelog)", name)
    return None if found is None else int(found[1])


def stores(files: Files, place: str) -> Iterator[tuple[str, str, str, str]]:
    """Every store of every partition: operator, partition, name ("" for the only one), directory."""
    for operator in files.directories(f"{place}/state"):
        for partition in files.directories(f"{place}/state/{operator}") if operator.isdigit() else []:
            if not partition.isdigit():
                continue
            directory = f"{place}/state/{operator}/{partition}"
            there = files.directories(directory)
            named = [name for name in there if name not in ("_metadata", "SSTs", "logs")]
            for name in named or [""]:
                yield operator, partition, name, f"{directory}/{name}".rstrip("/")


def state_format_of(files: Files, place: str) -> int:
    """The format of the state of a checkpoint, from the names of its files."""
    names = [name for *_, at in stores(files, place) for name in files.names(at)]
    return 2 if any("_" in name for name in names if version_of(name) is not None) else 1


def check_state_versions(files: Files, place: str) -> Checks:
    """Every store of every partition has a file of the version that follows the newest commit."""
    committed = newest_in(files, place, "commits")
    if committed is None or not files.names(f"{place}/state"):
        return []
    number, lacking = 0, []
    for operator, partition, name, directory in stores(files, place):
        number += 1
        if committed + 1 not in {version_of(file) for file in files.names(directory)}:
            lacking.append("/".join(part for part in (operator, partition, name) if part))
    if lacking:
        text = f"state version {committed + 1} is missing in {len(lacking)} of {number} stores"
        return [(False, f"{text}, for example in {lacking[0]}")]
    return [(True, f"all {number} stores have state version {committed + 1}")]


def check_source_logs(files: Files, place: str, file_sources: Mapping[str, str]) -> Checks:
    """Each file source (directory of its log by source key) has the entries up to the end of the newest
    offset file."""
    planned = newest_in(files, place, "offsets")
    checks: Checks = []
    for key, directory in file_sources.items() if planned is not None else []:
        assert planned is not None
        lines, wrong = readable(lambda: offset_file(files, place, int(str(planned)))[1], f"offsets/{planned}")
        found = "-" if wrong else lines.get(key, "-")
        if wrong or found == "-":
            checks += wrong
            continue
        up_to = json.loads(found)["logOffset"]
        try:
            log_entries(files, f"{place}/{directory}", up_to)
        except Exception as error:
            checks.append((False, f"source {key}: {first_line(error)}"))
        else:
            checks.append((True, f"source {key}: its log reaches entry {up_to}"))
    return checks


def join_reads(stores: Iterable[str]) -> dict[str, dict[str, str]]:
    """How the state of a join is read: what to call each part, and the options. Store by store where it has
    four: read by side, Spark 4.0 to 4.2 opens HDFS-backed stores for writing, too, and begins deltas in the
    checkpoint that it deletes at the end (4.2.0; not 4.3.0)."""
    known = [name for name in stores if name.endswith(("-keyToNumValues", "-keyWithIndexToValue"))]
    if known:
        return {name: {"storeName": name} for name in known}
    return {side: {"joinSide": side} for side in ("left", "right")}


def state_reads(spark: Any, files: Files, place: str) -> dict[tuple[str, str], dict[str, str]]:
    """What to read so that every store is loaded: operator id and a name to print, with the options."""
    try:
        known = spark.read.format("state-metadata").load(place).collect()
    except Exception:
        known = []
    wanted: dict[tuple[str, str], dict[str, str]] = {}
    for row in known:
        details = json.loads(row["operatorProperties"] or "{}") if "operatorProperties" in row else {}
        operator = str(row["operatorId"])
        if row["operatorName"] == "symmetricHashJoin":
            parts = join_reads([row["stateStoreName"]])
            wanted.update({(operator, part): options for part, options in parts.items()})
        elif details.get("stateVariables"):
            for variable in details["stateVariables"]:
                name = variable["stateName"]
                is_timer = variable["stateVariableType"] == "TimerState"
                wanted[operator, name] = (
                    {"readRegisteredTimers": "true"} if is_timer else {"stateVarName": name}
                )
        else:
            wanted[operator, row["stateStoreName"]] = {"storeName": row["stateStoreName"]}
    for operator, _, name, _ in stores(files, place):
        if not any(operator == known_operator for known_operator, _ in wanted):
            wanted[operator, name] = {"storeName": name} if name else {}
    return wanted


def unread_state(spark: Any) -> Checks:
    """That a Spark without a state reader does not load the state; nothing in a newer one."""
    if int(spark.version.split(".")[0]) >= 4:
        return []
    return [(None, f"the state: Spark {spark.version} has no state reader; the first start loads it")]


def show_unread_state(run: Run, place: str) -> None:
    """The same of the state in ``place``, before anything is done."""
    if run.files.names(f"{place}/state"):
        for _, text in unread_state(run.spark):
            show(f"NOT CHECKED: {text}")


def check_state_loads(run: Run, place: str) -> Checks:
    """Spark's state reader loads every partition of every operator at the newest commit."""
    spark, files = run.spark, run.files
    committed = newest_in(files, place, "commits")
    if not files.names(f"{place}/state"):
        return [(True, "there is no committed state")]
    if committed is None:
        return [(None, "the state: nothing is committed")]
    unread = unread_state(spark)
    if unread:
        return unread
    before = spark.conf.get(STATE_FORMAT_CONF, None)
    spark.conf.set(STATE_FORMAT_CONF, str(state_format_of(files, place)))
    checks: Checks = []
    try:
        for (operator, name), options in state_reads(spark, files, place).items():
            what = f"operator {operator} ({name or 'default'})"
            reader = spark.read.format("statestore").option("operatorId", operator).options(**options)
            try:
                rows = reader.load(place).count()
            except Exception as error:
                checks.append((False, f"the state of {what} cannot be loaded: {first_line(error)}"))
            else:
                checks.append((True, f"the state of {what} loads: {rows} rows after batch {committed}"))
    finally:
        if before is None:
            spark.conf.unset(STATE_FORMAT_CONF)
        else:
            spark.conf.set(STATE_FORMAT_CONF, before)
    return checks


def absolute_paths(files: Files, place: str) -> list[str]:
    """Files of operator metadata that name schema files by their whole path: only transformWithState and
    newer joins write them."""
    found = []
    for operator in files.directories(f"{place}/state"):
        directory = f"{place}/state/{operator}/_metadata/v2"
        found += [f"state/{operator}/_metadata/v2/{number}" for number in files.numbers(directory)]
    return [name for name in found if '"stateSchemaFilePath' in files.read(f"{place}/{name}")]


def with_new_paths(run: Run, text: str) -> str:
    """Operator metadata whose schema files lie below the new checkpoint."""
    scheme = run.files.qualified(run.new_checkpoint)
    pattern = r'"[^"\\]*/(state/[0-9]+/_stateSchema/[^"\\]*)"'
    return re.sub(pattern, lambda found: json.dumps(f"{scheme}/{found[1]}"), text)
