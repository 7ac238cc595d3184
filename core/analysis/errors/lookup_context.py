"""What every look-up into the checkpoint shares: the error, the text, the checkpoint, and a place to note
what could not be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.analysis.errors.model import VAGUE, WRAPPER, Meaning, Recognised
from core.analysis.errors.pasted_text import Pasted
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.messages import say_of
from core.sparklogs.evidence import Evidence

# Errors that say that something is NOT there; of the others a file that is named is there and cannot be used.
MISSING = frozenset(
    [
        "SOURCE_LOG_ENTRY_MISSING",
        "FILE_DOES_NOT_EXIST",
        "STATE_FILE_MISSING",
        "STDS_FAILED_TO_READ_OPERATOR_METADATA",
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        "BATCH_DOES_NOT_EXIST",
        "PREVIOUS_BATCH_NOT_FOUND",
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE",
    ]
)

CONTENTS = say_of("errors_lookup", "TOPICS", "contents")


@dataclass
class Looking:
    """One look at one checkpoint for one error.

    ``paths``: files of the checkpoint that the text names, relative to its root. ``has_cause``: the text
    names an exception that wrappers wrap and that is not known. ``is_confirmed``: something has shown the
    fault already. ``particular``: what the error means here, where the files show which of several faults it
    is. ``finding``: the finding behind the failure that the forecast expects, when
    that is the one that was pasted (or the pasted one is too vague to tell).
    """

    ck: Checkpoint
    text: Pasted
    main: Recognised
    meaning: Meaning
    paths: tuple[str, ...] = ()
    has_cause: bool = False
    not_checked: list[str] = field(default_factory=list)
    is_confirmed: bool = False
    finding: str | None = None
    particular: Meaning | None = None

    @property
    def is_vague(self) -> bool:
        """Whether the text does not tell which fault it is: then what the checkpoint shows counts more. A
        wrapper whose cause is named is not vague: the query's own function failed."""
        weight = self.main.weight
        return weight <= VAGUE and not (weight == WRAPPER and self.has_cause)

    @property
    def says_missing(self) -> bool:
        """Whether the error says that a file is not there."""
        return self.main.name in MISSING

    @property
    def newest(self) -> OffsetEntry | None:
        """The newest offset entry that can be read."""
        entries = self.ck.loaded_offsets()
        return entries[-1] if entries else None

    def value(self, *names: str) -> str | None:
        """The first of these parameters that the message has."""
        return next((self.main.parameters[name] for name in names if name in self.main.parameters), None)


def number(text: str | None) -> int | None:
    """The number in a parameter, or None."""
    cut = (text or "").strip().strip("'`\"")
    return int(cut) if cut.isascii() and cut.isdigit() and len(cut) < 20 else None


def batch_evidence(ck: Checkpoint, batch_id: int, log: str = "offsets") -> Evidence:
    """The log file of a batch."""
    files = ck.offset_files if log == "offsets" else ck.commit_files
    return Evidence(files[batch_id].path if batch_id in files else f"{log}/{batch_id}")


def full_stop(reason: str) -> str:
    """A reason as a sentence."""
    return reason if reason.endswith(".") else f"{reason}."
