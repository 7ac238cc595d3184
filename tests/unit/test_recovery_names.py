"""No script uses a name that it does not define: what only runs for one kind of checkpoint would be missed by
the scripts that are run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from core.checkpoint import Checkpoint
from core.recovery import CHOICES, OPTION_IDS, Answers, generate, options, read_recovery_context

SAMPLES = Path(__file__).resolve().parents[2] / "sample_checkpoints"


def test_every_name_in_every_script_is_defined(tmp_path: Path) -> None:
    written = set()
    for sample in sorted(SAMPLES.glob("*/checkpoint")):
        ck = Checkpoint.open(str(sample))
        for sink in CHOICES["sink"]:
            answers = {"platform": "pyspark", "sink": sink, "source_complete": "yes", "sink_path": "/out"}
            context = read_recovery_context(ck, Answers({**answers, "backup_to": "/kept"}))
            for option in options(context):
                if not option.possible:
                    continue
                for block in generate(context, option.id):
                    if block.language == "python":
                        written.add(option.id)
                        name = f"{sample.parent.name}-{sink}-{block.platform}-{option.id}.py"
                        (tmp_path / name).write_text(block.text, encoding="utf-8")
    assert written >= set(OPTION_IDS) - {"restart", "repair_files", "drop_state", "repartition"}
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,F823,F811", str(tmp_path)]
    done = subprocess.run(ruff, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
