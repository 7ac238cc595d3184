"""The code of an option, with this checkpoint's values filled in. It is shown and downloaded, never run from
here.

Every script begins after the last COMMITTED batch. The newest offset file is never a start: a planned batch
may not have reached the sink, and a start that failed leaves one behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Literal, get_args

from core import __version__
from core.checkpoint.state import PARTITIONS_KEY, PROVIDER_KEY
from core.messages import say, say_of
from core.recovery.answers import OptionId, is_secret
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.kit import kit_of
from core.recovery.kit_text import kit_sha256, with_kit
from core.recovery.lakeflow import HOST_ENV, TOKEN_ENV, lakeflow_blocks
from core.recovery.model import Constant
from core.recovery.on_s3 import has_versions, restored_prefix, s3_place
from core.recovery.places import Platform, beside, new_checkpoint, new_output, old_checkpoint
from core.recovery.plan import plan
from core.recovery.quoting import environment, python_literal
from core.recovery.readers import source_reader
from core.recovery.recipe import Recipe, recipe
from core.recovery.repairs import Repair, repair_of
from core.recovery.sinks import FOREACH

Language = Literal["python", "sql", "bash", "markdown", "json"]
Form = Literal["snippet", "script", "kit", "file", "runbook", "plan"]
FORMS: tuple[Form, ...] = get_args(Form)
"""The forms of the code of an option: what to paste, what differs for this checkpoint, what is the same for
everybody, both in one file to run, what to read, what a program reads."""

TEMPLATES = environment(Path(__file__).parent / "templates")
TEMPLATES.globals["made_by"] = f"checkpoint-explorer {__version__}"  # every script names it
SCRIPTS = {
    "start_options": "reset_options.py.j2",
    "seeded": "reset_seeded.py.j2",
    "warm_up": "reset_state.py.j2",
    "empty_state": "reset_state.py.j2",
    "from_start": "refresh.py.j2",
}
WITH_BACKFILL = "backfill.py.j2"
JOB_SETTINGS = "job_settings.py"
RESTORE_VERSIONS = "restore_versions.py"
BESIDE = (JOB_SETTINGS, RESTORE_VERSIONS)
"""Files that do something else than the file of an option: written only when they are named."""
MOST_LINES = 80
"""A script without its kit is read at night."""
LONG_LINE = 100
OF_STATE = ("KEEPS_STATE", "STATE_PROVIDER", "SHUFFLE_PARTITIONS", "WRITTEN_BY")
PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:<version of your Spark>",
    "delta": "io.delta:delta-spark_2.13:<version for your Spark>",
}


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One piece of code to copy or download."""

    platform: Platform
    language: Language
    title: str
    file_name: str
    text: str
    form: Form = "file"

    @property
    def own_text(self) -> str:
        """What a person reads: without the kit that a file carries."""
        return kit_of(self.text)[0]


def generate(context: RecoveryContext, option_id: OptionId) -> tuple[CodeBlock, ...]:
    """The files of one option, ready to run; empty when it cannot be done or needs none, :func:`why_no_code`
    then says why."""
    if option_id == "restart" or is_left_to_the_pipeline(context, option_id):
        return ()
    wanted = context.answers.get("platform")
    blocks: list[CodeBlock] = []
    if wanted != "lakeflow" and context.sink != "lakeflow_table":
        platform: Platform = "databricks" if wanted == "databricks" else "pyspark"
        made, repair = recipe(context, option_id), repair_of(option_id)
        if made.possible and repair is not None:
            blocks.append(_repair_script(context, made, repair, platform))
            if option_id == "restore_backup" and has_versions(context):
                blocks.append(_restore_versions(context, repair, platform))
        elif made.possible:
            blocks.append(_script(context, made, platform))
        if made.possible and platform == "databricks":
            blocks.append(_job_settings(context))
    if wanted in (None, "lakeflow") and repair_of(option_id) is None:
        found = lakeflow_blocks(context, option_id, TEMPLATES)
        blocks += [
            CodeBlock("lakeflow", language, title, name, text) for language, title, name, text in found
        ]
    return tuple(blocks)


def why_no_code(context: RecoveryContext, option_id: OptionId) -> str:
    """Why there is no file to run for this option; empty when there is one."""
    if generate(context, option_id):
        return ""
    made = recipe(context, option_id)
    if made.possible and context.flow is not None:
        return say("recovery_code.flow_restart" if option_id == "restart" else "recovery_code.flow_refresh")
    return say("recovery_code.restart") if made.possible and option_id == "restart" else made.why


