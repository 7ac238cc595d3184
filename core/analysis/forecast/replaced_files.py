"""State files of format 1 that lie in the place of another one: nothing in a delta, changelog or zip tells
which version it belongs to, and Spark loads it without an error (observed, Spark 3.5 to 4.3).

What shows it is two signs together: the bytes are those of an older file of the store, and the time of the
file is not between those of its neighbours while all the others are in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from core.analysis.forecast.model import Damage, DataEffect
from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState, StateFile
from core.checkpoint.state_content.inspection import StoreFacts
from core.messages import say
from core.sparklogs.evidence import Evidence

_FEWEST = 3  # other files whose times have to be in order, so that times mean something here
_SLACK_MS = 1_000  # some stores keep whole seconds


def replaced_files(
    ck: Checkpoint,
    stores: Sequence[StoreFacts],
    needed: frozenset[str],
    effect: Callable[[OperatorState], DataEffect],
) -> Iterator[Damage]:
    """One damage for each such file. ``needed``: the files that the next start loads, by path; ``effect``:
    what other rows in the state of an operator mean."""
    for item in stores:
        for file, older in item.equal:
            if not _is_out_of_order(ck, item, file):
                continue
            place = f"{file.operator_id}/{file.partition_id}/{file.store}"
            yield Damage(
                "STATE_FILE_ALTERED",
                "data_risk" if file.path in needed else "attention",
                say("findings_checks.older_in_its_place", path=file.path, older=older.path),
                (Evidence(file.path), Evidence(older.path)),
                "inferred",
                place,
                effect(item.store.operator),
                intact_batch=batch_before_file(file),
            )


def batch_before_file(file: StateFile) -> int | None:
    """The newest batch whose state does not rest on this file; -1 when there is none."""
    return None if file.version is None else max(file.version - 2, -1)


def _is_out_of_order(ck: Checkpoint, item: StoreFacts, file: StateFile) -> bool:
    """Whether the time of the file does not fit its version, while those of the other files of its kind fit
    theirs. The commit of a batch is written after its state; a zip beside changelogs may be written later,
    and then its time is compared with those of the other zips alone."""
    version = file.version
    of_kind = [step.full if file.kind == "zip" else step.change for step in item.store.steps]
    timed = {
        other.version: other.modified_ms
        for other in of_kind
        if other is not None
        and other.kind == file.kind
        and other.version is not None
        and other.modified_ms is not None
    }
    written_ms = file.modified_ms
    if version is None or written_ms is None:
        return False
    others = {number: at_ms for number, at_ms in sorted(timed.items()) if number != version}
    if len(others) < _FEWEST or any(later < earlier for earlier, later in pairwise(others.values())):
        return False
    before = max((at_ms for number, at_ms in others.items() if number < version), default=None)
    after = min((at_ms for number, at_ms in others.items() if number > version), default=None)
    if after is None and _fits_its_commit(ck, others):
        after = _commit_ms(ck, version)
    is_early = before is not None and written_ms < before - _SLACK_MS
    return is_early or (after is not None and written_ms > after + _SLACK_MS)


def _fits_its_commit(ck: Checkpoint, others: dict[int, int]) -> bool:
    """Whether the newest of the other files was there before the commit of its batch."""
    number = max(others)
    committed_ms = _commit_ms(ck, number)
    return committed_ms is not None and others[number] <= committed_ms


def _commit_ms(ck: Checkpoint, version: int) -> int | None:
    """When the batch of a state version was committed; None when that is not known."""
    file = ck.commit_files.get(version - 1)
    return None if file is None else file.modified_ms
