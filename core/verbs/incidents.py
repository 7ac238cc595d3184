"""``python -m core incidents [LOCATION]``: what the incident store holds, newest first."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from core.analysis.forecast.verdict import of_outcome
from core.documents.incidents import IncidentsDocument, incidents_document
from core.incident import KeptList, kept_list
from core.messages import say, say_of, words
from core.settings import Settings
from core.storage.incident_store import store_location
from core.storage.roots import locate
from core.verbs import Answer, Verb
from core.verbs._text import clean, table

COLUMNS = ("moment", "checkpoint", "next_start", "opens_as")


def add_arguments(parser: ArgumentParser) -> None:
    """Nothing beside the location."""


def run(args: Namespace, settings: Settings) -> Answer:
    """Lists the store; of one checkpoint where one is named."""
    of = None if args.location is None else locate(args.location, settings).without_credentials()
    store = store_location(settings).without_credentials()
    found = kept_list(settings, of)
    document = incidents_document(found, store, of)
    return Answer(document, "\n".join(_text(document, found)) + "\n")


def _text(document: IncidentsDocument, found: KeptList) -> list[str]:
    store = clean(document.location, 400)
    if not found.entries and document.of is not None and found.total:
        of = clean(document.of, 400)
        return [say("incident_store.listed_none_of", total=found.total, store=store, of=of)]
    if not found.entries:
        return [say("incident_store.listed_none", store=store)]
    lines: list[str] = [say("incident_store.listed", n=len(found.entries), total=found.total, store=store)]
    header = [say_of("incident_store", "COLUMNS", name) for name in COLUMNS]
    rows = [
        (
            words.NOT_KNOWN if each.record is None else words.moment(each.record.moment_ms),
            words.NOT_KNOWN if each.record is None else clean(each.record.location, 120),
            clean(each.problem, 160) if each.problem else of_outcome(each.outcome, each.batch_id),
            each.name,
        )
        for each in found.entries
    ]
    return [*lines, *table(header, rows), say("incident_store.opens", name=found.entries[0].name)]


VERB = Verb("incidents", add_arguments, run)
