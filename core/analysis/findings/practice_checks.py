"""Checks of practice and of what lies around: leftovers, and places that do not last."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.checkpoint import Checkpoint
from core.checkpoint.model import Leftover
from core.checkpoint.state import state_inventory
from core.checkpoint.state_names import is_hidden_checksum
from core.connectors import ConnectorAnswers
from core.messages import say
from core.sparklogs.evidence import Evidence
from core.storage import Location

SHOWN = 3
# Where Spark puts the checkpoint of a query without checkpointLocation, the disks of a cluster's machines,
# and the directories for temporary files of this machine, of HDFS and of DBFS. Of an object store nobody
# knows what its tmp/ is for.
_TEMPORARY = re.compile(
    r"(^|/)temporary-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/|$)|(^|/)local_disk0(/|$)"
    r"|^(dbfs:)?/+(dbfs/)?tmp/|^hdfs://[^/]*/tmp/"
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
    temporary = [item.path for item in items if item.kind == "temporary"]
    lone = [path for path in temporary if is_hidden_checksum(path.rpartition("/")[2])]
    if lone:
        sentence = say("findings_checks.lone_checksums", sentence=sentence, count=len(lone), file=lone[0])
    yield finding("LEFTOVERS", sentence, *(Evidence(item.path) for item in items[:SHOWN]))


def _is_stale_checksum(ck: Checkpoint, item: Leftover) -> bool:
    log, _, name = item.path.partition("/")
    if log not in ("offsets", "commits") or not name.endswith(".crc"):
        return False
    stale = ck.stale_checksums("offsets" if log == "offsets" else "commits")
    return name.removeprefix(".").removesuffix(".crc") in {str(i) for i in stale}


def long_retention(ck: Checkpoint) -> Iterator[Finding]:
    """So many batches are kept that each listing of the logs is slow and the state keeps as many versions."""
    ids = ck.offset_ids
    if len(ids) <= ck.settings.long_retention_batches:
        return
    sentence = say("findings_health.long_retention", ids=ids, kept=len(ids))
    yield finding(
        "LONG_RETENTION", sentence, Evidence(f"offsets/{ids[0]}"), certainty="inferred", batch_id=ids[0]
    )


def inside_data(ck: Checkpoint, connectors: ConnectorAnswers | None) -> Iterator[Finding]:
    """A checkpoint inside the directory of its sink or of a source, by the locations that were given. Names
    that begin with "_" or "." are safe: readers pass over them, and VACUUM keeps them."""
    said = connectors or ConnectorAnswers()
    sink = said.sink
    place = sink if sink is None or isinstance(sink, Location) else sink.location
    ends: list[tuple[str, Location | None]] = [("sink", place)]
    ends += [(f"source {key}", place) for key, place in said.places.items()]
    ends += [(f"source {key}", table.location) for key, table in said.tables.items()]
    for end, given in ends:
        outer = given.url.rstrip("/") + "/" if given is not None else None
        if outer is None or not ck.door.origin.url.startswith(outer):
            continue
        inner = ck.door.origin.url.removeprefix(outer)
        if not any(part.startswith(("_", ".")) for part in inner.split("/")):
            sentence = say("findings_health.inside_data", end=end, url=outer.rstrip("/"))
            yield finding("CHECKPOINT_INSIDE_DATA", sentence, Evidence(inner))


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
    if ck.door.origin.protocol == "memory" or is_temporary_place(ck.door.origin.url):
        sentence = say("findings_checks.temporary_location")
        yield finding("TEMPORARY_LOCATION", sentence, Evidence("."), certainty="inferred")


def is_temporary_place(url: str) -> bool:
    """Whether a location is gone with the session, the cluster or the next restart of the machine."""
    return _TEMPORARY.search(url) is not None
