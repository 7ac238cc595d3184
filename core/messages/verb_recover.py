"""What ``python -m core recover`` and ``python -m core resume`` print around the answers of the recovery."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "lost_help": (
        "the checkpoint is gone, or nobody can open it: answer from what --set, --sink and --source say;"
        " LOCATION is then where it was, if that is known"
    ),
    "needs_location": (
        "recover needs the LOCATION of a checkpoint, or --without-checkpoint where there is none."
    ),
    "option_help": "print the plan and the code of this option",
    "set_help": "an answer, for example sink=file",
    "form_help": "print only this form of the code of the option",
    "to_help": (
        "write the file of the option (with --form another form) to FILE, which must not exist, and not into"
        " a checkpoint or an output"
    ),
    "needs_option": "--form and --to need --option: which code is wanted?",
    "other_forms": (
        "Also: --form snippet, script, kit, file, runbook or plan prints one of them; --to FILE writes it."
    ),
    "kit_folded": "The kit follows here in the file to run, which --to FILE writes.",
    "no_such_form": "The files of this option have no {form}: --form file prints them.",
    "written": "Written: {path} ({title})",
    "to_which": (
        "This option has several files. Give --to the name of one of them, in any directory: {names:listed}."
    ),
    "to_local": "{path} is not a file of this machine: write it here, then copy it.",
    "to_inside": "{path} lies in {place}, which belongs to a query or a table. Choose another directory.",
    "to_exists": "{path} exists, and is not overwritten. Choose another name.",
    "to_not_written": "{path} cannot be written: {reason}.",
    "impact_title": "Impact of deleting this checkpoint",
    "questions_title": "Questions (answer with --set)",
    "from_sink": "{answer} (from the sink)",
    "from_checkpoint": "{answer} (from the checkpoint)",
    "not_answered": "not answered",
    "option_title": "{title} (--option {option}): {mark}",
    "recommended": "recommended: {reason}",
    "corrected": "{text} [differs for this checkpoint]",
    "your_sink": "{sink} (your sink)",
    "caution": "Caution: {sentence}",
    "no_code": "No code: {why}",
    "batch_help": "resume after this batch (default: the last committed one)",
    "not_a_batch": "{text!r} is not a batch ID",
    "resumes_after": "A new checkpoint that resumes after batch {batch}",
    "starts_over": "A new checkpoint that starts where the query began",
    "source_exact": "Source {key} ({kind}): exact",
    "source_not_exact": "Source {key} ({kind}): not exact",
    "or_in_code": "or, in a query that cannot take the options:",
}