def is_left_to_the_pipeline(context: RecoveryContext, option_id: OptionId) -> bool:
    """Whether a declarative pipeline does the whole option itself, by one command."""
    return context.flow is not None and option_id == "full_refresh"


def _script(context: RecoveryContext, made: Recipe, platform: Platform) -> CodeBlock:
    constants = _constants(context, made, platform)
    template = WITH_BACKFILL if made.option == "backup_and_backfill" else SCRIPTS[made.method or "from_start"]
    file = _file_with_kit(
        template,
        constants,
        title=title_of(context, made),
        sources=[_source_values(context, made, source) for source in context.sources],
        plan=[f"{step.title} {step.why}".strip() for step in plan(context, made).steps],
        packages=packages(context, made),
    )
    option = say_of("recovery", "TITLES", made.option)
    title = say_of("recovery_code", "TITLES_OF_CODE", platform, option=option)
    return CodeBlock(platform, "python", title, f"recover_{made.option}.py", file)


def _repair_script(context: RecoveryContext, made: Recipe, repair: Repair, platform: Platform) -> CodeBlock:
    constants = [*_repair_places(context, made, repair, platform), *repair.constants(context)]
    title = say_of("recovery", "TITLES", repair.id)
    file = _file_with_kit(
        repair.template,
        constants,
        title=title,
        plan=[f"{step.title} {step.why}".strip() for step in plan(context, made).steps],
        packages=packages(context, made),
    )
    shown = say_of("recovery_code", "TITLES_OF_CODE", platform, option=title)
    return CodeBlock(platform, "python", shown, f"recover_{repair.id}.py", file)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of values at the top of a script; the comment stands above it where it would be long."""

    constants: tuple[Constant, ...]
    comment: str = ""
    is_long: bool = False


def _file_with_kit(template: str, constants: Sequence[Constant], **values: object) -> str:
    """The one file that runs: the lines of a script, and the kit. Lists get a line for each entry,
    and sources one for each value, as long as the script can then be read in one look."""
    required = {each.name: each.required for each in constants if each.required is not None}
    text = ""
    for density in range(4):
        made = TEMPLATES.get_template(template).render(
            values,
            lines=_lines(constants, density),
            required=required,
            density=density,
            kit_sha256=kit_sha256(),
        )
        text = with_kit(made)
        if len(kit_of(text)[0].splitlines()) <= MOST_LINES:
            break
    return text


def _lines(constants: Sequence[Constant], density: int) -> list[_Line]:
    """Each value on a line; with a density of 2 those of the state and of one source together, with 3 of all
    sources."""
    found = []
    for group, members in groupby(constants, partial(_group, density=density)):
        together = tuple(members)
        if group:
            found.append(_Line(together))
            continue
        for each in together:
            size = len(each.name) + len(python_literal(each.value)) + len(each.comment)
            found.append(_Line((each,), each.comment, size > LONG_LINE and density < 2))
    return found


def _group(constant: Constant, density: int) -> str:
    """What a value shares its line with; empty for a line of its own."""
    source = re.match(r"SOURCE_[0-9]+_", constant.name)
    if density < 2:
        return ""
    if source is None:
        return "STATE" if constant.name in OF_STATE else ""
    return source[0] if density == 2 else "SOURCE"


def _job_settings(context: RecoveryContext) -> CodeBlock:
    """What goes with every option on Databricks: the job is paused, and restarts the query afterwards."""
    job = context.answers.get("job_id")
    text = TEMPLATES.get_template("job_settings.py.j2").render(
        job_id=int(job) if job is not None and job.isascii() and job.isdigit() else job,
        host_env=context.answers.get("host_env") or HOST_ENV,
        token_env=context.answers.get("token_env") or TOKEN_ENV,
    )
    return CodeBlock("databricks", "python", say("recovery_code.job_settings"), JOB_SETTINGS, text)


def _restore_versions(context: RecoveryContext, repair: Repair, platform: Platform) -> CodeBlock:
    """What brings a checkpoint on S3 back without a backup. It uses no Spark."""
    place = s3_place(context.url)
    text = TEMPLATES.get_template("restore_versions.py.j2").render(
        bucket=place and place.bucket,
        prefix=place and place.prefix,
        new_prefix=restored_prefix(context, repair.suffix(context)),
    )
    return CodeBlock(platform, "python", say("recovery_code.restore_versions"), RESTORE_VERSIONS, text)


def packages(context: RecoveryContext, made: Recipe) -> str:
    """The connectors that Spark needs to run the file of an option, comma-separated."""
    repair = repair_of(made.option)
    if repair is not None:
        return PACKAGES["delta"] if context.sink == "delta" and repair.asks_sink else ""
    needed = _kinds(context) | ({"delta"} if context.sink in ("delta", "foreach_txn") else set())
    return ",".join(PACKAGES[kind] for kind in sorted(needed) if kind in PACKAGES)


def _kinds(context: RecoveryContext) -> set[str]:
    kinds = {source.kind.name for source in context.sources}
    return kinds | {"kafka"} if context.sink == "kafka" else kinds


def title_of(context: RecoveryContext, made: Recipe) -> str:
    """The option, and for one that makes a new start also after which batch."""
    option = say_of("recovery", "TITLES", made.option)
    if context.is_lost or repair_of(made.option) is not None or made.method in ("restart", "from_start"):
        return option
    if context.last_committed is None:
        return say("recovery_code.nothing_committed", option=option)
    return say("recovery_code.after_batch", option=option, batch=context.last_committed)


# ---------------------------------------------------------------- values


def _repair_places(
    context: RecoveryContext, made: Recipe, repair: Repair, platform: Platform
) -> list[Constant]:
    place, new = old_checkpoint(context, platform), new_checkpoint(context, made, platform)
    is_backup = repair.place == "backup_to"
    return [
        Constant(
            "OLD_CHECKPOINT",
            place,
            say("recovery_code.old_checkpoint_only_read"),
            None if context.is_lost else say("recovery_code.need_old_checkpoint"),
        ),
        Constant(
            "NEW_CHECKPOINT",
            new,
            say("recovery_code.backup_place" if is_backup else "recovery_code.new_checkpoint"),
            say("recovery_code.need_backup" if is_backup else "recovery_code.need_new_checkpoint"),
        ),
        Constant("QUERY_ID", context.query_id),
        Constant("LAST_COMMITTED_BATCH", context.last_committed),
        Constant("NEWEST_OFFSET", context.newest_offset),
        Constant("PENDING_BATCH", context.pending, say("recovery_code.planned")),
    ]


def _constants(context: RecoveryContext, made: Recipe, platform: Platform) -> list[Constant]:
    return [
        *_places(context, made, platform),
        *_query_values(context, made),
        *_sink_values(context, made),
        *_method_values(context, made),
        *_source_constants(context),
    ]


def _places(context: RecoveryContext, made: Recipe, platform: Platform) -> list[Constant]:
    place, new = old_checkpoint(context, platform), new_checkpoint(context, made, platform)
    if context.is_lost:
        return _places_of_lost(new)
    found = [
        Constant(
            "OLD_CHECKPOINT",
            place,
            say("recovery_code.old_checkpoint"),
            say("recovery_code.need_old_checkpoint"),
        ),
        Constant(
            "NEW_CHECKPOINT",
            new,
            say("recovery_code.new_checkpoint"),
            say("recovery_code.need_new_checkpoint"),
        ),
        Constant(
            "BACKUP",
            context.answers.get("backup_to") or beside(context, platform, "backup-batch"),
            say("recovery_code.backup_first"),
            say("recovery_code.need_backup"),
        ),
        Constant("QUERY_ID", context.query_id),
        Constant("LAST_COMMITTED_BATCH", context.last_committed),
        Constant("NEWEST_OFFSET", context.newest_offset),
        Constant("PENDING_BATCH", context.pending, say("recovery_code.planned")),
    ]
    if made.method == "from_start":
        found.append(
            Constant(
                "ASIDE_CHECKPOINT",
                beside(context, platform, "before-refresh-batch"),
                "",
                say("recovery_code.need_aside"),
            )
        )
    return found


def _places_of_lost(new: str | None) -> list[Constant]:
    """The values of a script for a checkpoint that is gone: nothing is known of it, nothing is copied."""
    return [
        Constant("OLD_CHECKPOINT", None, say("recovery_code.lost_checkpoint")),
        Constant(
            "NEW_CHECKPOINT",
            new,
            say("recovery_code.new_checkpoint"),
            say("recovery_code.need_new_checkpoint"),
        ),
        *(
            Constant(name, None)
            for name in ("BACKUP", "QUERY_ID", "LAST_COMMITTED_BATCH", "NEWEST_OFFSET", "PENDING_BATCH")
        ),
        Constant("ASIDE_CHECKPOINT", None),
    ]


def _query_values(context: RecoveryContext, made: Recipe) -> list[Constant]:
    mode = context.answers.get("output_mode")
    return [
        Constant(
            "QUERY_FILE",
            context.answers.get("query_file"),
            say("recovery_code.query_file"),
            _need_query(context),
        ),
        Constant("OUTPUT_MODE", mode or only_mode(context), "", say("recovery_code.need_mode")),
        Constant("KEEPS_STATE", context.needs_state),
        *_state_settings(context),
        *_written_by(context),
        Constant("OFFSET_LOG_VERSION", context.offset_version),
        Constant(
            "ACCEPT_LOSS",
            bool(made.skips),
            say("recovery_code.known_loss" if made.skips else "recovery_code.no_loss"),
        ),
        Constant(
            "RESULT_IS_BATCH_RESULT",
            _is_batch_result(context, mode or only_mode(context)),
            say("recovery_code.batch_result"),
        ),
    ]


def _state_settings(context: RecoveryContext) -> list[Constant]:
    """What the checkpoint has pinned and a new one would take from the session: a session of its own has the
    defaults, with which some queries do not start (transformWithState needs RocksDB)."""
    pinned = context.ck.conf if context.needs_state else {}
    names = {"STATE_PROVIDER": PROVIDER_KEY, "SHUFFLE_PARTITIONS": PARTITIONS_KEY}
    return [
        Constant(name, pinned[key], say("recovery_code.as_pinned"))
        for name, key in names.items()
        if key in pinned
    ]


def _written_by(context: RecoveryContext) -> list[Constant]:
    """The oldest and the newest Spark that may have written the checkpoint, as far as its files tell."""
    written = context.ck.written_by
    if written.at_least is None and written.at_most is None:
        return []
    return [Constant("WRITTEN_BY", [written.at_least, written.at_most])]


def _need_query(context: RecoveryContext) -> str:
    if len(context.sources) == 1:
        writes = context.sink in FOREACH
        return say("recovery_code.need_transform_and_write" if writes else "recovery_code.need_transform")
    if context.sink in FOREACH:
        return say("recovery_code.need_transform_sources_and_write")
    return say("recovery_code.need_transform_sources")


def only_mode(context: RecoveryContext) -> str | None:
    """Without an aggregation there is only one sensible mode."""
    aggregates = any(
        name is None or name not in ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin")
        for name in context.operators
    )
    return (
        "append" if not context.needs_state or (context.stateful == "unchanged" and not aggregates) else None
    )


def _is_batch_result(context: RecoveryContext, mode: str | None) -> bool:
    if not context.needs_state:
        return True
    if context.stateful != "unchanged" or context.watermark_ms:
        return False
    names = set(context.operators)
    return (
        names == {"dedupe"}
        if mode == "append"
        else names == {"stateStoreSave"} and context.sink == "foreach_merge"
    )


def _sink_values(context: RecoveryContext, made: Recipe) -> list[Constant]:
    path, kind = context.answers.get("sink_path"), context.answers.get("sink_format")
    fixed = {"delta": "delta", "kafka": "kafka", "foreach_txn": "delta" if path else None}
    built_in = context.sink in ("file", "delta")
    options = {name: value for name, value in context.answers.sink_options().items() if not is_secret(name)}
    secrets = {name: value for name, value in context.answers.sink_options().items() if is_secret(name)}
    found = [
        Constant(
            "SINK",
            context.sink,
            "",
            say("recovery_code.need_sink") if context.sink is None else None,
        ),
        Constant(
            "SINK_PATH",
            path,
            say("recovery_code.sink_path"),
            say("recovery_code.need_sink_path") if built_in else None,
        ),
        Constant(
            "SINK_FORMAT",
            fixed.get(context.sink or "") or kind,
            "",
            say("recovery_code.need_sink_format") if context.sink == "file" else None,
        ),
        Constant(
            "PARTITION_BY", _columns(context.answers.get("partition_by")), say("recovery_code.partition_by")
        ),
        Constant("SINK_IS_OURS", False, say("recovery_code.sink_is_ours")),
        Constant("SINK_OPTIONS", options),
        Constant("SINK_SECRETS", secrets, say("recovery_code.secrets")),
    ]
    if context.sink == "kafka":
        topic = context.answers.get("sink_topic") or path
        found += [
            Constant(
                "SINK_SERVERS",
                context.answers.get("sink_servers"),
                "",
                say("recovery_code.need_sink_servers"),
            ),
            Constant(
                "SINK_TOPIC",
                topic,
                "",
                say("recovery_code.need_empty_topic")
                if made.method == "from_start"
                else say("recovery_code.need_topic"),
            ),
        ]
    if made.method == "from_start" and context.sink == "delta":
        found.append(Constant("ACCEPT_PLAIN_TABLE", False, say("recovery_code.plain_table")))
    if made.option == "full_refresh" and context.sink in ("file", "delta"):
        found.append(Constant("REFRESH_INTO", new_output(context, made), say("recovery_code.refresh_into")))
    if made.method == "from_start" and context.sink in FOREACH and path is None:
        found.append(
            Constant(
                "TARGET_IS_EMPTY",
                None,
                "",
                say("recovery_code.need_empty_target"),
            )
        )
    return found


def _columns(names: str | None) -> list[str] | None:
    """The column names of a comma-separated answer; None when it was not given."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _method_values(context: RecoveryContext, made: Recipe) -> list[Constant]:
    if made.method == "from_start":
        return _backfill_values(context) if made.option == "backup_and_backfill" else []
    found = [
        Constant("FIRST_BATCH", made.first_batch, say("recovery_code.first_batch")),
        Constant("KEEP_PENDING", made.keep_pending, say("recovery_code.keep_pending")),
    ]
    if made.method in ("seeded", "warm_up", "empty_state"):
        found.append(Constant("FILES_ARE_NEW", False, say("recovery_code.files_are_new")))
    if made.new_output:
        found.append(Constant("NEW_SINK_PATH", None, say("recovery_code.new_sink_path")))
    if made.method == "seeded":
        found += [
            Constant("KEEP_QUERY_ID", made.keep_query_id),
        ]
    if made.method in ("warm_up", "empty_state"):
        found += [
            Constant("WARM_UP", made.method == "warm_up"),
            Constant("WATERMARK_MS", context.watermark_ms, say("recovery_code.watermark")),
            Constant("APP_ID_CHANGES", False, say("recovery_code.app_id_changes")),
        ]
    return found


