"""The code of an option, with this checkpoint's values filled in. It is shown and downloaded, never run from
here.

Every script begins after the last COMMITTED batch. The newest offset file is never a start: a planned batch
may not have reached the sink, and a start that failed leaves one behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core import __version__
from core.checkpoint import Checkpoint
from core.recovery.answers import Answers, is_secret
from core.recovery.context import RecoveryContext, SourceSituation, read_recovery_context
from core.recovery.lakeflow import lakeflow_blocks
from core.recovery.plan import plan_of
from core.recovery.quoting import environment
from core.recovery.recipe import Recipe, recipe
from core.recovery.words import TITLES, OptionId

Platform = Literal["pyspark", "databricks", "lakeflow"]
Language = Literal["python", "sql", "bash"]

TEMPLATES = environment(Path(__file__).parent / "templates")
TEMPLATES.globals["made_by"] = f"checkpoint-explorer {__version__}"  # every script names it
SCRIPTS = {
    "start_options": "reset_options.py.j2",
    "seeded": "reset_seeded.py.j2",
    "warm_up": "reset_state.py.j2",
    "empty_state": "reset_state.py.j2",
    "from_start": "refresh.py.j2",
}
PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:<version of your Spark>",
    "delta": "io.delta:delta-spark_2.13:<version for your Spark>",
}
FOREACH = ("foreach_append", "foreach_merge", "foreach_txn", "other")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One piece of code to copy or download."""

    platform: Platform
    language: Language
    title: str
    file_name: str
    text: str


@dataclass(frozen=True, slots=True)
class Constant:
    """One named value at the top of a script. ``required``: why it must be filled in when it is None."""

    name: str
    value: object
    comment: str = ""
    required: str | None = None


def generate(ck: Checkpoint, option_id: OptionId, answers: Answers) -> tuple[CodeBlock, ...]:
    """The code for one option; empty when it cannot be done, :func:`why_no_code` then says why. Raises
    :class:`StorageError`."""
    return generate_of(read_recovery_context(ck, answers), option_id)


def generate_of(situation: RecoveryContext, option_id: OptionId) -> tuple[CodeBlock, ...]:
    """The same from facts that were read before."""
    wanted = situation.answers.get("platform")
    blocks: list[CodeBlock] = []
    if wanted != "lakeflow" and situation.sink != "lakeflow_table":
        platform: Platform = "databricks" if wanted == "databricks" else "pyspark"
        made = recipe(situation, option_id)
        if made.possible:
            blocks.append(_script(situation, made, platform))
    if wanted in (None, "lakeflow"):
        found = lakeflow_blocks(situation, option_id, TEMPLATES)
        blocks += [
            CodeBlock("lakeflow", language, title, name, text) for language, title, name, text in found
        ]
    return tuple(blocks)


def why_no_code(situation: RecoveryContext, option_id: OptionId) -> str:
    """Why there is no code for this option; empty when there is some."""
    return "" if generate_of(situation, option_id) else recipe(situation, option_id).why


def _script(s: RecoveryContext, made: Recipe, platform: Platform) -> CodeBlock:
    constants = _constants(s, made, platform)
    needed = [constant for constant in constants if constant.required is not None]
    kinds = {source.kind.name for source in s.sources} | ({"kafka"} if s.sink == "kafka" else set())
    connectors = kinds | ({"delta"} if s.sink in ("delta", "foreach_txn") else set())
    template = TEMPLATES.get_template(SCRIPTS[made.method or "from_start"])
    text = template.render(
        title=f"{TITLES[made.option]}, after batch {_batch(s)}",
        constants=constants,
        required=[(constant.name, constant.required) for constant in needed],
        sources=[_source_values(s, made, source) for source in s.sources],
        plan=[f"{step.title} {step.why}".strip() for step in plan_of(s, made).steps],
        kinds=sorted(kinds),
        sink=s.sink,
        method=made.method,
        new_output=made.new_output,
        after=f".after-batch-{_batch(s)}",
        before=f".before-refresh-batch-{_batch(s)}",
        backfill=f".backfill-batch-{_batch(s)}",
        packages=",".join(PACKAGES[kind] for kind in sorted(connectors) if kind in PACKAGES),
        with_backfill=made.option == "backup_and_backfill",
    )
    where = "Databricks, classic compute (not run there)" if platform == "databricks" else "PySpark script"
    return CodeBlock(platform, "python", f"{TITLES[made.option]}: {where}", f"recover_{made.option}.py", text)


def _batch(s: RecoveryContext) -> str:
    return str(s.last_committed if s.last_committed is not None else "none")


# ---------------------------------------------------------------- values


def _constants(s: RecoveryContext, made: Recipe, platform: Platform) -> list[Constant]:
    place = s.url if platform == "databricks" and s.spark_path is not None else s.spark_path
    return [
        *_places(s, made, place),
        *_query_values(s, made),
        *_sink_values(s, made),
        *_method_values(s, made),
        *_source_constants(s),
    ]


