"""Give the samples' files the times at which Spark wrote them.

git does not keep them, and batch durations are read from them. `times.json` of each sample holds what was
there when it was made.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "sample_checkpoints"


def restore(samples: Path = SAMPLES) -> int:
    """Set every file's modification time as far as it differs; returns how many were set."""
    changed = 0
    for record in sorted(samples.glob("*/times.json")):
        for name, milliseconds in json.loads(record.read_text(encoding="utf-8")).items():
            path = record.parent / name
            if path.is_file() and path.stat().st_mtime_ns // 1_000_000 != milliseconds:
                os.utime(path, ns=(milliseconds * 1_000_000,) * 2)
                changed += 1
    return changed


if __name__ == "__main__":
    try:
        restore()
    except OSError as problem:
        # A read-only tree still serves: the app then shows no durations for the samples.
        print(f"The samples' file times could not be restored: {problem}", file=sys.stderr)