def _backfill_values(context: RecoveryContext) -> list[Constant]:
    keys = context.answers.get("backfill_keys")
    newer = say("recovery_code.need_sequence") if context.sink == "foreach_merge" else None
    return [
        Constant(
            "BACKFILL_KEYS",
            keys.split(",") if keys else None,
            "",
            say("recovery_code.need_keys"),
        ),
        Constant("BACKFILL_SEQUENCE", context.answers.get("backfill_sequence"), "", newer),
        *_needed_by_backfill(context),
    ]


def _needed_by_backfill(context: RecoveryContext) -> list[Constant]:
    missing = [name for name in ("sink_path", "sink_format") if context.answers.get(name) is None]
    if context.sink in FOREACH and missing:
        return [
            Constant(
                "OUTPUT_IS_KNOWN",
                None,
                "",
                say("recovery_code.need_output", answers=missing),
            )
        ]
    return []


def _source_constants(context: RecoveryContext) -> list[Constant]:
    found = []
    for source in context.sources:
        reader, name = source_reader(context, source), f"SOURCE_{source.index}_"
        needs = reader.required.get
        guessed = say("recovery_code.inferred_path") if reader.is_path_inferred else ""
        found += [
            Constant(f"{name}FORMAT", reader.format, "", needs("format")),
            Constant(f"{name}PATH", reader.path, guessed, needs("path")),
            Constant(f"{name}SCHEMA", reader.schema, "", needs("schema")),
            Constant(f"{name}OPTIONS", dict(reader.options)),
            Constant(f"{name}SECRETS", dict(reader.secrets), say("recovery_code.secrets")),
        ]
        if source.kind.takes_topics:
            found.append(Constant(f"{name}SERVERS", reader.servers, "", needs("servers")))
    return found


def _source_values(context: RecoveryContext, made: Recipe, source: SourcePosition) -> dict[str, object]:
    start = next((start for start in made.starts if start.source.key == source.key), None)
    return {
        "key": source.key,
        "kind": source.kind.name,
        "directory": source.directory,
        "name": source.key if context.named_sources else None,
        "position": source.position,
        "pending": source.pending_position if made.keep_pending else None,
        "start": dict(start.options) if start is not None and start.how in ("options", "earliest") else {},
    }
