"""What the pages say of the history of surveys."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "title": "From survey to survey",
    "surveys": "{n:counted survey} since {since_ms:moment}.",
    "state": "State: {first:size} then, {last:size} now, at most {most:size}.",
    "lag": "Watermark lag: {first:duration} then, {last:duration} now, at most {most:duration}.",
    "axis_state": "state",
    "axis_lag": "watermark lag",
    "legend": "known from the history",
    "mark": "{status}, known from the history",
    "batches": (
        "{n:counted batch/batches} before batch {first} {n:one is/are} known from the history of surveys"
        " only: times and status, no offsets."
    ),
    "no_offsets": "The offsets of these batches were removed by retention.",
    "one_batch": (
        "The files of batch {batch} were removed by retention. A survey that was kept knows its times and"
        " status; its offsets, watermark and settings are gone."
    ),
}
