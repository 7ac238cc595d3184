"""The verbs that put answers together (``compare``, ``report``, ``evidence``), while one file or directory
fails: an answer that says so, or one sentence. Never a traceback, and nothing that blocks a
restart or risks rows which is not there without the fault.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.errors import CheckpointExplorerError
from core.rehearsal.copying import copy_checkpoint
from core.storage import door as door_module
from tests.support.fault_plans import Place, place_of
from tests.support.faults import KINDS as ALL_KINDS
from tests.support.faults import LISTING_KINDS, FaultyStores, Kind, Run, Target

KINDS: tuple[Kind, ...] = ("denied", "timeout", "short")
COULD_NOT_ANSWER = 10


@pytest.fixture(scope="module")
def stores() -> Iterator[FaultyStores]:
    with FaultyStores().installed() as installed:
        yield installed


def command_of(verb: str, place: Place, target: Path) -> list[str]:
    given = {
        "compare": [str(place.checkpoint)],
        "evidence": ["--to", str(target / "evidence.zip"), "--overwrite"],
        "report": ["--to", str(target / "report.md"), "--overwrite"],
    }
    return [verb, str(place.checkpoint), *given.get(verb, []), "--json"]


def alarms(document: Any) -> set[str]:
    """Every severity above attention in an answer, with what it is about."""
    if isinstance(document, dict):
        own = {
            f"{document.get('severity')} {document.get('id')}"
            for _ in [0]
            if document.get("severity") in ("blocks_restart", "data_risk")
        }
        return own.union(*(alarms(value) for value in document.values()))
    if isinstance(document, list):
        return set().union(*(alarms(value) for value in document))
    return set()


def wrong(healthy: Run, faulty: Run) -> str | None:
    if faulty.trace:
        return f"traceback {faulty.trace}"
    if faulty.document is None:
        is_said = faulty.status == COULD_NOT_ANSWER and bool(faulty.error.strip())
        return None if is_said else f"exit {faulty.status}: {faulty.error}"
    more = alarms(faulty.document) - alarms(healthy.document)
    return f"new: {sorted(more)}" if more else None


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["compare", "report", "evidence"])
@pytest.mark.parametrize("name", ["files-died-mid-batch", "state-format-2"])
def test_one_fault_is_no_traceback_and_no_alarm(
    verb: str, name: str, stores: FaultyStores, tmp_path: Path
) -> None:
    place = place_of(name, tmp_path)
    command = command_of(verb, place, tmp_path)
    stores.forget()
    healthy = stores.run(command)
    assert not healthy.trace and healthy.document is not None, healthy
    found, met = [], 0
    targets = [target for target in stores.targets() if str(place.checkpoint) in target.path]
    for target in targets[:: max(1, len(targets) // 25)]:
        for kind in KINDS:
            if kind not in LISTING_KINDS and target.is_listing:
                continue
            with stores.fault(kind, target):
                faulty = stores.run(command)
                met += stores.hits > 0
            if (trouble := wrong(healthy, faulty)) is not None:
                found.append(f"{kind} {target.path.rpartition('/checkpoint')[2]}: {trouble}")
    assert not found, "\n".join(found[:10])
    assert met > 10, json.dumps([str(target) for target in targets])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["files-died-mid-batch", "transform-with-state-timers"])
def test_a_rehearsal_starts_on_a_whole_copy_or_not_at_all(
    name: str, stores: FaultyStores, tmp_path: Path
) -> None:
    place = place_of(name, tmp_path)
    stores.forget()
    whole = copied(place, tmp_path / "whole")
    assert isinstance(whole, dict) and len(whole) > 10
    found, met = [], 0
    for number, target in enumerate(chosen(stores.targets())):
        for kind in ALL_KINDS:
            if kind not in (("vanish", "short", "io_error") if not target.is_listing else LISTING_KINDS):
                continue
            if kind == "short" and target.path.rpartition("/")[2].startswith("."):
                continue  # a local listing has no sizes of hidden files: nobody can tell
            with stores.fault(kind, target):
                door_module._cache.cache_clear()
                answer = copied(place, tmp_path / f"{number}-{kind}")
                met += stores.hits > 0
            if isinstance(answer, dict) and answer != whole:
                lost = sorted(set(whole) - set(answer))
                found.append(f"{kind} {target.below(place.checkpoint)}: without {lost[:3]}")
            shutil.rmtree(tmp_path / f"{number}-{kind}", ignore_errors=True)
    assert not found, "\n".join(found[:10])
    assert met >= 40


def chosen(targets: list[Target]) -> list[Target]:
    """Every directory, and every sixth file."""
    listings = [target for target in targets if target.is_listing]
    return [*listings, *[target for target in targets if not target.is_listing][::6]]


def copied(place: Place, target: Path) -> dict[str, int] | str:
    """Every file of the copy with its size, or the sentence that refuses it."""
    try:
        copy_checkpoint(Checkpoint.open(str(place.checkpoint)), (target,))
    except CheckpointExplorerError as error:
        assert str(error)
        return str(error)
    return {str(p.relative_to(target)): p.stat().st_size for p in target.rglob("*") if p.is_file()}
