"""One file or directory fails while a verb reads a checkpoint: nothing certain and no start position may change,
except by becoming "could not be read".

A fixed share of what ``scripts/fault_injection`` runs: over 1,500 runs on the cheaper checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fault_plans import ERROR_TEXT, place_of, plans, runs
from tests.support.fault_rules import differences
from tests.support.faults import KINDS, FaultyStores, Kind, Run, Target

SHARES: dict[str, float] = {
    "delta-batch-already-in-table": 0.13,
    "delta-stopped-in-first-snapshot": 0.16,
    "files-died-mid-batch": 0.1,
    "kafka-async-progress": 0.16,
    "kafka-pipeline-died-mid-batch": 0.11,
    "union-of-two-sources": 0.08,
    "dropduplicates-removed": 0.02,
}
"""Place -> which share of its runs: together some 2,000."""


@pytest.fixture(scope="module")
def stores() -> Iterator[FaultyStores]:
    with FaultyStores().installed() as installed:
        yield installed


@pytest.fixture(scope="module")
def counted() -> Iterator[list[int]]:
    yield []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHARES))
def test_what_could_not_be_read_changes_nothing_certain(
    name: str, stores: FaultyStores, counted: list[int], tmp_path: Path
) -> None:
    error = tmp_path / "error.txt"
    error.write_text(ERROR_TEXT)
    place = place_of(name, tmp_path)
    found = [item for plan in plans(place, error) for item in runs(stores, plan, share=SHARES[name])]
    counted.append(len(found))
    broken = [item for item in found if item is not None]
    assert not broken, "\n".join(str(item) for item in broken[:10])


def test_at_least_1500_runs(counted: list[int]) -> None:
    if len(counted) < len(SHARES):
        pytest.skip("only a part of the places was run")
    assert sum(counted) >= 1500


@pytest.mark.parametrize("kind", KINDS)
def test_an_injected_fault_is_met(kind: Kind, stores: FaultyStores, tmp_path: Path) -> None:
    place = place_of("files-died-mid-batch", tmp_path)
    command = ["check", str(place.checkpoint), "--json"]
    stores.forget()
    stores.run(command)
    target = next(item for item in stores.targets() if item.path.endswith("/offsets/7"))
    with stores.fault(kind, target):
        faulty = stores.run(command)
        assert stores.hits
    assert faulty.status == 10
    assert [item["path"] for item in faulty.document["not_read"]] == ["offsets/7"]
    found = {item["id"]: item for item in faulty.document["findings"]}
    assert found["FILE_NOT_READ"]["evidence"] == ["offsets/7"]
    assert "LOG_FILE_UNREADABLE" not in found


@pytest.mark.parametrize(
    ("name", "verb", "path"),
    [
        ("state-format-2", "forecast", "commits/7"),  # the ids of the state files stand in it
        ("hand-made-rewind", "check", "offsets/5"),  # "rolled back" was said of the other files alone
        ("transform-with-state-timers", "inspect", "state/0/_metadata/v2/0"),  # the name of the operator
        ("transform-with-state-timers", "check", "state/0/_metadata/v2/0"),
        ("delta-batch-already-in-table", "forecast", "metadata"),  # the query ID in the table
    ],
)
def test_a_file_that_others_stand_in_for(
    name: str, verb: str, path: str, stores: FaultyStores, tmp_path: Path
) -> None:
    place = place_of(name, tmp_path)
    sink = ["--sink", str(place.sink)] if place.sink is not None and verb == "forecast" else []
    command = [verb, str(place.checkpoint), *sink, "--json"]
    stores.forget()
    healthy = stores.run(command)
    with stores.fault("denied", Target(f"{place.checkpoint}/{path}")):
        faulty = stores.run(command)
        assert stores.hits
    assert differences(verb, healthy, faulty, path) == []
    assert faulty.document["not_read"]


def test_the_rules_see_an_answer_that_takes_a_read_failure_for_damage(
    stores: FaultyStores, tmp_path: Path
) -> None:
    """The judge of all the runs above is no yes-man."""
    place = place_of("files-died-mid-batch", tmp_path)
    healthy = stores.run(["check", str(place.checkpoint), "--json"])
    damage = {
        "id": "LOG_FILE_UNREADABLE",
        "severity": "blocks_restart",
        "certainty": "certain",
        "sentence": "offsets/7 cannot be read",
        "evidence": ["offsets/7"],
        "action": "",
    }
    wrong = {**healthy.document, "findings": [damage]}
    said = differences("check", healthy, Run(1, wrong, ""), "offsets/7")
    assert any("certain: LOG_FILE_UNREADABLE" in item for item in said)
    assert any("exit 0 -> 1" in item for item in said)
