"""What the frame of the screens says: links that cannot be honored, the choice of the window."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "link_choice": "This link asks for {what} {wanted!r}. Available: {choices:listed 12}.",
    "link_unknown": (
        "This link has {names:listed 5}, which {n:one means/mean} nothing here and {n:one is/are} not used."
    ),
    "link_number": "This link asks for {what} {wanted!r}, which is not a number of 0 or more.",
    "link_number_too_large": (
        "This link asks for {what} {wanted!r}, which is not a number that a browser can keep."
    ),
    "link_window_end": (
        "This link asks for a window that ends at batch {wanted}. The logs contain batches {first} to {last}."
    ),
    "no_such_page": "This link asks for the page {page!r}, which does not exist. This is {shown}.",
    "shown_instead": "This is {shown}.",
    "axis_help": "By time, outages become visible gaps.",
    "read_all_help": (
        "Reads two small files for each of {total:counted batch/batches}. The listing alone is not"
        " enough for every answer."
    ),
    "reading": "Reading {n:counted batch/batches} ...",
    "no_source": "The offset log does not name a source yet.",
    "no_source_short": "no source in the offset log yet",
    "foreign_page": "This server answers its own pages only.",
    "not_open": "No checkpoint is open.",
    "not_open_what": "Choose one in the sidebar or on the page Checkpoints.",
    "choose": "Choose a checkpoint",
    "choose_placeholder": "Choose, or paste a location",
    "choose_help": "A name below one of the configured roots, or the location of a checkpoint directory.",
    "open_suggested": "Open the suggested location",
    "open_inner": "Checkpoints in this directory",
    "open_inner_placeholder": "Choose one to open it",
    "storage_stopped": "Refresh when the storage answers again.",
    "link_help": "This address opens exactly this view. Copy it here or from the address bar.",
    "link_without": (
        "Not in this address: {missing:listed}. Links carry no typed texts and no files. It opens the rest of"
        " this view."
    ),
    "link_of_upload": (
        "This address works only in this session, and no longer after a reload: the evidence file was"
        " uploaded here. Hand over the file itself; whoever receives it uploads it again."
    ),
    "link_with_key": "the key that was typed",
    "link_with_values": "the values for the code ({fields:listed})",
    "link_with_error": "the pasted error",
    "link_with_change": "the typed value of the change",
    "link_with_query": "your own query of the state",
    "link_with_result": "the result of the rehearsal",
    "link_with_revealed": "the revealed values of the state",
    "deep_working": "Decoding the state files, as this link asks for, for at most {seconds:.0f} s ...",
    "deep_of_evidence": (
        "This link asks for the level deep. It was not run: the evidence has no contents of state files, and"
        " they were not checked when it was taken."
    ),
    "deep_while_followed": (
        "The state files of this reading were not decoded: the level deep is not run again and again while"
        " the checkpoint is followed. Switch off Follow, or open Integrity."
    ),
    "deep_failed": "This link asks for the level deep, which could not be run: {reason}",
    "refresh_help": (
        "Looks at the newest files and reads what is new. When nothing is new, an object store is not"
        " listed in full."
    ),
    "read_at": "read at {clock}, {age}",
    "read_at_clock": "read at {clock}",
    "followed": "followed: looked at every {seconds:number} s",
    "nothing_new": "no newer batch at {clock}; state and older files not listed again",
    "list_everything": "List everything",
    "since_planned": "batch {batch} was planned since, maybe later ones too",
    "since_committed": "batch {batch} was committed since",
    "since_removed": "the log entry of batch {batch} was removed since",
    "since_unknown": "could not look for newer batches: {reason}",
    "judged_later": (
        "The next start was looked at again at {moment:clock}, when batch {batch} was there; the rest of this"
        " page is older."
    ),
    "no_root": (
        'Nothing found at {path}, and this server has no root "{name}" (it has: {roots}). A link of another'
        " server opens there, or here once {setting} has that root."
    ),
    "since_show": "Show",
    "follow": "Follow",
    "follow_help": (
        "Looks every {seconds:number} s whether a batch was planned or committed, and then reads the"
        " checkpoint again, like Refresh."
    ),
    "follow_list_help": (
        "Here: reads all checkpoints again a minute after they were read. On the other pages: looks whether a"
        " batch was planned or committed."
    ),
    "password_refused": (
        "This location contains a password, which would become part of every link. Configure it as a root"
        " with storage_options (docs/settings.md) and open it by its name."
    ),
    # tables and files
    "shown_rows": "Shown: {shown:number} of {total:number} rows. The download contains all of them.",
    "shown_characters": (
        "Shown: the first {shown:number} of {total:number} characters. The download contains all of them."
    ),
    "as_table": "The same as a table",
    "as_table_and_basis": "These batches as a table, and where the times come from",
}

NAMES: dict[str, str] = {
    "ask": "the question to Spark",
    "batch": "batch",
    "becomes": "what it becomes",
    "column": "the column",
    "depth": "the comparison of",
    "find": "the rows to find",
    "follow": "following:",
    "isolation": "the isolation level",
    "last": "a window that ends at batch",
    "level": "check level",
    "loss": "failOnDataLoss",
    "measure": "the measure",
    "operator": "operator",
    "of": "the rows of",
    "option": "the option",
    "partition": "partition",
    "query": "the query",
    "rows": "partitions from row",
    "search": "the search",
    "size": "a window of size",
    "source": "source",
    "chart": "the chart",
    "sort": "the order",
    "spark": "Spark version",
    "start": "the next start",
    "store": "store",
    "tab": "the tab",
    "target": "the sink of the query",
    "tp": "topic partition",
    "what": "a change of",
    "whole": "reading every batch:",
    "x": "the X axis",
}
"""What a parameter of the address is called in a sentence; ``a_...`` are answers of the recovery page."""
