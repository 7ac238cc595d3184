"""``python -m core metrics ROOT [ROOT ...]``: a survey as OpenMetrics text, printed or served on loopback."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from prometheus_client import start_http_server

from core.documents.metrics import metrics_document
from core.errors import NotACheckpoint, UsageError
from core.messages import say
from core.settings import Settings
from core.survey import (
    LEVELS,
    Metric,
    Newest,
    Survey,
    measure,
    to_openmetrics,
)
from core.verbs import Answer, Verb
from core.verbs._text import clean

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
    metrics = _surveyed(args, settings)
    if args.serve is None:
        return Answer(metrics_document(args.location[0], metrics), to_openmetrics(metrics))
    return _serve(args, settings, metrics)


def _refuse(args: Namespace) -> None:
    if args.serve is None and args.every is not None:
        raise UsageError(say("metrics.every_alone"))
    if args.serve is not None and args.serve not in PORTS:
        raise UsageError(say("metrics.no_port", given=args.serve))
    if args.every is not None and args.every < LEAST_SECONDS:
        raise UsageError(say("metrics.too_often", least=LEAST_SECONDS, given=args.every))


def _surveyed(args: Namespace, settings: Settings) -> list[Metric]:
    started = time.monotonic()
    survey = Survey(args.location, settings, args.level)
    rows = sorted(survey, key=lambda row: (row.root, row.path))
    searched = survey.searched
    for found in searched:
        if found.error is not None:
            sys.stderr.write(f"{clean(found.error, 600)}\n")
    return measure(searched, rows, time.monotonic() - started, time.time())


def _serve(args: Namespace, settings: Settings, metrics: list[Metric]) -> Answer:
    """Serves until it is interrupted. A survey never runs within a scrape; one that fails leaves the last
    answer, whose time is one of the metrics."""
    newest = Newest(metrics)
    every = EVERY_SECONDS if args.every is None else args.every
    try:
        start_http_server(args.serve, addr=ADDRESS, registry=newest.registry)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(say("metrics.port_taken", port=args.serve, reason=reason)) from error
    url = f"http://{ADDRESS}:{args.serve}/metrics"
    sys.stderr.write(
        f"{say('metrics.serving', roots=[clean(text) for text in args.location], url=url, seconds=every)}\n"
    )
    sys.stderr.flush()
    while True:
        time.sleep(every)
        try:
            newest.metrics = _surveyed(args, settings)
        except NotACheckpoint as error:
            sys.stderr.write(f"{clean(error, 600)}\n")


VERB = Verb("metrics", add_arguments, run)
