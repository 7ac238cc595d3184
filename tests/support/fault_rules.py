"""What an answer may say when one file could not be read: what the healthy one says, or that it was not read.

No certain statement and no start position may differ from the healthy answer. What is not certain may differ,
as long as the answer names what could not be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.support.faults import Run

COULD_NOT_ANSWER = 10
NOT_READ = "FILE_NOT_READ"


def differences(verb: str, healthy: Run, faulty: Run, path: str) -> list[str]:
    """What is wrong with the answer under a fault at ``path`` (below the place, ``offsets/5``)."""
    if faulty.trace:
        return [f"traceback {faulty.trace}"]
    if faulty.document is None:
        if faulty.status == COULD_NOT_ANSWER and faulty.error.strip():
            return []
        return [f"exit {faulty.status} without an answer: {faulty.error.strip()}"]
    if _bare(healthy.document) == _bare(faulty.document):
        return [] if faulty.status == healthy.status else [f"exit {healthy.status} -> {faulty.status}"]
    found = list(_RULES[verb](healthy.document, faulty.document))
    if faulty.status not in (healthy.status, COULD_NOT_ANSWER):
        found.append(f"exit {healthy.status} -> {faulty.status}")
    if not (_counts(healthy, faulty) if verb == "metrics" else _names(faulty, path)):
        found.append(f"it differs and does not name {path}")
    return found


VOLATILE = frozenset({"read", "read_at", "read_at_ms", "age_seconds", "seconds"})
VOLATILE_METRICS = ("_read_seconds", "_survey_timestamp_seconds", "_survey_duration_seconds")


def _bare(document: Any) -> Any:
    """Without what differs from run to run."""
    if isinstance(document, dict):
        if str(document.get("name")).endswith(VOLATILE_METRICS):
            return None
        return {key: _bare(value) for key, value in document.items() if key not in VOLATILE}
    return [_bare(item) for item in document] if isinstance(document, list) else document


def _names(faulty: Run, path: str) -> bool:
    return path.rsplit("/", 1)[-1] in json.dumps(faulty.document, ensure_ascii=False)


def _counts(healthy: Run, faulty: Run) -> bool:
    """Metrics name no files: they count what could not be read, or the root says that it is not whole. Where
    samples are left out and nothing else differs, that is what they say."""
    found = {_sample(name, item): (name, item) for name, item in _samples(faulty.document)}
    values = {name: item["value"] for name, item in found.values()}
    if values.get("spark_checkpoint_not_read") or not values.get("spark_checkpoint_root_is_complete"):
        return True
    known = {_sample(name, item): item["value"] for name, item in _samples(healthy.document)}
    other = [
        item for key, (name, item) in found.items() if known.get(key) != item["value"] and name not in FIGURES
    ]
    return not other or any(item["labels"].get("status") == "unreadable" for item in other)


def _forecast(healthy: Any, faulty: Any) -> Iterator[str]:
    if faulty["certainty"] == "certain":
        yield from _equal(healthy, faulty, "outcome", "batch_id", "fails_at", "error", "data", "then")
        yield from _equal(healthy, faulty, "reason", "certainty")
    if faulty["outcome"] == "fail":
        yield from _equal(healthy, faulty, "outcome", "reason", "fails_at")
    elif faulty["outcome"] != healthy["outcome"] and faulty["certainty"] != "needs_input":
        yield f"outcome {healthy['outcome']} -> {faulty['outcome']} ({faulty['certainty']})"
    for name, value in faulty["data"].items():
        if value == "exact" and healthy["data"][name] != "exact":
            yield f"data.{name} {healthy['data'][name]} -> exact"
    known = {step["id"]: step for step in healthy["steps"]}
    for step in faulty["steps"]:
        if step["ok"] is False and known[step["id"]]["ok"] is not False:
            yield f"step {step['id']} fails: {step['note']}"
    yield from _certain_among(healthy["risks"], faulty["risks"], "id")
    yield from _sink(healthy["sink"], faulty["sink"])
    yield from _sources(healthy["sources"], faulty["sources"])
    yield from _impacts(healthy, faulty)


def _sink(healthy: Any, faulty: Any) -> Iterator[str]:
    if healthy is None or faulty is None:
        if faulty is not None:
            yield "a sink that the healthy answer has not"
        return
    for key in ("holds_up_to_batch", "pending", "skips_up_to"):
        if faulty[key] is not None and faulty[key] != healthy[key]:
            yield f"sink.{key} {healthy[key]} -> {faulty[key]}"
    if faulty["certainty"] == "certain":
        yield from _equal(healthy, faulty, "sentence", "holds_up_to_batch", "pending", "skips_up_to", "kind")


def _sources(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {source["key"]: source for source in healthy}
    for source in faulty:
        before = known.get(source["key"])
        if before is None:
            yield f"source {source['key']} is new"
            continue
        for name, value in source.items():
            if isinstance(value, int) and value != before.get(name):
                yield f"source.{name} {before.get(name)} -> {value}"
        if source.get("certainty") == "certain" and source.get("sentence") != before.get("sentence"):
            yield f"source sentence: {before.get('sentence')} -> {source.get('sentence')}"


def _impacts(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {impact["start"]: impact for impact in healthy["price_of_deleting"]}
    for impact in faulty["price_of_deleting"]:
        before = known.get(impact["start"])
        if before is None:
            yield f"a way of starting again is new: {impact['start']}"
            continue
        for name in ("repeats_rows", "loses_rows"):
            if impact[name] is not None and impact[name] != before[name]:
                yield f"{impact['start']}.{name} {before[name]} -> {impact[name]}"
        if impact["certainty"] == "certain" and impact["sentence"] != before["sentence"]:
            yield f"{impact['start']}: {before['sentence']} -> {impact['sentence']}"


def _check(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {_finding(item) for item in healthy["findings"]}
    for item in faulty["findings"]:
        if item["id"] == NOT_READ:
            if item["severity"] != "attention" or item["certainty"] != "needs_input":
                yield f"{NOT_READ} is {item['severity']}, {item['certainty']}"
            continue
        if _finding(item) in known:
            continue
        ids = {(h["id"], h["severity"]) for h in healthy["findings"]}
        if item["certainty"] == "certain":
            yield f"certain: {item['id']} {item['evidence']}: {item['sentence']}"
        elif (
            item["severity"] in ("blocks_restart", "data_risk") and (item["id"], item["severity"]) not in ids
        ):
            yield f"{item['severity']}: {item['id']} {item['evidence']}: {item['sentence']}"
    silent = not any(item["id"] == NOT_READ for item in faulty["findings"])
    if silent and len(faulty["not_checked"]) <= len(healthy["not_checked"]):
        yield "nothing says that a file was not read"


def _finding(item: Any) -> tuple[Any, ...]:
    return (item["id"], item["severity"], tuple(item["evidence"]))


def _resume(healthy: Any, faulty: Any) -> Iterator[str]:
    if faulty["sources"]:
        yield from _equal(healthy, faulty, "batch", "committed")
    known = {source["key"]: source for source in healthy["sources"]}
    for source in faulty["sources"]:
        before = known.get(source["key"])
        if before is None:
            yield f"a position that the healthy answer has not: {source['key']}"
        elif source["options"] is not None:
            yield from _equal(before, source, "options", "exact", "skips", "code", "kind")
            if not before["repeats"].startswith(source["repeats"]):  # an amount may be left out
                yield from _equal(before, source, "repeats")
        elif source["exact"] or source["certainty"] == "certain":
            yield from _equal(before, source, "options", "exact", "certainty")


def _inspect(healthy: Any, faulty: Any) -> Iterator[str]:
    yield from _equal(healthy, faulty, "last_committed_batch", "pending_batch")
    for log in ("offsets", "commits"):
        yield from _equal(healthy[log], faulty[log], "ids", "missing", "missing_count")
    if faulty["query_id"] not in (None, healthy["query_id"]):
        yield f"query_id {faulty['query_id']}"
    batches = {batch["id"]: batch for batch in healthy["batches"]}
    for batch in faulty["batches"]:
        before = batches[batch["id"]]
        for name in ("timestamp_ms", "watermark_ms", "next_watermark_ms"):
            if batch[name] not in (None, before[name]):
                yield f"batch {batch['id']}.{name} {before[name]} -> {batch[name]}"
        yield from _equal(before, batch, "committed")
        if batch["no_data"] and not before["no_data"]:
            yield f"batch {batch['id']} has no data"
        lines = {line["key"]: line for line in before["sources"]}
        for line in batch["sources"]:
            for name in ("start", "end", "advance"):
                if line[name] is not None and line[name] != lines[line["key"]][name]:
                    yield (
                        f"batch {batch['id']} source {line['key']} {name}:"
                        f" {lines[line['key']][name]} -> {line[name]}"
                    )
    kinds = {source["key"]: source["kind"] for source in healthy["sources"]}
    for source in faulty["sources"]:
        if source["kind"] not in ("unknown", kinds.get(source["key"])):
            yield f"source {source['key']} {kinds.get(source['key'])} -> {source['kind']}"
    operators = {operator["id"]: operator for operator in healthy["operators"]}
    for operator in faulty["operators"]:
        yield from _operator(operators.get(operator["id"]), operator)
    certain = [faulty["written_by"]["certainty"], healthy["written_by"]["certainty"]]
    if certain[0] == "certain":
        yield from _equal(healthy["written_by"], faulty["written_by"], "at_least", "at_most")
    if faulty["progress_tracking_certainty"] == "certain":
        yield from _equal(healthy, faulty, "progress_tracking")
    problems = [item for item in faulty["problems"] if item not in healthy["problems"]]
    yield from (f"damage: {item}" for item in problems if item["condition"] != "unreadable")
    if not problems:
        yield "no problem names it"


def _operator(before: Any, operator: Any) -> Iterator[str]:
    if before is None:
        yield f"operator {operator['id']} is new"
        return
    for name in ("name", "provider", "format_version"):
        if operator[name] not in (None, "unknown", before[name]):
            yield f"operator {operator['id']} {name} {before[name]} -> {operator[name]}"
    was, now = before["restorable"], operator["restorable"]
    if any(item not in was["broken_partitions"] for item in now["broken_partitions"]):
        yield f"broken: {now['broken_partitions']}"
    if now["newest_common_version"] not in (None, was["newest_common_version"]):
        yield f"newest common version {was['newest_common_version']} -> {now['newest_common_version']}"


def _state(healthy: Any, faulty: Any) -> Iterator[str]:
    yield from _equal(healthy, faulty, "batch", "state_version")
    stores = {
        (operator["id"], store["name"]): {part["id"]: part for part in store["partitions"]}
        for operator in healthy["operators"]
        for store in operator["stores"]
    }
    for operator in faulty["operators"]:
        for store in operator["stores"]:
            known = stores.get((operator["id"], store["name"]), {})
            for part in store["partitions"]:
                before = known.get(part["id"])
                at = f"{operator['id']}/{part['id']}/{store['name']}"
                if before is None:
                    yield f"{at} is new"
                elif part["keys"] is not None and part["keys"] != before["keys"]:
                    yield f"{at} keys {before['keys']} -> {part['keys']}"
                elif before["keys"] is not None and not (
                    (part["at_least"] or 0) <= before["keys"] <= (part["at_most"] or before["keys"])
                ):
                    yield f"{at} bounds {part['at_least']} to {part['at_most']}, keys {before['keys']}"


def _rows(healthy: Any, faulty: Any) -> Iterator[str]:
    yield from _equal(healthy, faulty, "batch", "operator", "store", "columns")
    if faulty["rows_total"] not in (None, healthy["rows_total"]):
        yield f"rows {healthy['rows_total']} -> {faulty['rows_total']}"
    broken = set(healthy["partitions_not_read"]) | set(faulty["partitions_not_read"])
    rows = [row for row in healthy["rows"] if row["partition"] not in broken]
    if [row for row in faulty["rows"] if row["partition"] not in broken] != rows:
        yield "other rows in partitions that could be read"
    if any(row["partition"] in faulty["partitions_not_read"] for row in faulty["rows"]):
        yield "rows of a partition that could not be read"


def _recover(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {option["id"]: option for option in healthy["options"]}
    for option in faulty["options"]:
        before = known.get(option["id"])
        if before is None:
            yield f"option {option['id']} is new"
            continue
        for name in ("possible", "recommended"):
            if option[name] and not before[name]:
                yield f"{option['id']} is {name}: {option['why']} {option['reason']}"
        if option["possible"] or option["recommended"]:
            yield from (f"{option['id']} {said}" for said in _equal(before, option, "loses", "repeats"))
    if faulty["plan"] is not None:
        yield from _equal(healthy, faulty, "plan", "code")
    yield from _impacts(healthy, faulty)


def _explain(healthy: Any, faulty: Any) -> Iterator[str]:
    yield from _equal(healthy, faulty, "name", "action", "means")
    # Which ways the checkpoint rules out is not known where something could not be read: all are left then.
    ruled_out = set(healthy["not_possible"]) - set(faulty["not_possible"])
    if set(faulty["options"]) != set(healthy["options"]) | ruled_out:
        yield f"options {healthy['options']} -> {faulty['options']}"
    yield from _certain_among(healthy["here"], faulty["here"], "sentence")
    for item in faulty["here"]:
        if item["shows_fault"] and item["sentence"] not in {h["sentence"] for h in healthy["here"]}:
            yield f"shows the fault: {item['sentence']}"
    if faulty["shown"] not in (healthy["shown"], "unknown", "not_in_files"):
        yield f"shown {healthy['shown']} -> {faulty['shown']}"


FIGURES = ("spark_checkpoint_batches_per_hour", "spark_checkpoint_batch_duration_seconds")
FROM_BATCHES = ("batches_per_hour", "median_duration_ms", "files_per_batch")
"""Columns that are a figure of the batches that were read."""


def _survey(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {row["location"]: row for row in healthy["rows"]}
    lost = len(known) - len(faulty["rows"])
    if lost and all(root["is_complete"] and not root["error"] for root in faulty["roots"]):
        yield f"{lost} rows are gone and no root says so"
    for row in faulty["rows"]:
        before = known.get(row["location"])
        if before is None:
            yield f"a row that is not there: {row['location']}"
            continue
        if row["certainty"] == "certain":
            yield from _equal(before, row, "status", "certainty", "sentence", "next_batch")
        elif row["status"] not in (before["status"], "unknown", "unreadable"):
            yield f"status {before['status']} -> {row['status']} ({row['certainty']})"
        for severity in ("blocks_restart", "data_risk"):
            if (row["findings"] or {}).get(severity, 0) > before["findings"][severity]:
                yield f"{severity} {before['findings'][severity]} -> {row['findings'][severity]}"
        judged = ("status", "certainty", "sentence", "next_batch", "findings", "worst_finding")
        for name, value in _bare(row).items():
            if name in (*judged, *FROM_BATCHES, "not_read", "error", "newest_ms"):
                continue
            if value not in (None, before[name]) and not _is_part(value, before[name]):
                yield f"{name} {_short(before[name])} -> {_short(value)}"


def _is_part(value: Any, of: Any) -> bool:
    """Whether a list leaves items or their names out and says nothing that is new."""
    if not isinstance(value, list):
        return False
    return all(item == "unknown" or any(_says_less(item, other) for other in of) for item in value)


def _says_less(item: Any, of: Any) -> bool:
    """Whether an item says what another says, or leaves some of it out."""
    if isinstance(item, dict) and isinstance(of, dict):
        return all(value in (None, of.get(name)) for name, value in item.items())
    return bool(item == of)


def _metrics(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {_sample(name, item): item["value"] for name, item in _samples(healthy)}
    for name, item in _samples(faulty):
        before, what = known.get(_sample(name, item)), item["labels"]
        if name.endswith(("_next_start", "_root_up", "_root_is_complete")):
            if item["value"] == 1.0 != before and what.get("status") not in ("unknown", "unreadable"):
                yield f"{name} {what} is 1"
        elif name.endswith("_findings"):
            if what["severity"] != "attention" and item["value"] > (before or 0):
                yield f"{name} {what} {before} -> {item['value']}"
        elif name.endswith("_not_read") or (before is None and what.get("name") == ""):
            continue  # a label whose value was not read is empty
        elif name.endswith(("_info", "_batches_per_hour", "_duration_seconds", "_entry_timestamp_seconds")):
            continue  # labels of what was read, and figures of the batches that were
        elif item["value"] != before:
            yield f"{name} {what} {before} -> {item['value']}"


def _samples(document: Any) -> Iterator[tuple[str, Any]]:
    for metric in document["metrics"]:
        if not metric["name"].endswith(VOLATILE_METRICS):
            yield from ((metric["name"], item) for item in metric["samples"])


def _sample(name: str, item: Any) -> tuple[str, str]:
    return name, json.dumps(item["labels"], sort_keys=True)


def _changes(healthy: Any, faulty: Any) -> Iterator[str]:
    known = {(item["what"], item["value"]): item for item in healthy["changes"]}
    for item in faulty["changes"]:
        before = known.get((item["what"], item["value"]))
        if item["certainty"] != "certain":
            continue
        if before is None:
            yield f"certain, and new: {item['what']}={item['value']}: {item['sentence']}"
        else:
            yield from _equal(before, item, "verdict", "fails_at", "condition", "sentence")


def _certain_among(healthy: Any, faulty: Any, name: str) -> Iterator[str]:
    known = {item[name] for item in healthy}
    for item in faulty:
        if item["certainty"] == "certain" and item[name] not in known:
            yield f"certain: {item[name]}: {item['sentence']}"


def _equal(healthy: Any, faulty: Any, *names: str) -> Iterator[str]:
    for name in names:
        if healthy[name] != faulty[name]:
            yield f"{name} {_short(healthy[name])} -> {_short(faulty[name])}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 240 else text[:239] + "…"


_RULES: Mapping[str, Callable[[Any, Any], Iterator[str]]] = {
    "forecast": _forecast,
    "check": _check,
    "resume": _resume,
    "inspect": _inspect,
    "state": _state,
    "rows": _rows,
    "recover": _recover,
    "explain": _explain,
    "survey": _survey,
    "metrics": _metrics,
    "changes": _changes,
}
