"""``python -m core report``: the incident as Markdown, as one HTML file, or as a chat message."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from core.checkpoint import Checkpoint
from core.documents.report import Format, report_document
from core.errors import UsageError
from core.incident import (
    Beside,
    Report,
    is_address,
    report,
    target_of,
    to_chat,
    to_html,
    to_markdown,
    written_whole,
)
from core.judgement import judge
from core.messages import say
from core.settings import Settings
from core.storage import Door
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of
from core.verbs._query import add_query_options, level_of, query_of, require_sources
from core.verbs._text import clean

FORMATS: Mapping[Format, tuple[str, Callable[[Report], str]]] = {
    "markdown": (".md", to_markdown),
    "html": (".html", to_html),
    "chat": (".md", to_chat),
}


def add_arguments(parser: ArgumentParser) -> None:
    """What ``report`` takes beside the location."""
    parser.add_argument("--format", choices=tuple(FORMATS), help=say("report.help_format"))
    parser.add_argument("--to", metavar="FILE", help=say("report.help_to"))
    parser.add_argument("--overwrite", action="store_true", help=say("evidence.help_overwrite"))
    parser.add_argument("--link", default="", metavar="URL", help=say("report.help_link"))
    parser.add_argument("--evidence", metavar="FILE.zip", help=say("report.help_evidence"))
    add_query_options(parser)
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Writes the report; a start that fails or risks data is a problem, as for ``forecast``."""
    query, level = query_of(args), level_of(args)
    if args.link and not is_address(args.link):
        raise UsageError(say("report.link_form", link=clean(args.link)))
    form: Format = args.format or ("html" if str(args.to).endswith(".html") else "markdown")
    ending, write = FORMATS[form]
    ck = Checkpoint.open(args.location, settings)
    target = None
    if args.to is not None:
        endings = " or ".join(dict.fromkeys(each for each, _ in FORMATS.values()))
        target = target_of(
            args.to,
            ck.door,
            ending,
            may_overwrite=args.overwrite,
            endings=endings if args.format is None else None,
        )
    require_sources(query, ck)
    beside = _with_evidence(args, ck, settings)
    judgement = judge(ck, connectors_of(ck, args, query.topics), level=level, spark=args.spark, query=query)
    made = report(judgement, beside)
    text = write(made)
    if target is not None:
        with written_whole(target) as unfinished:
            unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
    location, is_evidence = ck.location.without_credentials(), ck.door.evidence is not None
    file = None if target is None else str(target)
    return Answer(
        report_document(made, form, text, file, location, ck.read_at_ms, is_evidence),
        text if target is None else _written(made, target),
        has_problems=made.tone in ("fails", "risk"),
        not_read=judgement.not_read,
        is_whole=True,
    )


def _with_evidence(args: Namespace, ck: Checkpoint, settings: Settings) -> Beside:
    """The link, and the checksum of the evidence file that was named. Raises UsageError for one of another
    checkpoint, StorageError for one that cannot be opened."""
    if args.evidence is None:
        return Beside(link=args.link)
    door = Door.open(args.evidence, settings)
    door.list([""])
    if door.evidence is None or door.evidence_sha256 is None:
        raise UsageError(say("report.no_evidence", file=clean(args.evidence)))
    if door.evidence.location != ck.door.origin.without_credentials():
        location = clean(door.evidence.location)
        raise UsageError(say("report.other_evidence", file=clean(args.evidence), location=location))
    return Beside(link=args.link, sha256=door.evidence_sha256, file=Path(args.evidence).name)


def _written(made: Report, target: Path) -> str:
    size_bytes = target.stat().st_size
    return say("report.written", path=clean(target, 400), size_bytes=size_bytes, verdict=made.verdict) + "\n"


VERB = Verb("report", add_arguments, run)
