"""What the screens say about the next start, its steps, the findings and the impact of deleting the checkpoint."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "error": "The error as Spark words it",
}
