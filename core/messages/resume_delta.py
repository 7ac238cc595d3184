"""Start positions of a Delta source, compared with the table's log."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "other_table": (
        "The table at {url} has another id ({table_id}) than the one that was read ({read_id}): no position"
        " of the old table means anything in it. Decide whether its rows are in the target already, then"
        " start without a start option or at a version."
    ),
    "other_table_repeats": ("what the target already has of it, when it is read from the beginning"),
    "other_table_skips": ("nothing, when it is read from the beginning"),
    "table_older": (
        "The query has read up to version {read}, and the table at {url} ends at version {newest}: an older"
        " copy. Versions from {first} on that are written now were never read: their numbers count as read."
    ),
    "table_older_repeats": ("with startingVersion={first}: nothing of this copy"),
    "table_older_skips": ("nothing of this copy; what the newer one had is not in it"),
    "version_is_there": (
        "Version {version} is in the table's log, which spans up to version {newest}. Applies only to a new,"
        " empty checkpoint."
    ),
    "at_schema_change": (
        "The query stopped at a schema change in version {version}, before any row of it. Version {version}"
        " is in the table's log, which spans up to version {newest}. Applies only to a new, empty checkpoint."
    ),
    "caught_up": (
        "The query has read everything: the table is at version {newest}, and version {version} does not"
        " exist yet, so startingVersion={version} fails with DELTA_VERSION_NOT_FOUND until the next commit."
        " Either wait for it, or set {conf}=true for this start and use startingVersion={version}. Do not"
        ' use "latest": it is looked up at every start until a batch has run, and what is committed in'
        " between is lost. The exact way is a new checkpoint with the old offset in it (recovery, option"
        " reset)."
    ),
    "caught_up_repeats": ("with startingVersion={newest}: version {newest}"),
    "caught_up_skips": ("with startingVersion={version}: nothing, once that version exists"),
    "cleaned": (
        "Version {version} is no longer in the table's log, which begins at version {oldest}. The nearest"
        " start is startingVersion={oldest}; a smaller number fails. Backfill the rows of {lost} with a"
        " batch job on the table, as far as it still has them."
    ),
    "cleaned_skips": ("with startingVersion={oldest}: {lost}"),
    "cleaned_with_hole": (
        "Version {version} is no longer in the table's log, which has a hole before version {newest}, so no"
        " start version works. Backfill the rows from version {version} on with a batch job on the table, as"
        " far as it still has them."
    ),
    "skips_versions_from": ("the versions from {version} on"),
    "commit_not_read": (
        "The query stopped inside version {version}, and its commit file cannot be read, so the files that"
        " are done have no names. The exact way is a new checkpoint with the old offset in it (recovery,"
        " option reset)."
    ),
    "repeats_first_files": ("with startingVersion={version}: the first {files:counted file} of it"),
    "skips_other_files": ("with startingVersion={next_version}: the other files of version {version}"),
    "index_beyond": (
        "The index {index} is beyond the {files:counted file} that version {version} added: the whole"
        " version counts as read. The exact way is a new checkpoint with the old offset in it (recovery,"
        " option reset)."
    ),
    "index_beyond_or_feed": (
        "The index {index} is beyond the {files:counted file} that version {version} added: the whole"
        " version counts as read. If the query reads the change data feed, the index counts other files. The"
        " exact way is a new checkpoint with the old offset in it (recovery, option reset)."
    ),
    "repeats_version": ("with startingVersion={version}: the files of version {version}"),
    "skips_nothing_if_whole": ("with startingVersion={next_version}: nothing, if the version was read whole"),
    "inside_version": (
        "The query stopped inside version {version}, after {done} of {total:counted file}. excludeRegex"
        " leaves these out by name; remove it after the first run (it does no harm). Applies only to a new,"
        " empty checkpoint."
    ),
    "inside_version_or_feed": (
        "The query stopped inside version {version}, after {done} of {total:counted file}. excludeRegex"
        " leaves these out by name; remove it after the first run (it does no harm). If the query reads the"
        " change data feed, the index counts other files: then the exact way is a new checkpoint with the"
        " old offset in it (recovery, option reset). Applies only to a new, empty checkpoint."
    ),
    "too_many_names": (
        "The query stopped inside version {version}, after {done} of {total:counted file}. These are too"
        " many to name in an option. The exact way is a new checkpoint with the old offset in it (recovery,"
        " option reset)."
    ),
    "start_alone_repeats": ("with the start alone: the first {files:counted file} of version {version}"),
    "snapshot_gone": (
        "The query stopped inside the first snapshot of the table (version {version}), and the log can no"
        " longer rebuild that version, so the files that are done have no names."
    ),
    "snapshot_in_sidecars": (
        "The query stopped inside the first snapshot of the table (version {version}), and the log's"
        " checkpoint keeps the files in sidecars, which are not read, so the files that are done have no"
        " names. The exact way is a new checkpoint with the old offset in it (recovery, option reset)."
    ),
    "repeats_whole_table": ("without a start option: the whole table as it is now"),
    "skips_rest_of_snapshot": ("with startingVersion={version}: what is left of the snapshot"),
    "files_moved": (
        "The query stopped inside the first snapshot (version {version}), after {done:counted file}, and"
        " {moved} of them {moved:one is/are} no longer in the table (OPTIMIZE, UPDATE or DELETE since), so"
        " their rows are in other files now. The exact way is a new checkpoint with the old offset in it"
        " (recovery, option reset)."
    ),
    "repeats_moved_files": ("without a start option: the rows of these files, where they are now"),
    "inside_snapshot": (
        "The query stopped inside the first snapshot (version {version}), after {done} of {total:counted"
        " file}. Without a start option the query reads the table as it is now; excludeRegex leaves the"
        " files that are done out by name, and all of them are still in the table. Start before the next"
        " OPTIMIZE, and remove excludeRegex after the first run. Applies only to a new, empty checkpoint."
    ),
    "too_many_names_in_snapshot": (
        "The query stopped inside the first snapshot (version {version}), after {done} of {total:counted"
        " file}. These are too many to name in an option. The exact way is a new checkpoint with the old"
        " offset in it (recovery, option reset)."
    ),
    "start_alone_repeats_snapshot": ("with the start alone: the first {files:counted file} of the snapshot"),
}
