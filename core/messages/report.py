"""What an incident report says around the sentences of the judgement."""

from __future__ import annotations

VERDICTS: dict[str, str] = {
    "fails": "fails at the next start",
    "risk": "resumes, with a risk for the data",
    "reruns": "re-runs a batch",
    "resumes": "resumes",
    "fresh_start": "starts from scratch",
    "unknown": "the next start is not known",
}
"""The verdict in a few words."""

SENTENCES: dict[str, str] = {
    "title": "Incident report: {name}",
    "proof": "Proof ({certainty}): {because} [{files}]",
    "no_file": "no single file",
    "to_do": "What to do",
    "option": "{title}: {reason}",
    "option_costs": "Loses: {loses}. Repeats: {repeats}. Steps and code: recover --option {option}.",
    "no_option": "No recovery option is recommended: {reason}",
    "none_recommended": "The files show no option that can be recommended; the page Recovery compares all.",
    "newest_batches": "Newest batches",
    "batches": "Batches {first} to {last} (the logs have {total:counted batch/batches}): {counts:listed}.",
    "absent": "no file",
    "longest": "duration, longest {longest:duration}",
    "impact": "Impact of deleting this checkpoint",
    "impact_not_read": "The impact is not known: something that it rests on could not be read.",
    "findings": "Findings",
    "as_above": "This is why the next start does what is said at the top.",
    "more_findings": "{n:counted finding} more: python -m core check.",
    "not_checked": "Not checked",
    "not_read": "Could not be read: {sentence}",
    "more_not_read": "{n:counted file} more could not be read.",
    "about": "About this report",
    "location": "Location",
    "moment": "Read at",
    "evidence_moment": "Evidence of",
    "read": "Read at {moment:moment}.",
    "as_of": "As of {moment:moment}, from an evidence file.",
    "query_id": "Query ID",
    "rules": "Rules",
    "asked": "Asked beside the checkpoint",
    "asked_kafka": "the Kafka broker",
    "asked_source": "source {key}",
    "asked_sink": "the sink",
    "asked_nobody": "nobody: source and sink were not given",
    "evidence": "Evidence file",
    "evidence_file": "{file}, SHA-256 {sha256}",
    "made_by": "Made by",
    "link": "Open this view",
    "code_too_long": "# {n:counted character}: too long for a report; python -m core resume prints it.",
    # the short form
    "chat_serious": "Findings that block the restart or risk data: {n:number}.",
    "chat_position": "{title}: too long for a message, see the report.",
    "chat_not_checked": "Not checked: {n:counted thing}, named in the report.",
    "chat_evidence": "Evidence file SHA-256 {sha256}",
    # on Overview
    "panel": "Report",
    "panel_what": (
        "What this page says, as one file that needs no network, with a picture of the newest batches. No"
        " credentials are in it."
    ),
    "button_html": "Report (HTML)",
    "button_markdown": "Report (Markdown)",
    "panel_chat": "For a chat message:",
    # the verb
    "help_format": "markdown (the default), html (one file, no external request) or chat (15 lines at most)",
    "help_to": "the file to write; never inside the checkpoint",
    "help_link": "the address of the view, to be named in the report (http or https)",
    "help_evidence": "an evidence file of this checkpoint, to be named with its checksum",
    "link_form": "--link takes an address that begins with http:// or https://, not {link}.",
    "other_evidence": "--evidence {file} is of another checkpoint: {location}.",
    "no_evidence": "--evidence takes an evidence file (python -m core evidence), and {file} is a directory.",
    "written": "{path}: {size_bytes:size}, {verdict}",
}
