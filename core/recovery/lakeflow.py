"""Code for Lakeflow pipelines: the flow's start position, and the update that resets or refreshes, with
Python's standard library, with databricks-sdk or with curl.

The calls are those that the vendor documents; they were run against a server that answers so, not against a
workspace."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal
from urllib.parse import quote

from jinja2 import Environment

from core.messages import say, say_of
from core.recovery.answers import OptionId
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.recipe import Recipe, recipe

Block = tuple[Literal["python", "sql", "bash"], str, str, str]

HOST_ENV = "DATABRICKS_HOST"
TOKEN_ENV = "DATABRICKS_TOKEN"  # noqa: S105  (the name of a variable)


def lakeflow_blocks(context: RecoveryContext, option: OptionId, templates: Environment) -> list[Block]:
    """(language, title, file name, text) of the pieces for a pipeline; empty when the option cannot be done
    there."""
    made = recipe(_on_lakeflow(context), option)
    if not made.possible:
        return []
    blocks: list[Block] = []
    if option == "backup_and_backfill":
        blocks.append(
            (
                "sql",
                say("recovery_code.backup"),
                "backup.sql",
                _render(templates, "lakeflow_backup.sql.j2", context, made),
            )
        )
    if made.starts and option in ("reset", "backup_and_backfill"):
        title = say("recovery_code.deploy_start" if option == "reset" else "recovery_code.deploy_backfill")
        blocks.append(("python", title, "flow.py", _render(templates, "lakeflow_flow.py.j2", context, made)))
    of_option = say_of("recovery", "TITLES", option)
    title = say_of("recovery_code", "TITLES_OF_CODE", "lakeflow", option=of_option)
    blocks.append(
        ("python", title, "start_update.py", _render(templates, "lakeflow_update.py.j2", context, made))
    )
    blocks.append(
        (
            "python",
            say("recovery_code.with_sdk"),
            "start_update_sdk.py",
            _render(templates, "lakeflow_update.py.j2", context, made, sdk=True),
        )
    )
    blocks.append(
        (
            "bash",
            say("recovery_code.with_curl"),
            "start_update.sh",
            _render(templates, "lakeflow_update.sh.j2", context, made),
        )
    )
    return blocks


def _on_lakeflow(context: RecoveryContext) -> RecoveryContext:
    return replace(context, answers=context.answers.having(platform="lakeflow"))


def _render(
    templates: Environment, name: str, context: RecoveryContext, made: Recipe, *, sdk: bool = False
) -> str:
    flows = [flow.strip() for flow in (context.answers.get("flows") or "").split(",") if flow.strip()]
    field = "reset_checkpoint_selection" if made.option == "reset" else "full_refresh_selection"
    return templates.get_template(name).render(
        option=made.option,
        sdk=sdk,
        body=json.dumps({field: flows}),
        checked_body=json.dumps({field: flows, "validate_only": True}),
        pipeline=quote(context.answers.get("pipeline_id") or "PIPELINE_ID", safe="", errors="replace"),
        batch=context.last_committed,
        pipeline_id=context.answers.get("pipeline_id"),
        flows=flows,
        field=field,
        host_env=context.answers.get("host_env") or HOST_ENV,
        token_env=context.answers.get("token_env") or TOKEN_ENV,
        sources=[_source(context, made, source) for source in context.sources],
        keys=[key.strip() for key in (context.answers.get("backfill_keys") or "").split(",") if key.strip()],
    )


def _source(context: RecoveryContext, made: Recipe, source: SourcePosition) -> dict[str, object]:
    """The reader of one source in a pipeline: format, options in order, path."""
    start = next(start for start in made.starts if start.source.key == source.key)
    options = dict(context.answers.source_options(source.key))
    path = context.answers.source(source.key, "path") or source.path_guess
    kind = context.answers.source(source.key, "format") or source.format_guess or source.kind.name
    if source.kind.takes_topics:
        kind, path = source.kind.reader_format or kind, None
        options.setdefault("kafka.bootstrap.servers", context.answers.source(source.key, "servers") or "")
        options.setdefault(
            "subscribe", context.answers.source(source.key, "topics") or ",".join(source.topics)
        )
    elif source.kind.has_own_log:
        options["cloudFiles.format"] = kind
        kind = "cloudFiles"
    if made.option == "reset":
        options |= start.options
    return {
        "index": source.index,
        "format": kind,
        "path": path,
        "options": options,
        "modified_after_ms": source.newest_file_ms if start.how == "modified_after" else None,
        "is_kafka": source.kind.takes_topics,
    }
