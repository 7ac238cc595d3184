"""Everything that can go wrong, drawn once. Every message is one sentence for a person: what is wrong,
where, what to do.

CheckpointExplorerError
├── UsageError                 what was asked for cannot be asked                            exit status 2
│   ├── InvalidSettingError    a setting cannot be used
│   ├── PropertiesError        a librdkafka properties file cannot be used
│   ├── UnsupportedSparkError  a Spark whose restarts were not observed
│   ├── AnswerError            an answer to a recovery question
│   ├── QuotingError           a value that no generated code can carry
│   └── ResumeError            a batch that no start position can be given for
├── StorageError               a location cannot be read; ``location`` is its URL            exit status 10
│   ├── LocationNotFound       nothing is there
│   ├── AccessDenied           no permission, or no valid credentials
│   ├── NotADirectory          it is a file
│   ├── UnsupportedLocation    no location, or no installed package reads this kind
│   ├── NotAllowed             outside the roots of this server
│   ├── FileNotRead            a file that the answer rests on could not be read
│   ├── DeltaLogError          no Delta log there, or it cannot be used
│   └── FileSinkLogError       no file sink log there, or it cannot be used
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


class FileNotRead(StorageError):
    """A file that the answer rests on could not be read. It may be perfectly valid."""


class DeltaLogError(StorageError):
    """There is no Delta log here, or it cannot be used."""


class FileSinkLogError(StorageError):
    """There is no file sink log here, or it cannot be used."""


class NotACheckpoint(CheckpointExplorerError):
    """The directory can be read and is not a checkpoint. ``suggestion``: the location that may have been
    meant."""

    exit_status = 10

    def __init__(self, message: str, location: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.location = location
        self.suggestion = suggestion


def place_of(error: BaseException) -> str:
    """Where in the program an error arose, without any directory of this machine: ``logs.py, line 12``."""
    trace = error.__traceback__
    if trace is None:
        return "an unknown place"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
