"""What a checkpoint costs in an object store each month: the files that its batches write, and what is kept.

The prices are settings. Reads, listings and deletions, and the files of source and sink, are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.settings import Settings
from core.survey.row import SurveyRow

HOURS = 730
"""Of a month."""

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """Dollars a month. ``writes``: if the query runs all month as fast as in its newest batches."""

    writes: float
    storage: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.writes + self.storage


def monthly_cost(row: SurveyRow, settings: Settings) -> MonthlyCost | None:
    """What a checkpoint costs at the prices of the settings; None where the row does not know how fast the
    query runs, what a batch writes, or how large the checkpoint is."""
    if row.batches_per_hour is None or row.files_per_batch is None or row.total_bytes is None:
        return None
    written = row.files_per_batch * row.batches_per_hour * HOURS
    return MonthlyCost(
        writes=written / 1000 * settings.price_of_writes,
        storage=row.total_bytes / GIB * settings.price_of_storage,
    )
