"""A restart on a copy: what it says, what stops it, and what it leaves open."""

from __future__ import annotations

REFUSED: dict[str, str] = {
    "no_python": "The query file {path} is not a Python file.",
    "package": (
        "The query file {path} needs the package {reason}, which the Python that runs the rehearsal does not"
        " have; install it there, or choose another Python with --python."
    ),
    "import": "The query file {path} cannot be loaded: {reason}.",
    "no_function": "The query file {path} has no function {reason}.",
    "transform": "transform in {path} failed: {reason}.",
    "plan": "The plan that Spark makes of {path} could not be read.",
    "no_query": (
        "The query file {path} has no transform and starts no query, so there is no plan to compare."
    ),
    "many_queries": (
        "The query file {path} starts {reason} queries, and not just one with this checkpointLocation; leave"
        " the others out."
    ),
    "own_write": (
        "The query file {path} writes by itself ({reason}) before its query is started; nothing was written."
        " Leave that out, or give a file with transform."
    ),
    "no_stream": (
        "transform in {path} gave {reason} and not a streaming DataFrame; it must return the frame to write."
    ),
    "secret": (
        "The environment variable {reason} is not set; an option of a source that is a secret is read"
        " from it."
    ),
    "no_connector": (
        "This Spark has no connector for {reason}; name one with --conf spark.jars=... or"
        " spark.jars.packages=..., or a Python whose Spark has it (--python)."
    ),
    "ended": "The query file {path} ended the process that loaded it ({reason}).",
}
"""Why a query file cannot be rehearsed."""

TOO_SLOW: dict[str, str] = {
    "starting": (
        "Spark at {address} was not ready within {limit_ms:duration} (setting spark_seconds); nothing"
        " is left"
        " running."
    ),
    "loading": (
        "The query file {path} was not loaded within {limit_ms:duration} (setting rehearsal_seconds);"
        " nothing is"
        " left running."
    ),
    "planning": (
        "transform in {path} did not return within {limit_ms:duration} (setting rehearsal_seconds);"
        " nothing is"
        " left running."
    ),
    "running": (
        "The query of {path} did not complete its batches within {limit_ms:duration} (setting"
        " rehearsal_seconds); nothing is left running. Ask for fewer batches (--batches), or raise the"
        " setting."
    ),
}
"""What a rehearsal was doing when its time was over."""

OUTCOMES: dict[str, str] = {
    "resume": "Spark resumed with batch {batch}.",
    "rerun": "Spark ran batch {batch} again, which was planned and not committed.",
    "fresh_start": "Spark started from scratch with batch {batch}.",
    "nothing": (
        "Spark started and found nothing to do: no batch ran, so the query was not tried. Rehearse again when"
        " its source has new data."
    ),
    "skipped": (
        "Spark ran batch {batch} again, and the sink, which has it already, skipped it: no row went through"
        " the query, so it was not tried. Rehearse again when its source has new data."
    ),
    "fail_start": "Spark failed at the start, before it picked a batch.",
    "fail_batch": "Spark failed in batch {batch}.",
}
"""What happened, by the outcome."""

STOPPED: dict[str, str] = {
    "batches": "It was stopped after {batches:counted batch/batches} (--batches).",
    "no_more_data": "There was nothing more to read after {batches:counted batch/batches}.",
    "error": "It stopped with an error after {batches:counted batch/batches}.",
}
"""Why the rehearsal ended."""

PHASES: dict[str, str] = {
    "copying": "Copying the checkpoint: {done:number} of {known:counted file} ...",
    "starting": "Starting Spark ...",
    "loading": "Loading the query file ...",
    "planning": "Building the query ...",
    "running": "Running batches ...",
    "counting": "Counting what was written ...",
    "comparing": "Comparing the original with what it was ...",
}
"""Progress on standard error."""

COLUMNS: dict[str, str] = {
    "batch": "batch",
    "input": "input rows",
    "output": "output rows",
    "seconds": "seconds",
    "state": "state rows",
}
"""Of the table of batches."""

