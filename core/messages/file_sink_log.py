"""The log of the file sink: what could not be read or compared."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "absent": "No file sink log at {url}: {log} is not there; give the output directory.",
    "newest_only": (
        "Only the newest {read:number} of {batches:number} batches were read (setting table_versions)."
    ),
    "not_compared": (
        "the log has a gap or an unreadable file, so its files were not compared with the directory"
    ),
    "directories_only": (
        "only {listed:number} directories of the output were listed (setting sink_directories)"
    ),
}
