"""Which Spark's rules apply: the versions that were observed, and the choice of one for a checkpoint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from core.checkpoint.model import WrittenBy
from core.errors import UnsupportedSparkError
from core.messages import Sentence, say
from core.sparklogs.evidence import Certainty


class Version(NamedTuple):
    """A Spark feature version. Patch releases are not told apart: none was seen to restart differently from
    another."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


V33, V34, V35 = Version(3, 3), Version(3, 4), Version(3, 5)
V40, V41, V42, V43 = Version(4, 0), Version(4, 1), Version(4, 2), Version(4, 3)
SUPPORTED = (V33, V34, V35, V40, V41, V42, V43)
OLDEST, NEWEST = SUPPORTED[0], SUPPORTED[-1]


class _HasWriter(Protocol):
    @property
    def written_by(self) -> WrittenBy: ...


@dataclass(frozen=True, slots=True)
class ChosenSpark:
    """The version whose rules apply, why, and whether it is the one that wrote the newest files (as far as
    they tell). ``oldest``: the oldest that may be started, where no one chose it."""

    version: Version
    why: str
    certainty: Certainty
    is_writer: bool
    oldest: Version


def parse_version(text: str) -> Version | None:
    """``3.5``, ``3.5.9``, ``4.0+``, ``4.0.0-preview2`` -> the feature version; None when the text does not
    start with two numbers."""
    match = re.match(r"\s*v?(\d+)\.(\d+)", text)
    return Version(int(match[1]), int(match[2])) if match else None


def choose_spark(checkpoint: _HasWriter, asked: str | None) -> ChosenSpark:
    """The version asked for, else the one that wrote the newest files as far as they tell, else the newest
    supported.

    Raises UnsupportedSparkError when ``asked`` is not one of :data:`SUPPORTED`.
    """
    written = checkpoint.written_by
    at_least = parse_version(written.at_least) if written.at_least else None
    at_most = parse_version(written.at_most) if written.at_most else None
    if asked is not None:
        version = parse_version(asked)
        if version is None or version not in SUPPORTED:
            raise UnsupportedSparkError(
                say("forecast.spark_unsupported", asked=asked.strip() or "(empty)", known=SUPPORTED)
            )
        inside = (at_least is None or version >= at_least) and (at_most is None or version <= at_most)
        return ChosenSpark(version, say("forecast.spark_chosen"), "certain", inside, version)
    if at_least is None and at_most is None:
        return ChosenSpark(NEWEST, say("forecast.spark_not_known", spark=NEWEST), "inferred", True, OLDEST)
    if at_most is not None and at_most < OLDEST:
        why = say("forecast.spark_too_old", at_most=at_most, why=written.why, spark=OLDEST)
        return ChosenSpark(OLDEST, why, "inferred", False, OLDEST)
    newest_possible = NEWEST if at_most is None else min(at_most, NEWEST)
    version = max(v for v in SUPPORTED if v <= newest_possible)
    if at_least is not None and at_least > NEWEST:
        why = say("forecast.spark_too_new", at_least=at_least, why=written.why, spark=NEWEST)
        return ChosenSpark(NEWEST, why, "inferred", False, NEWEST)
    oldest = version if at_most is not None else max(OLDEST, at_least or OLDEST)
    why = _written_by(at_least, at_most, written.why)
    return ChosenSpark(version, why, written.certainty, True, min(oldest, version))


def _written_by(at_least: Version | None, at_most: Version | None, why: str) -> Sentence:
    if at_most is None:
        return say("forecast.spark_at_least", at_least=at_least, why=why)
    if at_least is None or at_least == at_most:
        return say("forecast.spark_exactly", spark=at_most, why=why)
    return say("forecast.spark_between", at_least=at_least, at_most=at_most, why=why)
