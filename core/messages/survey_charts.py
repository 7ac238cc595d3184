"""What the charts of the page Checkpoints say."""

from __future__ import annotations

CHARTS: dict[str, str] = {
    "bytes": "bytes by checkpoint",
    "age": "age by next start",
    "cost": "cost each month",
}
"""The charts to choose from."""

SENTENCES: dict[str, str] = {
    "title": "All of them in a chart",
    "pick": "Chart",
    "others": "{n:counted other}",
    "bytes": "{n:counted checkpoint}, {total:size} together; {largest} has {share} % of that.",
    "no_bytes": "No size is known: the store gives none, or the state was not listed.",
    "age": (
        "{day:number} of {n:counted checkpoint} {day:one has/have} an entry that is younger than one day;"
        " {oldest} has the oldest: {age}."
    ),
    "no_age": "The time of the newest entry is not known.",
    "axis_age": "age of the newest entry",
    "cost": (
        "{total} dollars a month for {n:counted checkpoint}, if each runs all month as fast as in its newest"
        " batches; {first} costs {most}."
    ),
    "cost_missing": "Not known of {n:counted checkpoint}.",
    "no_cost": "The cost is not known: no checkpoint shows how fast its query runs.",
    "prices": (
        "Prices of the settings: {writes} dollars for 1,000 writes, {storage} for one GiB a month. Reads,"
        " listings, source and sink are not in it."
    ),
    "axis_cost": "dollars a month",
}
