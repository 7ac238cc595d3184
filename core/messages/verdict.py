"""The forecast in a few words."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "fails": "fails at the next start",
    "risk": "resumes, with a risk for the data",
    "reruns": "re-runs a batch",
    "resumes": "resumes",
    "fresh_start": "starts from scratch",
    "unused": "not in use",
    "unknown": "the next start is not known",
}

NUMBERED: dict[str, str] = {
    "fails": "fails in batch {batch}",
    "reruns": "re-runs batch {batch}",
    "resumes": "resumes with batch {batch}",
}
