"""Recovery options that need neither the query nor its rows: each makes a repaired copy of the checkpoint.

To add one: a module here with its ``REPAIR``, its id in :data:`core.recovery.answers.RepairId`, one line in
``REPAIRS``, its code in a module of ``core/recovery/kit``, a template with the calls that extends
``templates/_repair_script.py.j2``, its title in ``core/messages/recovery.py``
and its sentences in ``core/messages/recovery_repairs.py``. Options, table, plan, code, command line, JSON
documents and the page take it from here.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.recovery.answers import OptionId, RepairId
from core.recovery.repairs import (
    backup,
    drop_state,
    repair_files,
    repartition,
    restore_backup,
    rewind,
    skip_batch,
)
from core.recovery.repairs.model import Repair

REPAIRS: Mapping[RepairId, Repair] = {
    "repair_files": repair_files.REPAIR,
    "rewind": rewind.REPAIR,
    "drop_state": drop_state.REPAIR,
    "restore_backup": restore_backup.REPAIR,
    "backup": backup.REPAIR,
    "skip_batch": skip_batch.REPAIR,
    "repartition": repartition.REPAIR,
}
"""In the order in which one of them is recommended."""


def repair_of(option: OptionId) -> Repair | None:
    """The repair behind an option; None for the options that run the query."""
    return next((repair for repair in REPAIRS.values() if repair.id == option), None)


__all__ = ["REPAIRS", "Repair", "repair_of"]
