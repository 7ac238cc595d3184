"""``python -m core metrics ROOT [ROOT ...]``: a survey as OpenMetrics text, printed or served on loopback."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric as Family

from core.analysis.findings import Level
from core.documents.metrics import metrics_document
from core.errors import NotACheckpoint, UsageError
from core.messages import say
from core.settings import Settings
from core.survey import Metric, each_once, measure, search_root, survey_places, to_openmetrics
from core.survey.metrics import families
from core.verbs import Answer, Verb
from core.verbs._text import clean

LEVELS: tuple[Level, ...] = ("quick", "normal")
EVERY_SECONDS, LEAST_SECONDS = 60, 5
ADDRESS = "127.0.0.1"
PORTS = range(1, 65_536)


def add_arguments(parser: ArgumentParser) -> None:
    """What ``metrics`` takes beside the roots."""
    parser.add_argument("--level", choices=LEVELS, default="normal", help=say("cli.help_survey_level"))
    parser.add_argument("--serve", type=int, metavar="PORT", help=say("metrics.help_serve"))
    parser.add_argument(
        "--every", type=int, metavar="SECONDS", help=say("metrics.help_every", seconds=EVERY_SECONDS)
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """One survey as metrics. What fails is in the metrics, not in the exit status: 0, also when a root or a
    checkpoint could not be read; a root without any checkpoint is an error when it is the only one."""
    _refuse(args)
    texts = list(dict.fromkeys(args.location))
    metrics = _surveyed(texts, settings, args.level)
    if args.serve is None:
        return Answer(metrics_document(texts[0], metrics), to_openmetrics(metrics))
    return _serve(texts, settings, args, metrics)


def _refuse(args: Namespace) -> None:
    if args.serve is None and args.every is not None:
        raise UsageError(say("metrics.every_alone"))
    if args.serve is not None and args.serve not in PORTS:
        raise UsageError(say("metrics.at_least", option="--serve", least=PORTS.start, given=args.serve))
    if args.every is not None and args.every < LEAST_SECONDS:
        raise UsageError(say("metrics.at_least", option="--every", least=LEAST_SECONDS, given=args.every))


def _surveyed(texts: Sequence[str], settings: Settings, level: Level) -> list[Metric]:
    started = time.monotonic()
    searched = [search_root(text, settings) for text in texts]
    places = each_once(searched)
    for found in searched:
        if found.error is not None:
            sys.stderr.write(f"{clean(found.error, 600)}\n")
    if not places and all(found.error is None for found in searched):
        names = [found.root for found in searched]
        raise NotACheckpoint(say("survey.none", levels=settings.checkpoint_levels, roots=names), names[0])
    rows = sorted(survey_places(places, settings, level), key=lambda row: (row.root, row.path))
    return measure(searched, rows, time.monotonic() - started, time.time())


class _Newest:
    """The metrics of the last survey, for every scrape until the next one ends."""

    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics

    def collect(self) -> Iterator[Family]:
        return families(self.metrics)


def _serve(texts: Sequence[str], settings: Settings, args: Namespace, metrics: list[Metric]) -> Answer:
    """Serves until it is interrupted. A survey never runs within a scrape; one that fails leaves the last
    answer, whose time is one of the metrics."""
    registry, newest = CollectorRegistry(auto_describe=False), _Newest(metrics)
    registry.register(newest)
    every = EVERY_SECONDS if args.every is None else args.every
    try:
        start_http_server(args.serve, addr=ADDRESS, registry=registry)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(say("metrics.port_taken", port=args.serve, reason=reason)) from error
    url = f"http://{ADDRESS}:{args.serve}/metrics"
    sys.stderr.write(
        f"{say('metrics.serving', roots=[clean(text) for text in texts], url=url, seconds=every)}\n"
    )
    sys.stderr.flush()
    while True:
        time.sleep(every)
        try:
            newest.metrics = _surveyed(texts, settings, args.level)
        except NotACheckpoint as error:
            sys.stderr.write(f"{clean(error, 600)}\n")


VERB = Verb("metrics", add_arguments, run)
