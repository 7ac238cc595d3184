"""A rehearsal of a script that runs the query: on copies of the checkpoint and of the output."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.files import Files
from core.recovery.kit.query import OWN_WRITE, QueryRun
from core.recovery.kit.sink import check_sink_is_ours
from core.recovery.kit.words import Refused, show

REHEARSED_BYTES = 20 * 2**30
"""A rehearsal copies no more than this."""
MOVED_PLACES = (
    "old_checkpoint",
    "new_checkpoint",
    "backup",
    "aside_checkpoint",
    "sink_path",
    "output",
    "aside_output",
    "backfill_path",
)


def prepare_rehearsal(run: QueryRun, files: Files, place: str) -> None:
    """Looks, and from here on every place that is written to lies below ``place``; the query reads its real
    sources."""
    run.look(run)
    has_copy = run.sink in ("file", "delta")
    if has_copy and not run.is_output_kept:
        check_sink_is_ours(run, run.old_checkpoint)
    elif run.is_with_backfill:
        raise Refused(
            "The backfill changes the output, and a rehearsal has a copy of files and Delta tables only."
        )
    roots = {run.sink_path: f"{place}/output"} if has_copy and run.sink_path else {}
    if run.old_checkpoint:
        roots[run.old_checkpoint] = f"{place}/checkpoint"
    size = sum(sum(files.sizes(at).values()) for at in roots if files.exists(at))
    if size > REHEARSED_BYTES:
        raise Refused(
            f"Checkpoint and output have {size} bytes, more than REHEARSED_BYTES at the top of the rehearsal "
            "in this script."
        )
    files.make(place)
    for at, copy in roots.items():
        if files.exists(at):
            files.copy(at, copy)
    if run.sink == "file" and run.sink_path in roots:
        move_sink_log(files, run.sink_path, roots[run.sink_path])
    for name in MOVED_PLACES:
        value: str = getattr(run, name)
        if value:
            setattr(run, name, moved(name, value, roots, place))
    run.sink_is_ours = True  # found out above, on the output itself: a copy has other times
    for source in run.sources:
        kept = ("cleansource", "sourcearchivedir")
        source["options"] = {k: v for k, v in source["options"].items() if k.lower() not in kept}
    if not has_copy:
        record_rows(run, place)


def moved(name: str, value: str, roots: dict[str, str], place: str) -> str:
    """Where a place is in a rehearsal."""
    for at in sorted(roots, key=len, reverse=True):
        if value == at or value.startswith(at.rstrip("/") + "."):
            return roots[at] + value[len(at.rstrip("/")) :].rstrip("/")
    return f"{place}/{'new-output' if name == 'output' else name}"  # "output" is the copy of the old one


def record_rows(run: QueryRun, place: str) -> None:
    """The rows are written to files in place of the sink."""
    if run.sink not in OWN_WRITE:
        run.sink = "foreach_append"
    run.sink_path, run.sink_format, run.output = "", None, ""

    def write_batch(frame: Any, batch_id: int) -> None:
        frame.write.mode("overwrite").parquet(f"{place}/rows/batch={batch_id}")

    run.module.write_batch = write_batch
    show(
        f"The rows that the sink would get are recorded in {place}/rows, so whether they are in the sink is "
        "not checked."
    )


def move_sink_log(files: Files, old: str, new: str) -> None:
    """The log of a file sink names its files by their whole paths: in the copy they are those of the copy."""
    root, log = files.plain_path(old) + "/", f"{new}/_spark_metadata"
    for name in files.names(log):
        version, *lines = files.read(f"{log}/{name}").split("\n")
        for number, line in enumerate(lines):
            if line.strip():
                entry = json.loads(line)
                inside = entry["path"].partition(root)[2] or unquote(entry["path"]).partition(root)[2]
                there = {**entry, "path": f"{files.qualified(new)}/{inside}"}
                lines[number] = json.dumps(there, separators=(",", ":"))
        files.replace(f"{log}/{name}", "\n".join([version, *lines]))
