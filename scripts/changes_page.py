"""``docs/changes.md`` from the rules and the samples.

    python -m scripts.changes_page > docs/changes.md

A test keeps the two equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from core.analysis.changes import WHATS, AskedChange, judge_changes
from core.analysis.changes.asked import CHANGED, CHOICES
from core.analysis.changes.model import WORST_FIRST
from core.analysis.changes.rules import RULES
from core.checkpoint import Checkpoint
from core.messages import say_of
from core.messages.changes import ACTIONS, ROLLBACKS
from core.messages.changes import RULES as SENTENCES
from core.messages.words import CERTAINTY
from core.settings import DEFAULTS
from core.storage import parse_location

PROJECT = Path(__file__).resolve().parent.parent
SAMPLES = {
    "stateless": "files-stopped-cleanly",
    "two sources": "union-of-two-sources",
    "named sources": "named-sources",
    "aggregation": "purged-to-newest-10",
    "windows": "windowed-aggregation-hot-partition",
    "deduplication": "state-format-2",
    "join": "join-watermark-held-back",
    "transformWithState": "transform-with-state-timers",
}
SPARK = "4.3"
PROVEN = Path(__file__).resolve().parent / "proven_changes.json"
"""What `scripts/prove-changes` has seen, by release of Spark."""

_HEAD = """# Changes of a query

Can this be changed, and the checkpoint kept? Spark answers with an error after the start, or not at all:
then the numbers are wrong. `changes` answers before, from the files of the checkpoint. This page is made
from its rules (`python -m scripts.changes_page`); a test keeps it up to date.

```
python -m core changes LOCATION     # what the query was, and every change that can matter here
python -m core changes LOCATION --set change.aggregates=same_types
python -m core changes LOCATION --set change.keys=user:string,day:date --spark 4.3 --json
python -m core changes LOCATION --set change.sink_path=changed --set sink=file
python -m core changes LOCATION --old TODAY.py --new TOMORROW.py    # out of two query files
```

`--set change.<what>=<value>` can be given many times; the values are below, and for keys, aggregates and
columns of dropDuplicates also what they become (`name:type,...`), for `sources`, `partitions`, `spark`,
`operators`, `subscription` and `source_path` the number, version, names or path (`1=...` for source 1).
`--set sink=delta|file|kafka|foreach|other` says what the query writes to, which a checkpoint does not tell.
`--spark` is the version that will run the query.

Exit status: 0 all fine, or nothing was asked; 1 a change that was asked for fails or is silently wrong, or
the query does not start as it is either, which then stands at the top; 2
wrong usage, or a query file that cannot be used; 10 the location cannot be read or is not a checkpoint, or
Spark could not be started. [JSON](schema/changes.json). Without `--old` and `--new` no JVM is started.

## Two query files

`--old` is the query as it is, `--new` the one that is to be deployed. Each is a program that starts its query
itself, or a file with `transform` as [a rehearsal](rehearse.md) takes it (then the sources come from the
checkpoint, and `--set source.<key>.schema=...` says what it does not tell). Both are loaded in one
process with
a local Spark, and neither is started: what is handed to `start` or `toTable` is kept in its place, and a file
that writes by itself is refused. Spark's analysed plans are compared: every column is followed back to the
columns of the sources, so that names, aliases and the order of steps do not matter. Out of that come sources,
operators, keys, aggregates with the types of their buffers, windows, watermarks, filters before and after the
state, what a join carries, settings, output mode, trigger and sink, and the judge answers for each
difference.
What Spark itself refuses in the new plan (an output mode, for example) is said with its condition.

Code of functions is compared by what it does, without names of files and lines. An old file whose operators,
sources or keys are not those of the checkpoint is pointed out. A file that hangs is ended after
`CHECKPOINT_EXPLORER_REHEARSAL_SECONDS`; `--conf` and `--python` are those of a rehearsal. The code of the two
files runs, so give only files that you trust.

What it does not see: files and tables that the code of a function reads, settings of spark-submit that
are not
given with `--conf`, and options of a source other than its place and limits (named, not judged).
Spark runs locally for it, also where the setting spark_remote names another one.

