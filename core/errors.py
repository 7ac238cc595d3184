"""Everything that can go wrong, drawn once. Every message is one sentence for a person: what is wrong,
where, what to do.

CheckpointExplorerError
├── UsageError                 what was asked for cannot be asked                            exit status 2
│   ├── InvalidSettingError    a setting cannot be used
│   ├── PropertiesError        a librdkafka properties file cannot be used
│   ├── UnsupportedSparkError  a Spark whose restarts were not observed
│   ├── AnswerError            an answer to a recovery question
│   ├── QuotingError           a value that no generated code can carry
│   ├── ResumeError            a batch that no start position can be given for
│   └── QueryFileError         a query file that cannot be rehearsed
├── StorageError               a location cannot be read; ``location`` is its URL            exit status 10
│   ├── LocationNotFound       nothing is there
│   ├── AccessDenied           no permission, or no valid credentials
│   ├── NotADirectory          it is a file
│   ├── UnsupportedLocation    no location, or no installed package reads this kind
│   ├── NotAllowed             outside the roots of this server
│   ├── EvidenceRefused        an evidence file that is none, is damaged or is hostile
│   ├── FileNotRead            a file that the answer rests on could not be read
│   ├── DeltaLogError          no Delta log there, or it cannot be used
│   └── FileSinkLogError       no file sink log there, or it cannot be used
├── SparkError                 Spark was asked for and gave no answer that can be shown      exit status 10
│   ├── SparkNotStarted        no Java, no cluster, a package that is missing
│   ├── SparkStopped           the process of Spark ended, or took too long
│   ├── SparkCancelled         whoever asked does not want the answer any more
│   ├── StagingError           the files that the question needs are missing, damaged or too large
│   └── RowsDiffer             Spark read other rows than the files record; ``partitions`` are theirs
└── NotACheckpoint             the directory can be read and is not a checkpoint             exit status 10
"""

# ruff: noqa: N818  (the names say what is so; they are part of the contract in docs/architecture.md)
from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar


class CheckpointExplorerError(Exception):
    """The root of all errors of this project. ``exit_status``: what the command line ends with."""

    exit_status: ClassVar[int] = 1


class UsageError(CheckpointExplorerError):
    """What was asked for cannot be asked of this checkpoint."""

    exit_status = 2


class InvalidSettingError(UsageError, ValueError):
    """A setting cannot be used. The message names the environment variable and what is wrong, and never
    shows its value."""


class PropertiesError(UsageError):
    """A properties file cannot be used. The message names the file, the line or the key, never a value."""


class UnsupportedSparkError(UsageError, ValueError):
    """The asked version is not one whose restarts were observed."""


class AnswerError(UsageError, ValueError):
    """An answer that cannot be understood."""


class QuotingError(UsageError, TypeError):
    """A value cannot be written into generated code."""


class ResumeError(UsageError):
    """No start position can be given for this batch."""


class QueryFileError(UsageError):
    """A query file cannot be rehearsed. The message names the file and what is wrong with it."""


class StorageError(CheckpointExplorerError):
    """A location cannot be read. ``location`` is the URL (never with storage options)."""

    exit_status = 10

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(message)
        self.location = location


class LocationNotFound(StorageError):
    """Nothing is there under this name."""


class AccessDenied(StorageError):
    """The store refused: no permission, or no valid credentials."""


class NotADirectory(StorageError):
    """The location is a file."""


class UnsupportedLocation(StorageError):
    """The text is no location, or no installed package can read this kind of location."""


class NotAllowed(StorageError):
    """This server may not open the location: it lies outside the configured roots."""


class EvidenceRefused(StorageError):
    """A file that is no evidence file, or that may not be trusted: damaged, changed, or made to do harm."""


class FileNotRead(StorageError):
    """A file that the answer rests on could not be read. It may be perfectly valid."""


class DeltaLogError(StorageError):
    """There is no Delta log here, or it cannot be used."""


class FileSinkLogError(StorageError):
    """There is no file sink log here, or it cannot be used."""


class SparkError(CheckpointExplorerError):
    """Spark was asked for and gave no answer that can be shown."""

    exit_status = 10


class SparkNotStarted(SparkError):
    """Spark could not be started or reached: no Java, no cluster, a package that is missing."""


class SparkStopped(SparkError):
    """The process of Spark ended before it answered, or the answer took too long."""


class SparkCancelled(SparkError):
    """Whoever asked does not want the answer any more."""


class StagingError(SparkError):
    """The files that the question needs are missing, damaged, or larger than the limit."""


class RowsDiffer(SparkError):
    """Spark read another number of rows than the files record. ``partitions``: in these."""

    def __init__(self, message: str, partitions: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.partitions = partitions


class NotACheckpoint(CheckpointExplorerError):
    """The directory can be read and is not a checkpoint. ``suggestion``: the location that may have been
    meant. ``inner``: the checkpoints in it, where there are several."""

    exit_status = 10

    def __init__(
        self, message: str, location: str, suggestion: str | None = None, inner: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.location = location
        self.suggestion = suggestion
        self.inner = inner


def place_of(error: BaseException) -> str:
    """Where in the program an error arose, without any directory of this machine: ``logs.py, line 12``."""
    trace = error.__traceback__
    if trace is None:
        return "an unknown place"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
