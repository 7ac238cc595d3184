"""What the open checkpoint says about an error: the files, batches, operators and positions that the error
names are looked up in it.

Each entry of ``LOOKS`` answers one question; the meaning of an error says which are asked. A listing that
fails is not the end: it is told among what was not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from core.analysis.errors import lookup_logs, lookup_sources, lookup_state
from core.analysis.errors.lookup_context import CONTENTS, Looking
from core.analysis.errors.meanings import ALIKE
from core.analysis.errors.model import Statement
from core.analysis.errors.pasted_text import read_pasted
from core.analysis.errors.recognise import recognise
from core.analysis.forecast import Forecast, forecast
from core.analysis.forecast.model import Risk
from core.errors import StorageError
from core.messages import say, say_of


def look_forecast(look: Looking) -> Iterator[Statement]:
    """Does the next start fail this way, by the files that are there?"""
    if look.says_missing and look.ck.is_async:
        return  # the forecast is for a start with asynchronous progress tracking, which does not fail on gaps
    answer = forecast(look.ck)
    sentence, evidence = answer.sentence, answer.evidence
    is_vague = look.is_vague
    if answer.outcome == "fail" and (is_vague or is_same(look, answer)):
        look.finding = answer.reason
        said = say("errors_lookup.fails" if is_vague else "errors_lookup.fails_so", sentence=sentence)
        yield Statement(said, evidence, answer.certainty, shows_fault=True)
    elif (elsewhere := _schema_elsewhere(look, answer)) is not None:
        look.finding = elsewhere.id
        said = say("errors_lookup.schema_elsewhere", sentence=elsewhere.sentence)
        yield Statement(said, elsewhere.evidence, "inferred", shows_fault=True)
    elif answer.outcome == "fail":
        said = say("errors_lookup.fails_differently", sentence=sentence)
        yield Statement(said, evidence, answer.certainty)
    elif look.is_confirmed:  # the forecast takes the query to be as it was
        said = say("errors_lookup.forecast_for_unchanged_query", sentence=sentence)
        yield Statement(said, evidence, "inferred")
    elif look.meaning.in_files and CONTENTS in look.not_checked and not look.says_missing:
        said = say("errors_lookup.forecast_without_contents", sentence=sentence)
        yield Statement(said, evidence, "inferred")
    elif look.meaning.in_files:
        said = say("errors_lookup.does_not_fail_so", sentence=sentence)
        yield Statement(said, evidence, "inferred", shows_fault=None if is_vague else False)


def _schema_elsewhere(look: Looking, answer: Forecast) -> Risk | None:
    """The risk that the state schema is read at another place, when the error names such a file."""
    if not any("/_stateSchema/" in path for path in look.paths):
        return None
    return answer.risk("STATE_SCHEMA_ELSEWHERE")


_JSON_OF_A_SOURCE = ("SOURCE_OFFSET_UNREADABLE", "SOURCE_LOG_UNREADABLE")
"""What fails with the same words as a log file that is no JSON."""


def is_same(look: Looking, answer: Forecast) -> bool:
    """Whether the forecast's error is the one that was pasted: the same finding, condition or words."""
    if answer.reason is not None and answer.reason == look.meaning.finding:
        return True
    if look.main.name == "LOG_FILE_NOT_JSON" and answer.reason in _JSON_OF_A_SOURCE:
        return True
    if answer.error is None:
        return False
    condition = answer.error.condition
    if condition is not None and condition in (look.main.condition, ALIKE.get(look.main.name)):
        return True
    found = recognise(read_pasted(answer.error.message))
    return bool(found) and found[0].name == look.main.name


LOOKS: Mapping[str, Callable[[Looking], Iterator[Statement]]] = MappingProxyType(
    {
        "files": lookup_logs.look_named_files,
        "metadata": lookup_logs.look_metadata,
        "mode": lookup_logs.look_mode,
        "logs": lookup_logs.look_logs,
        "source_logs": lookup_sources.look_source_logs,
        "checksums": lookup_logs.look_checksums,
        "batch": lookup_logs.look_batch,
        "state": lookup_state.look_state,
        "operators": lookup_state.look_operators,
        "sources": lookup_sources.look_sources,
        "source_files": lookup_sources.look_files,
        "kafka": lookup_sources.look_kafka,
        "delta": lookup_sources.look_delta,
        "pending": lookup_logs.look_pending,
        "size": lookup_state.look_size,
        "version": lookup_logs.look_version,
        "async": lookup_logs.look_async,
        "forecast": look_forecast,
    }
)


def look_up(look: Looking) -> list[Statement]:
    """The statements of every look-up that the meaning asks for; first the files that the text names, and
    always the next start: a text may be cut before what matters. Adds to ``look.not_checked``."""
    found: list[Statement] = []
    for name in dict.fromkeys(("files", *look.meaning.look, "forecast")):
        try:
            for statement in LOOKS[name](look):
                found.append(statement)
                look.is_confirmed = look.is_confirmed or statement.shows_fault is True
        except StorageError as error:
            what = say_of("errors_lookup", "TOPICS", name)
            look.not_checked.append(say("errors_lookup.not_checked", what=what, why=str(error)))
    if look.finding is not None and any(statement.shows_fault for statement in found):
        # by names and sizes alone the state would load: not beside a start that fails on it
        found = [each for each in found if _key(each) != "errors_lookup.state_loadable"]
    return list({statement.sentence: statement for statement in found}.values())


def _key(statement: Statement) -> str | None:
    return getattr(statement.sentence, "key", None)
