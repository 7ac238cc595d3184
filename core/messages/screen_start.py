"""What the screens say about the next start, the findings, the start positions and the impact of deleting."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "working": "Working out what the next start does ...",
    "start_not_known": "What happens at the next start is not known: {reason}",
    "check_not_finished": "The check could not be finished: {reason}",
    "look_failed": "The second look failed: {reason}",
    "proof": "{certainty} · {because}",
    "after_that": "After that: {then}",
    "not_checked": "Not checked: {parts}.",
    "nothing_left_out": "Not checked: nothing.",
    "how": "How we know: {n:counted step} of Spark {spark}",
    "no_step": "No other step",
    "rules": "The rules of Spark {spark} are applied: {why}.",
    "error": "The error as Spark words it",
    # findings
    "findings": "Findings so far",
    "checking": "Checking ...",
    "no_problems": "No problems found in {checked:listed}.",
    "looked_at": "Looked at: {checked}. Not checked: {not_checked}.",
    "what_to_do": "What to do: {action}",
    "to_do_about_it": "What to do about it: {action}",
    "to_do_and_proof": "What to do about it, and where it was seen",
    "more_about": "{mark} {about:capital}",
    "where_seen": "Where it was seen",
    "notes": "{n:counted note}",
    "to_batch": "Batch {batch}",
    "to_partition": "Partition {partition} of operator {operator}",
    "to_largest_rows": "Largest rows of partition {partition}",
    "to_rewind": "Recovery: rewind to batch {batch}",
    "to_recovery": "Recovery options",
    "to_recovery_option": "Recovery: {option}",
    # impact of deleting
    "impact_line": "Impact of deleting this checkpoint: {starts}.",
    "impact_start": "{start}: {repeats}, {loses}",
    "impact": "Impact of deleting this checkpoint",
    "impact_why": "What these numbers rest on",
    "impact_none": "Nothing is planned or committed yet, so nothing would be repeated or lost.",
    "impact_not_read": (
        "The impact of deleting is not known, because {paths:listed 3} could not be read ({reason})."
    ),
    "impact_no_offsets": (
        "The impact of deleting is not known: commits/ has batches up to {last}, and offsets/ has no file."
    ),
    "impact_not_known": "The impact of deleting this checkpoint is not known: {reason}",
    "impact_connect": "Some numbers are not known: connect source and sink",
    "impact_source": "Source & sink: where these numbers come from",
    "effect_unknown": "not known",
    "impact_unknown": "{starts:listed}: not known.",
    "impact_file_sink": "A file sink skips new batches instead.",
    "repeats_unknown": "repeats: not known",
    "repeats_nothing": "repeats nothing",
    "repeats": "repeats {n:counted row}",
    "repeats_at_most": "repeats at most {n:counted row}",
    "loses_unknown": "loses: not known",
    "loses_uncounted": "loses rows of new batches, not counted",
    "loses_nothing": "loses nothing",
    "loses": "loses {n:counted row}",
    "loses_at_most": "loses at most {n:counted row}",
    # start position
    "position": "Start position for a new checkpoint",
    "position_beginning": "Start position for a new checkpoint, from the beginning",
    "position_short": "Start position after batch {batch}",
    "position_after": "Start position for a new checkpoint, after batch {batch}",
    "position_no_source": (
        "The offset log does not name a source yet, so there is no position to resume from."
    ),
    "position_effects": "How exact this is",
    "no_option_of": (
        "{sources:listed} {n:one has/have} no option that starts at this position ({evidence:listed})."
    ),
    "no_option_at_all": "{sources:listed} {n:one has/have} no option that starts at this position.",
    "source_of_kind": "source {key} ({kind})",
    "the_source": "the {kind}",
    "position_source": "Source {key}: {kind}",
    "no_option": "{source} has no option that starts at this position.",
    "no_option_from": (
        "{source} has no option that starts at this position, which is taken from {evidence}."
    ),
    "without_option": (
        "Starting with an empty checkpoint anyway: reprocesses {repeats}; skips {skips}. The page Recovery"
        " shows how to avoid that."
    ),
    "exact": "Exact ({certainty}). Reprocesses: {repeats}. Skips: {skips}. {note}",
    "exact_from": "Exact ({certainty}), from {evidence}. Reprocesses: {repeats}. Skips: {skips}. {note}",
    "not_exact": "Not exact ({certainty}). Reprocesses: {repeats}. Skips: {skips}. {note}",
    "not_exact_from": (
        "Not exact ({certainty}), from {evidence}. Reprocesses: {repeats}. Skips: {skips}. {note}"
    ),
    "other_way": "Or, in a query that cannot take these options:",
}

STEPS: dict[str, str] = {
    "passes": "{n:counted step} {n:one passes/pass}",
    "does_not_apply": "{n:number} {n:one does/do} not apply",
    "not_reached": "{n:number} {n:one is/are} not reached",
}
"""How many steps of the start became what."""

SEVERITIES: dict[str, str] = {
    "blocks_restart": "{mark} {n:number} {n:one blocks/block} the restart",
    "data_risk": "{mark} {n:number} {n:one risk/risks} of loss or duplicates",
    "attention": "{mark} {n:number} for attention",
    "note": "{mark} {n:counted note}",
}
"""How many findings of each severity there are."""

SEVERITY_NAMES: dict[str, str] = {
    "blocks_restart": "blocks the restart",
    "data_risk": "risk of loss or duplicates",
    "attention": "for attention",
    "note": "note",
}
"""What one finding of each severity is called."""