| verdict | |
|---|---|
| fine | the checkpoint stays, the rows are those of the new query |
| fine, but | Spark accepts it; a remark that you should read |
| ignored | Spark keeps the value that the checkpoint pins |
| fails | at the start (nothing is written) or in the batch (`offsets/N` is written), with Spark's condition |
| **silently wrong** | no error, and numbers that neither the old nor the new query would have given |
| cannot be said | the files do not tell, or it was not observed |

Every verdict is about one checkpoint: a change that cannot matter to it is fine, with the reason. What the
forecast knows (number of sources, operators, topics, Spark version) is answered by [the
forecast](forecast.md). The rules are those of Spark 4.3; where other versions differ, a rule has their
condition. `tests/spark/test_changes.py` starts changed queries on real checkpoints and compares.

On the page Integrity the panel "What changes?" asks the same; the choice is in the address (`what`,
`becomes`, `target`).

## By kind of query

Each column is a sample in `sample_checkpoints/`, under the rules of Spark 4.3. The sink is not said.
"""


def changes_page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD.rstrip("\n")
    yield ""
    yield f"| change | becomes | {' | '.join(SAMPLES)} |"
    yield "|---|---|" + "---|" * len(SAMPLES)
    asked = [
        AskedChange(what, value) for what in WHATS if what != "spark" for value in CHOICES[what] or (CHANGED,)
    ]
    asked += [AskedChange("spark", "3.5"), AskedChange("spark", "4.0")]
    columns = [_verdicts(sample, asked) for sample in SAMPLES.values()]
    for row, change in enumerate(asked):
        cells = " | ".join(column[row] for column in columns)
        yield f"| `{change.what}` {say_of('changes', 'WHATS', change.what)} | `{change.value}` | {cells} |"
    yield from _proven()
    yield ""
    yield "## Rules"
    yield ""
    yield "Worst first. *Words in italics* are values of the checkpoint."
    for verdict in WORST_FIRST:
        yield ""
        yield f"### {say_of('changes', 'VERDICTS', verdict).capitalize()}"
        yield ""
        yield "| rule | what is so | what to do | back to the old query: it |"
        yield "|---|---|---|---|"
        for rule, made in RULES.items():
            if made.verdict != verdict:
                continue
            phase = (
                ""
                if made.fails_at is None
                else " at the start: "
                if made.fails_at == "start"
                else " in the batch: "
            )
            condition = f"`{made.condition}`" if made.condition else "no condition"
            failing = f"**fails{phase}{condition}** · " if made.fails_at is not None else ""
            option = f" (`{made.recipe}`)" if made.recipe is not None else ""
            yield (
                f"| `{rule}`, {CERTAINTY[made.certainty]} | {failing}{_words(SENTENCES[rule])}"
                f" | {_words(ACTIONS[made.action])}{option} | {_words(ROLLBACKS[made.rollback])} |"
            )


def _proven() -> Iterator[str]:
    if not PROVEN.exists():
        return
    yield ""
    yield "## Against real Spark"
    yield ""
    yield "Each change was asked in the form and as two query files (`--old`, `--new`), and then"
    yield "made on a checkpoint"
    yield "of the old query. Rows are right when they are those of the new query as a batch over"
    yield "the same files."
    yield "`scripts/prove-changes --write` does it and writes this table."
    for release, rows in sorted(json.loads(PROVEN.read_text()).items(), reverse=True):
        agree = sum(row["agrees"] for row in rows)
        yield ""
        yield f"Spark {release}: {agree} of {len(rows)} as said."
        yield ""
        yield "| query: change | by the form | by the files | Spark |"
        yield "|---|---|---|---|"
        for row in rows:
            mark = "" if row["agrees"] else " **not as said**"
            yield f"| {row['name']} | {row['form']} | {row['files']} | {row['spark']}{mark} |"


def _verdicts(sample: str, asked: list[AskedChange]) -> list[str]:
    place = PROJECT / "sample_checkpoints" / sample / "checkpoint"
    ck = Checkpoint.open(parse_location(str(place)), DEFAULTS)
    return [
        ("**{}**" if change.is_problem else "{}").format(say_of("changes", "VERDICTS", change.verdict))
        for change in judge_changes(ck, asked, SPARK).changes
    ]


def _words(template: str) -> str:
    if template == "{sentence}":
        return "what the forecast says"
    return re.sub(r"\{(\w+)[^}]*\}", r"*\1*", template).replace("|", "\\|")


if __name__ == "__main__":
    print(changes_page(), end="")
