"""How the query reads its sources: format, place, schema and options, from the checkpoint and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.messages import say
from core.recovery.answers import Answers, is_secret
from core.recovery.context import RecoveryContext, SourcePosition, spark_path

READER_PARTS = ("format", "path", "schema", "servers")
"""What :class:`SourceReader` may require, by the last part of the answer that gives it."""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """One source as a reader of Spark takes it.

    ``secrets``: option -> name of the environment variable that contains its value. ``required``: what may
    not be None when the source is read, with why (parts of :data:`READER_PARTS`). ``is_path_inferred``: the
    path comes from the source's own log and not from an answer.
    """

    index: int
    key: str
    name: str | None
    kind: str
    format: str | None
    path: str | None
    schema: str | None
    servers: str | None
    options: Mapping[str, str]
    secrets: Mapping[str, str]
    required: Mapping[str, str]
    is_path_inferred: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """The answers that are missing, by their public ids."""
        return tuple(f"source.{self.key}.{part}" for part in self.required if getattr(self, part) is None)


def source_reader(context: RecoveryContext, source: SourcePosition) -> SourceReader:
    """The reader of one source of the checkpoint."""
    answers, index = context.answers, source.index
    options, secrets = _options(context, source)
    path = answers.source(source.key, "path")
    known_format = answers.source(source.key, "format") or source.format_guess or source.kind.reader_format
    required: dict[str, str] = {"format": say("recovery_code.need_format", index=index)}
    if source.kind.has_place:
        required["path"] = say("recovery_code.need_path", index=index)
    if source.kind.asks == "directory" and known_format != "text":
        required["schema"] = say("recovery_code.need_schema", index=index)
    if source.kind.takes_topics:
        required["servers"] = say("recovery_code.need_servers", index=index)
    return SourceReader(
        index=index,
        key=source.key,
        name=source.key if context.named_sources else None,
        kind=source.kind.name,
        format=known_format,
        path=path or source.path_guess or _named_place(context, source.key),
        schema=answers.source(source.key, "schema"),
        servers=options.get("kafka.bootstrap.servers") if source.kind.takes_topics else None,
        options=options,
        secrets=secrets,
        required=required,
        is_path_inferred=path is None and source.path_guess is not None,
    )


def _named_place(context: RecoveryContext, key: str) -> str | None:
    """The place that was named for a source (``--source 0=...``), as Spark names it."""
    table, place = context.connectors.tables.get(key), context.connectors.places.get(key)
    named = table.location if table is not None else place
    return None if named is None else spark_path(named.url)


def answered_readers(answers: Answers) -> tuple[SourceReader, ...]:
    """The readers of the sources that the answers alone describe, for a checkpoint that names none yet."""
    keys = sorted({name.split(".")[1] for name in answers.values if name.startswith("source.")})
    found = []
    for index, key in enumerate(keys):
        given = answers.source_options(key)
        found.append(
            SourceReader(
                index=index,
                key=key,
                name=None if key.isdecimal() else key,
                kind="unknown",
                format=answers.source(key, "format"),
                path=answers.source(key, "path"),
                schema=answers.source(key, "schema"),
                servers=answers.source(key, "servers"),
                options={name: value for name, value in given.items() if not is_secret(name)},
                secrets={name: value for name, value in given.items() if is_secret(name)},
                required={"format": say("recovery_code.need_format", index=index)},
            )
        )
    return tuple(found)


def _options(context: RecoveryContext, source: SourcePosition) -> tuple[dict[str, str], dict[str, str]]:
    """The reader options of one source, and the names of the environment variables for those that are
    secrets."""
    given = context.answers.source_options(source.key)
    options = {name: value for name, value in given.items() if not is_secret(name)}
    if source.kind.takes_topics:
        servers = context.answers.source(source.key, "servers")
        if servers is not None:
            options["kafka.bootstrap.servers"] = servers
        if not {"subscribe", "subscribePattern", "assign"} & set(options):
            options["subscribe"] = context.answers.source(source.key, "topics") or ",".join(source.topics)
    return options, {name: value for name, value in given.items() if is_secret(name)}
