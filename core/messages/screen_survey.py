"""What the page Checkpoints says about many of them."""

from __future__ import annotations

FILTERS: dict[str, str] = {
    "fails": "▲ {n:number} {n:one fails/fail}",
    "risk": "◐ {n:number} {n:one risks/risk} data",
    "reruns": "◐ {n:number} {n:one re-runs/re-run} a batch",
    "resumes": "● {n:number} {n:one resumes/resume}",
    "fresh_start": "○ {n:number} {n:one starts/start} from scratch",
    "unused": "○ {n:number} not used",
    "not_read": "? {n:number} not read",
}
"""The filters by what happens at the next start."""

SORTS: dict[str, str] = {
    "age": "age, oldest first",
    "lag": "watermark lag",
    "rate": "batches per hour",
    "state": "size of the state",
    "skew": "skew of the state",
    "size": "size",
    "name": "name",
}
"""The orders of the table."""

SENTENCES: dict[str, str] = {
    "title": "What happens at the next start",
    "next_start": "Next start",
    "search_placeholder": "name, finding, source, query ID",
    "sort": "Sorted by",
    "sort_attention": "what needs attention first",
    "progress": "Read {done:number} of {total:counted checkpoint}",
    "looking": "Looking for checkpoints and reading the first of them",
    "searching": "Read {done:number} of {total:counted checkpoint} found so far",
    "read_all": "Read {done:number} of {total:counted checkpoint} in {seconds} s.",
    "limited": "{n:counted checkpoint} more {n:one is/are} named only (setting checkpoint_rows).",
    "click": "Click one to open it.",
    "none_match": "None of {total:counted checkpoint} matches these filters.",
    "reading": "not read yet",
    "stopped": "stopped before it was read",
    "named_only": "not looked into",
    "shown": "Shown: {shown:number} of {total:counted checkpoint}; filters and search find the others.",
    "temporary": "temporary: {name}",
    "at_least": "{version} or newer",
}
