"""The command of a rehearsal, filled in with what a checkpoint tells."""

from __future__ import annotations

import shlex

from core.recovery import RecoveryContext
from core.recovery.code import only_mode
from core.recovery.readers import source_reader

_STANDS_FOR = {"schema": "COLUMNS", "path": "PATH", "format": "FORMAT", "servers": "HOST:PORT"}
_SINK_PLACE, _MODE = "SINK", "update"


def rehearse_command(context: RecoveryContext) -> str:
    """The command line, ready for a shell. What the checkpoint does not tell is a word in capital letters,
    and the output mode a guess; the sink is the one that the context knows."""
    words = ["python", "-m", "core", "rehearse", context.url, "--query", "NEW.py", "--against", "OLD.py"]
    for source in context.sources:
        for name in source_reader(context, source).missing:
            words += ["--set", f"{name}={_STANDS_FOR[name.rpartition('.')[2]]}"]
    if context.answers.get("output_mode") is None and only_mode(context) is None:
        words += ["--set", f"output_mode={_MODE}"]
    sink = context.sink
    if sink is not None:
        words += ["--set", f"sink={sink}"]
    if context.behaviour == "batch_number_aware" and sink != "foreach_txn":
        words += ["--sink", context.answers.get("sink_path") or _SINK_PLACE]
    return shlex.join(words)
