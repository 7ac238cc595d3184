"""Checks of practice and of what lies around: leftovers, and places that do not last."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.checkpoint import Checkpoint
from core.checkpoint.model import Leftover
from core.checkpoint.state import state_inventory
from core.messages import say
from core.sparklogs.evidence import Evidence

SHOWN = 3
# Where Spark puts the checkpoint of a query without checkpointLocation, and the disks of a cluster's
# machines.
_TEMPORARY = re.compile(
    r"(^|/)temporary-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/|$)|(^|/)local_disk0(/|$)"
)


def leftovers(ck: Checkpoint, with_state: bool) -> Iterator[Finding]:
    """Files that Spark ignores. A checksum file beside no log file is its own finding when it blocks."""
    items = [item for item in ck.leftovers if not _is_stale_checksum(ck, item)]
    if with_state and ck.has_state:
        items += [item for item in state_inventory(ck).leftovers if item.kind != "orphan_state"]
    if not items:
        return
    kinds = {kind: sum(item.kind == kind for item in items) for kind in ("temporary", "foreign")}
    sizes = [item.size_bytes for item in items]
    size_bytes = None if None in sizes else sum(size for size in sizes if size is not None)
    if kinds["temporary"] and kinds["foreign"]:
        sentence = say(
            "findings_checks.leftovers_both",
            total=len(items),
            temporary=kinds["temporary"],
            foreign=kinds["foreign"],
            size_bytes=size_bytes,
        )
    else:
        sentence = say(
            "findings_checks.leftovers_temporary"
            if kinds["temporary"]
            else "findings_checks.leftovers_foreign",
            total=len(items),
            size_bytes=size_bytes,
        )
    yield finding("LEFTOVERS", sentence, *(Evidence(item.path) for item in items[:SHOWN]))


def _is_stale_checksum(ck: Checkpoint, item: Leftover) -> bool:
    log, _, name = item.path.partition("/")
    if log not in ("offsets", "commits") or not name.endswith(".crc"):
        return False
    stale = ck.stale_checksums("offsets" if log == "offsets" else "commits")
    return name.removeprefix(".").removesuffix(".crc") in {str(i) for i in stale}


def short_retention(ck: Checkpoint) -> Iterator[Finding]:
    """So few batches are kept that there is hardly anything to go back to. Spark keeps 100 by default."""
    ids = ck.offset_ids
    if not ids or ids[0] == 0 or ck.is_async or ck.is_continuous:
        return
    if len(ids) > ck.settings.short_retention_batches:
        return
    sentence = say("findings_checks.short_retention", ids=ids, kept=len(ids), oldest=min(ids[0] + 1, ids[-1]))
    yield finding(
        "SHORT_RETENTION", sentence, Evidence(f"offsets/{ids[0]}"), certainty="inferred", batch_id=ids[0]
    )


def temporary_location(ck: Checkpoint) -> Iterator[Finding]:
    """A place that is gone with the cluster or the session."""
    if ck.location.protocol == "memory" or _TEMPORARY.search(ck.location.path):
        sentence = say("findings_checks.temporary_location")
        yield finding("TEMPORARY_LOCATION", sentence, Evidence("."), certainty="inferred")