def _places(s: RecoveryContext, made: Recipe, place: str | None) -> list[Constant]:
    def beside(what: str) -> str | None:
        return None if place is None else f"{place}.{what}-{_batch(s)}"

    new = s.answers.get("checkpoint_new") or beside(
        "reset-after-batch" if made.option == "reset" else "refresh-after-batch"
    )
    found = [
        Constant(
            "OLD_CHECKPOINT",
            place,
            "The checkpoint this was made from; it is read, copied and renamed, never changed.",
            "its path",
        ),
        Constant(
            "NEW_CHECKPOINT",
            new,
            "The checkpoint of the query from now on; a new place.",
            "a new place for the checkpoint",
        ),
        Constant(
            "BACKUP",
            s.answers.get("backup_to") or beside("backup-batch"),
            "Where the copy goes first.",
            "a place for the copy",
        ),
        Constant("QUERY_ID", s.query_id),
        Constant("LAST_COMMITTED_BATCH", s.last_committed),
        Constant("NEWEST_OFFSET", s.newest_offset),
        Constant("PENDING_BATCH", s.pending, "Planned, not committed."),
    ]
    if made.method == "from_start":
        found.append(
            Constant(
                "ASIDE_CHECKPOINT", beside("before-refresh-batch"), "", "another name for the old checkpoint"
            )
        )
    return found


NO_LOSS = "Set to True only when the script says what is lost and that is all right."
KNOWN_LOSS = (
    "True, because the plan names what can no longer be read; with False the script stops when it meets it."
)


def _query_values(s: RecoveryContext, made: Recipe) -> list[Constant]:
    what = (
        "a Python file with transform(df)"
        if len(s.sources) == 1
        else "a Python file with transform(sources), a dict by source key"
    )
    if s.sink in FOREACH:
        what += " and write_batch(df, batch_id)"
    mode = s.answers.get("output_mode")
    return [
        Constant("QUERY_FILE", s.answers.get("query_file"), "Your query, imported by this script.", what),
        Constant("OUTPUT_MODE", mode or _only_mode(s), "", "append, update or complete, as in the query"),
        Constant("KEEPS_STATE", s.needs_state),
        Constant("OFFSET_LOG_VERSION", s.offset_version),
        Constant("ACCEPT_LOSS", bool(made.skips), KNOWN_LOSS if made.skips else NO_LOSS),
        Constant(
            "RESULT_IS_BATCH_RESULT",
            _is_batch_result(s, mode or _only_mode(s)),
            "Whether a batch over all input gives the same rows.",
        ),
    ]


def _only_mode(s: RecoveryContext) -> str | None:
    """Without an aggregation there is only one sensible mode."""
    aggregates = any(
        name is None or name not in ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin")
        for name in s.operators
    )
    return "append" if not s.needs_state or (s.stateful == "unchanged" and not aggregates) else None


def _is_batch_result(s: RecoveryContext, mode: str | None) -> bool:
    if not s.needs_state:
        return True
    if s.stateful != "unchanged" or s.watermark_ms:
        return False
    names = set(s.operators)
    return (
        names == {"dedupe"} if mode == "append" else names == {"stateStoreSave"} and s.sink == "foreach_merge"
    )


def _sink_values(s: RecoveryContext, made: Recipe) -> list[Constant]:
    path, kind = s.answers.get("sink_path"), s.answers.get("sink_format")
    fixed = {"delta": "delta", "kafka": "kafka", "foreach_txn": "delta" if path else None}
    built_in = s.sink in ("file", "delta")
    options = {name: value for name, value in s.answers.sink_options().items() if not is_secret(name)}
    secrets = {name: value for name, value in s.answers.sink_options().items() if is_secret(name)}
    found = [
        Constant(
            "SINK",
            s.sink,
            "",
            "answer the question where the query writes, and make the code again" if s.sink is None else None,
        ),
        Constant(
            "SINK_PATH",
            path,
            "Where the query writes.",
            "the table or directory the query writes to" if built_in else None,
        ),
        Constant(
            "SINK_FORMAT",
            fixed.get(s.sink or "") or kind,
            "",
            "parquet, json, csv ..." if s.sink == "file" else None,
        ),
        Constant("SINK_OPTIONS", options),
        Constant("SINK_SECRETS", secrets, "Option: name of the environment variable that holds it."),
    ]
    if s.sink == "kafka":
        topic = s.answers.get("sink_topic") or path
        found += [
            Constant("SINK_SERVERS", s.answers.get("sink_servers"), "", "the brokers of the sink, host:port"),
            Constant(
                "SINK_TOPIC",
                topic,
                "",
                "a new, empty topic" if made.method == "from_start" else "the topic the query writes to",
            ),
        ]
    if made.method == "from_start" and s.sink in FOREACH and path is None:
        found.append(
            Constant(
                "TARGET_IS_EMPTY",
                None,
                "",
                "True, once you renamed or emptied what write_batch writes to (or give sink_path)",
            )
        )
    return found