SENTENCES: dict[str, str] = {
    # help texts
    "help_query": "the query: a Python file with transform(df), or transform(sources) where it has several",
    "help_against": "the query as it is today: both run on copies of their own and are compared",
    "help_batches": "after so many batches the query is stopped (default 3)",
    "help_set": (
        "what the checkpoint does not tell: source.<key>.path=..., source.<key>.schema=..., output_mode=...,"
        " sink=..., as for recover"
    ),
    "help_conf": "a setting of the Spark that is started, for example spark.jars.packages=... (repeatable)",
    "help_keep": "a new directory that the copies and what was written stay in",
    "help_side_effects": "call write_batch of the query file, which may write anywhere",
    "help_python": "the Python that runs the query, where it is not this one",
    "help_master": "where Spark runs (default: the setting spark_master)",
    "help_remote": "a Spark Connect server (default: the setting spark_remote)",
    "help_reveal": "show keys and values of the rows that differ",
    # wrong usage
    "batches_out_of_range": "--batches must be 1 to {most}, not {given}.",
    "conf_form": "--conf takes NAME=VALUE, not {given}.",
    "same_file": "--against names the same file as --query.",
    "needs": (
        "The checkpoint does not tell everything that the query needs; give --set with {answers:listed}."
    ),
    "keep_exists": "{path} is there already; --keep takes a directory that does not exist.",
    "needs_shared": (
        "{address} does not run on this machine, so the copy must lie where it can be reached: name a shared"
        " directory with --keep or the setting spark_directory."
    ),
    # the query file
    "query_not_read": "The query file {path} cannot be read ({reason}).",
    "query_not_python": "The query file {path} is not Python ({reason}).",
    "query_writes": (
        "{path} has {what} in line {line}, in code that runs at import or in transform: it would write to"
        " its own"
        " place. Leave it to the rehearsal to start the query, or allow it with --allow-side-effects."
    ),
    "at_line": "line {line}",
    "too_long": "it is too long",
    # the copy
    "too_large": (
        "A copy of the checkpoint needs {size_bytes:size}, more than {limit_bytes:size} (setting"
        " rehearsal_bytes). Raise it where the disk has room."
    ),
    "no_room": (
        "The copy could not be written to {directory}: {reason}. Choose another place (spark_directory)."
    ),
    "scratch_full": (
        "Spark could not write to {directory}: no space, or files of that size are not allowed. Choose"
        " another"
        " place (spark_directory)."
    ),
    "purged": "{path} was removed while it was copied: the query is running. Stop it, or try again.",
    "unreadable": "{path} could not be read, so there is no whole copy: {reason}",
    "no_pyspark": (
        "PySpark is missing in the Python that runs the rehearsal ({reason}); install pyspark there."
    ),
    # the sink
    "sink_file": (
        "Spark's file sink wrote to a scratch directory with a copy of the log of {batches:counted"
        " batch/batches}, which decides what is skipped."
    ),
    "sink_file_without_log": (
        "Spark's file sink wrote to an empty scratch directory: without --sink its log is not known, so"
        " no batch"
        " was skipped."
    ),
    "sink_delta": (
        "Delta wrote to an empty scratch table with the schema, partitioning and properties of the real"
        " one; it"
        " knows that batch {batch} of this query is written, and skips up to it."
    ),
    "sink_delta_none": (
        "Delta wrote to an empty scratch table with the schema, partitioning and properties of the real one,"
        " which has no batch of this query."
    ),
    "delta_needs_sink": "Name the Delta table with --sink: the scratch table is made from its log.",
    "delta_not_described": (
        "The log of {url} does not show protocol and schema in its newest checksum or commits, so no scratch"
        " table can be made; rehearse with --set sink=other, which records the rows."
    ),
    "sink_foreach": (
        "The rows of each batch were recorded in its place; write_batch was not called"
        " (--allow-side-effects)."
    ),
    "sink_own_code": "write_batch of the query file was called; what it wrote is where it wrote it.",
    "sink_recorded": "The rows of each batch were recorded in its place.",
    # against the forecast
    "differs_outcome": "the forecast is {said}, and {happened} happened",
    "differs_batch": "the forecast is batch {said}, and batch {happened} ran",
    "differs_error": "the forecast is {said}, and the error was {happened}",
    "differs_later": "batch {batch} failed after the first one, which the forecast does not say",
    "no_condition": "one without a condition",
    "as_forecast": "As forecast for the query as it is: {sentence}",
    "forecast_untried": "The forecast for the query as it is: {sentence}",
    "not_as_forecast": "Not as forecast for the query as it is: {differs:listed}.",
    # the original
    "place_checkpoint": "checkpoint",
    "place_source": "source {key}",
    "place_sink": "sink",
    "place_is_pattern": "its path is a pattern",
    "place_listed": "names, sizes and times",
    "place_listed_part": "names, sizes and times of the first page of its listing",
    "place_hashed": "names, sizes and times, and the content of {hashed:counted file}",
    "place_not_compared": "not compared: {reason}",
    # comparing
    "batch_too_large": "Batch {batch} has {rows:counted row}; rows are compared up to {most:number}.",
    "store_too_large": "The rows of state {place} were not compared: more than {most:number}, or unreadable.",
    "store_not_read": "The rows of state {place} were not compared: {reason}",
    "state_not_read": "The state was not compared: {reason}",
    # not checked
    "not_checked_own_writes": (
        "whether the query file writes or sends something by itself, at import, in transform or in its"
        " functions"
    ),
    "not_checked_no_batch": (
        "whether the query fits the operators, the state and the sink, and which rows it gives: no batch ran"
    ),
    "not_checked_skipped": (
        "whether the query fits the operators, the state and the sink, and which rows it gives: no row went"
        " through it"
    ),
    "not_checked_sink": "what the real sink makes of these rows",
    "not_checked_later": "what comes after {batches:counted batch/batches}",
    # the text for a person
    "head": "Rehearsal of {path} on a copy of {location}, Spark {spark}",
    "error": "Error: {text}",
    "means": "What it means: {means}",
    "to_do": "What to do: {action}",
    "dropped_as_late": (
        "{rows:counted row} below the watermark {rows:one was/were} dropped as late in {ids:batches}, as"
        " Spark counts them: in an aggregation one may stand for many input rows."
    ),
    "written": "{rows:counted row} written in {batches:counted batch/batches}. {note}",
    "copied": "Copied: {files:counted file}, {size_bytes:size}.",
    "left_out": "{files:counted state file} of older versions left out.",
    "against_equal": "Both queries gave the same rows and the same state in these batches.",
    "against_nothing": "No row went through either query, so nothing was compared.",
    "against_differs": (
        "Only today's query gave {old:counted output row}, only the new one {new:counted output row}."
    ),
    "against_state": (
        "State {place}: {old:counted row} only with today's query, {new:counted row} only with the new."
    ),
    "against_failed": "Today's query {old}; the new one {new}.",
    "against_input": (
        "The input of {batches:batches} was not the same, so the rows differ for that reason too."
    ),
    "run_failed": "failed ({condition})",
    "run_ran": "ran {batches:counted batch/batches}",
    "example": "{where}: {old} with today's query, {new} with the new one",
    "example_output": "batch {batch}",
    "example_state": "state {place}",
    "example_key": "{where}, {key}",
    "no_row": "no row",
    "masked": "Keys and values are hidden; --reveal shows them.",
    "place_unchanged": "{place}: unchanged ({how}).",
    "place_unknown": "{place}: {how}.",
    "place_changed": "{place}: {changed:counted file} changed ({files:listed 5}).",
    "place_added": "{place}: nothing changed, {added:counted file} came during the rehearsal.",
    "kept": "Kept in {path}.",
    # a file with the answer
    "result_too_large": "The file is larger than {limit_bytes:size}, more than a rehearsal answers.",
    "result_not_json": "The file is not JSON: give what rehearse prints with --json.",
    "result_other": "The file is not the answer of rehearse: give what it prints with --json.",
    "result_field": "The file is not an answer of rehearse that this version understands ({field}).",
    "result_of_other": "The file is the answer of a rehearsal of {other}, not of {location}.",
    "result_changed": "Something of the original has changed during the rehearsal.",
    "result_differs": "The new query gives other rows, or another state, than today's.",
    "result_not_read": "{path} cannot be read: {reason}.",
    "result_of_evidence": (
        "An answer of rehearse is added when the evidence is taken, not to a file that is evidence already."
    ),
    "help_result": "the answer of a rehearsal of this checkpoint (--json), to be kept with the evidence",
    "took": "Took {ms:duration}.",
}
