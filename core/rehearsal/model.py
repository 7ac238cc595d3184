"""What is rehearsed, and what came of it, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from core.analysis.errors import Explanation
from core.analysis.forecast import Forecast
from core.checkpoint.state_content.simple_values import Json
from core.recovery import Answers

Outcome = Literal["resume", "rerun", "fail", "fresh_start"]
Stopped = Literal["batches", "no_more_data", "error"]
"""Why the rehearsal ended: so many batches were asked for, there was nothing more to read, an error."""
SinkForm = Literal["recorded", "file", "delta", "own_code"]
"""Where the rows went: into files of the scratch directory, by Spark's file sink or Delta there, or through
the user's own ``write_batch``."""


@dataclass(frozen=True, slots=True)
class RehearsalQuestion:
    """What is asked. ``batches``: so many at most. ``conf``: further settings of the Spark that is started.
    ``keep``: a directory that is made and stays; None: the scratch directory is removed. ``own_code``: the
    user's ``write_batch`` is called. ``python``: the interpreter of the process with Spark, None for this
    one.
    """

    query_file: Path
    answers: Answers
    against: Path | None = None
    batches: int = 3
    conf: Mapping[str, str] = field(default_factory=dict)
    keep: Path | None = None
    own_code: bool = False
    python: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorRows:
    """A stateful operator after a batch, as Spark reports it. ``dropped_as_late``: rows below the
    watermark, which it left out; of an aggregation those that are left after a first one per partition (seen
    with 4.3: 1 for 10 input rows of one window)."""

    name: str
    rows: int | None
    updated: int | None
    removed: int | None
    dropped_as_late: int | None


@dataclass(frozen=True, slots=True)
class RehearsedBatch:
    """A batch that was completed. ``ends``: the end offsets by source, as Spark wrote them."""

    id: int
    input_rows: int
    output_rows: int | None
    seconds: float
    watermark: str | None
    ends: tuple[str | None, ...]
    operators: tuple[OperatorRows, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a rehearsal. ``text`` is in full; ``batch`` is the batch that it stopped, None when none
    was begun; ``rows`` those of that batch that had reached the sink, None where that is not known."""

    text: str
    at: Literal["start", "batch"]
    batch: int | None
    explanation: Explanation
    rows: int | None = None
    condition: str | None = None
    """As Spark names it; its text need not have it."""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """What one query did on its copy. ``outcome`` is that of the first batch; ``failure`` may come later."""

    outcome: Outcome
    batch_id: int | None
    failure: Failure | None
    stopped: Stopped
    batches: tuple[RehearsedBatch, ...]
    columns: tuple[str, ...]
    skipped: tuple[int, ...] = ()
    """Completed batches that the sink had before: no row of them went through the query."""

    @property
    def has_tried(self) -> bool:
        """Whether rows went through a batch, or Spark failed; else nothing of the query met the state."""
        return self.failure is not None or any(batch.id not in self.skipped for batch in self.batches)

    @property
    def rows_written(self) -> int:
        """The rows of all completed batches."""
        return sum(batch.output_rows or 0 for batch in self.batches)


@dataclass(frozen=True, slots=True)
class Example:
    """A row that only one of two queries gave, or that both gave with other values. ``key``: the columns by
    which rows of both were paired, empty where nothing was paired. ``differs``: the columns that differ."""

    where: Literal["output", "state"]
    batch: int | None
    place: str | None
    key: Mapping[str, Json]
    old: Mapping[str, Json] | None
    new: Mapping[str, Json] | None
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Rows of one batch of the output, or of one store of the state, of both queries."""

    batch: int | None
    place: str | None
    rows_old: int
    rows_new: int
    only_old: int
    only_new: int


@dataclass(frozen=True, slots=True)
class Against:
    """Two queries on two copies. ``input_differs``: batches whose input was not the same; their rows differ
    for that reason too. ``not_compared``: what was not, and why."""

    old: QueryRun
    output: tuple[Compared, ...]
    state: tuple[Compared, ...]
    examples: tuple[Example, ...]
    input_differs: tuple[int, ...]
    not_compared: tuple[str, ...]

    @property
    def only_old(self) -> int:
        """Output rows that the old query alone gave."""
        return sum(each.only_old for each in self.output)

    @property
    def only_new(self) -> int:
        """Output rows that the new query alone gave."""
        return sum(each.only_new for each in self.output)


@dataclass(frozen=True, slots=True)
class PlaceCompared:
    """A place before and after the rehearsal. ``how``: what was compared, or why nothing was; ``changed``:
    files that are gone or differ; ``added``: files that came. ``files`` None: nothing was compared."""

    place: str
    how: str
    files: int | None
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: all of the checkpoint but ``left_out`` state files that this start does not load."""

    files: int
    size_bytes: int
    left_out: int


@dataclass(frozen=True, slots=True)
class RehearsedSink:
    """The sink of the query and what stood in for it, in words."""

    kind: str | None
    form: SinkForm
    note: str
    newest_batch: int | None = None
    """The newest batch that what stood in for the sink had before; Spark skips it and those before it."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The answer. ``differs``: in what it was not as forecast."""

    spark: str
    run: QueryRun
    forecast: Forecast
    differs: tuple[str, ...]
    sink: RehearsedSink
    copied: Copied
    against: Against | None
    places: tuple[PlaceCompared, ...]
    not_checked: tuple[str, ...]
    kept: Path | None
    seconds: float

    @property
    def as_forecast(self) -> bool:
        """Whether the first batch, and what stopped a later one, are what the forecast says."""
        return not self.differs

    @property
    def original_unchanged(self) -> bool:
        """Whether nothing in the checkpoint, and nothing that was at source and sink, has changed."""
        return not any(place.changed for place in self.places) and not any(
            place.added for place in self.places[:1]
        )
