"""Hidden checksum files of a state schema or of operator metadata whose file is gone (``rm
state/0/0/_metadata/schema`` leaves ``.schema.crc``): Spark writes the file again, and Hadoop's local file
system refuses to put the new checksum over the old one (observed, Spark 3.5, 4.0 and 4.3).
"""

from __future__ import annotations

import re

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.state import state_inventory
from core.messages import say
from core.sparklogs.evidence import Evidence

# In the order in which Spark writes them. Stores have their schema in partition 0.
_DEFINITIONS = tuple(
    re.compile(form)
    for form in (r"state/\d+/0/([^/]+/)?_metadata/\.schema\.crc", r"state/\d+/_metadata/\.metadata\.crc")
)


def left_checksum(s: RestartContext) -> Verdict | None:
    """What the first of them does to the first batch; None where there is none, or away from a local file
    system."""
    if not s.is_local:
        return None
    paths = sorted(item.path for item in state_inventory(s.checkpoint).leftovers)
    path = next((path for form in _DEFINITIONS for path in paths if form.fullmatch(path)), None)
    if path is None:
        return None
    directory, _, name = path.rpartition("/")
    entry = f"{directory}/{name.removeprefix('.').removesuffix('.crc')}"
    why = say("forecast_steps.stale_source_checksum", path=path, entry=entry)
    details = {"file": f"{s.location}/{path}"}
    return failed(s, "stale_state_crc", "STALE_CHECKSUM_FILE", why, Evidence(path), details=details)