def _method_values(s: RecoveryContext, made: Recipe) -> list[Constant]:
    if made.method == "from_start":
        return _backfill_values(s) if made.option == "backup_and_backfill" else []
    found = [
        Constant("FIRST_BATCH", made.first_batch, "The first batch of the new checkpoint."),
        Constant(
            "KEEP_PENDING", made.keep_pending, "Whether the planned batch keeps its number and its end."
        ),
    ]
    if made.new_output:
        found.append(
            Constant("NEW_SINK_PATH", None, "The new output directory; None: a place beside SINK_PATH.")
        )
    if made.method == "seeded":
        found += [
            Constant("SEEDED_BATCH", made.first_batch - 1),
            Constant("KEEP_QUERY_ID", made.keep_query_id),
        ]
    if made.method in ("warm_up", "empty_state"):
        found += [
            Constant("WARM_UP", made.method == "warm_up"),
            Constant("WATERMARK_MS", s.watermark_ms, "In force during the last committed batch."),
            Constant("WINDOW_END_COLUMN", s.answers.get("window_end_column")),
            Constant("SHUFFLE_PARTITIONS", s.shuffle_partitions),
            Constant("STATE_PROVIDER", s.state_provider),
            Constant("APP_ID_CHANGES", False, "True when write_batch builds its txnAppId from the query id."),
        ]
    return found


def _backfill_values(s: RecoveryContext) -> list[Constant]:
    keys = s.answers.get("backfill_keys")
    newer = "the column that says which row is newer" if s.sink == "foreach_merge" else None
    return [
        Constant(
            "BACKFILL_KEYS",
            keys.split(",") if keys else None,
            "",
            "a list of the columns that identify a row",
        ),
        Constant("BACKFILL_SEQUENCE", s.answers.get("backfill_sequence"), "", newer),
        *_needed_by_backfill(s),
    ]


def _needed_by_backfill(s: RecoveryContext) -> list[Constant]:
    missing = [name for name in ("sink_path", "sink_format") if s.answers.get(name) is None]
    if s.sink in FOREACH and missing:
        return [
            Constant(
                "OUTPUT_IS_KNOWN",
                None,
                "",
                f"make the code again with {' and '.join(missing)}: the old rows must be readable",
            )
        ]
    return []


def _source_constants(s: RecoveryContext) -> list[Constant]:
    found = []
    for source in s.sources:
        name = f"SOURCE_{source.index}_"
        options, secrets = _options(s, source)
        kind = s.answers.source(source.key, "format")
        path = s.answers.source(source.key, "path")
        guessed = "Inferred from the source log." if path is None and source.path_guess is not None else ""
        file_like = source.kind.asks == "directory"
        known_format = kind or source.format_guess or source.kind.reader_format
        needs_schema = file_like and known_format != "text"
        found += [
            Constant(
                f"{name}FORMAT", known_format, "", f"the format of source {source.index}, as in the query"
            ),
            Constant(
                f"{name}PATH",
                path or source.path_guess,
                guessed,
                f"the path of source {source.index}" if source.kind.has_place else None,
            ),
            Constant(
                f"{name}SCHEMA",
                s.answers.source(source.key, "schema"),
                "",
                f"the schema of source {source.index} as text, for example id int, name string"
                if needs_schema
                else None,
            ),
            Constant(f"{name}OPTIONS", options),
            Constant(f"{name}SECRETS", secrets, "Option: name of the environment variable that holds it."),
        ]
        if source.kind.takes_topics:
            servers = options.get("kafka.bootstrap.servers")
            found.append(
                Constant(f"{name}SERVERS", servers, "", f"the brokers of source {source.index}, host:port")
            )
    return found


def _options(s: RecoveryContext, source: SourceSituation) -> tuple[dict[str, str], dict[str, str]]:
    """The reader options of one source, and the names of the environment variables for those that are
    secrets."""
    given = s.answers.source_options(source.key)
    options = {name: value for name, value in given.items() if not is_secret(name)}
    if source.kind.takes_topics:
        servers = s.answers.source(source.key, "servers")
        if servers is not None:
            options["kafka.bootstrap.servers"] = servers
        if not {"subscribe", "subscribePattern", "assign"} & set(options):
            options["subscribe"] = s.answers.source(source.key, "topics") or ",".join(source.topics)
    return options, {name: value for name, value in given.items() if is_secret(name)}


def _source_values(s: RecoveryContext, made: Recipe, source: SourceSituation) -> dict[str, object]:
    start = next((start for start in made.starts if start.source.key == source.key), None)
    return {
        "index": source.index,
        "key": source.key,
        "kind": source.kind.name,
        "directory": source.directory,
        "name": source.key if s.named_sources else None,
        "position": source.position,
        "pending": source.pending_position if made.keep_pending else None,
        "start": dict(start.options) if start is not None and start.how in ("options", "earliest") else {},
    }
