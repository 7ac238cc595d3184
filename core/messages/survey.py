"""What a survey of many checkpoints says."""

from __future__ import annotations

STATUS_WORDS: dict[str, str] = {
    "fails": "fails",
    "reruns": "re-runs a batch",
    "resumes": "resumes",
    "fresh_start": "starts from scratch",
    "unknown": "not known",
    "unreadable": "not read",
}
"""What happens at the next start."""

COUNTS: dict[str, str] = {
    "fails": "{n:number} {n:one fails/fail}",
    "reruns": "{n:number} {n:one re-runs/re-run} a batch",
    "resumes": "{n:number} {n:one resumes/resume}",
    "fresh_start": "{n:number} {n:one starts/start} from scratch",
    "unknown": "{n:number} not known",
    "unreadable": "{n:number} not read",
}
"""How many checkpoints have a status."""

SENTENCES: dict[str, str] = {
    "too_slow": "Not read within {seconds} s (setting survey_seconds). That is no damage.",
    "fails_in": "fails in batch {batch}",
    "reruns_batch": "re-runs batch {batch}",
    "total": "{n:counted checkpoint} below {roots:listed 5}: {counts:listed}.",
    "none": (
        "No checkpoint was found up to {levels:counted level} below {roots:listed 5}; name the directory that"
        " was given as checkpointLocation, or one above it."
    ),
    "stopped": (
        "The search below {root} stopped after {listed:number} directories (settings checkpoints_per_root and"
        " checkpoint_levels). There may be more."
    ),
    "root_not_read": "{root}: {error}",
    "note": "{name}: {sentence}",
    "temporary": "{name} (temporary)",
    "cost": "Read: {listings:counted listing}, {files:counted file}, {size_bytes:size}, in {seconds} s.",
    "progress": "{done:number} of {total:counted checkpoint}",
}
