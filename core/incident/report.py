"""The incident report: what one judgement says about a checkpoint, in the order in which somebody who has
to act reads it. Nothing is judged here: the same sentences stand on the pages and in the answers of the
verbs.

A report is sent to people who may not see the store, so credentials do not get into it
(:func:`core.incident.secrets.without_secrets`). Everything in it is plain text, each part on one line;
:mod:`core.incident.report_markdown` and :mod:`core.incident.report_html` write it down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from core import __version__
from core.analysis.findings import FindingsReport
from core.analysis.forecast import Forecast
from core.analysis.forecast.model import Severity
from core.analysis.forecast.verdict import Tone, in_few_words, tone_of
from core.analysis.open_parts import open_parts
from core.errors import CheckpointExplorerError, UnsupportedSparkError
from core.incident.batch_marks import Marks, newest_marks
from core.incident.secrets import secrets_of, without_secrets
from core.judgement import Judgement
from core.messages import say, say_of, words
from core.recovery import Advice, Answers, ResumeAnswer, SourceResume, as_pyspark
from core.recovery.advice import by_answers
from core.storage.location import title_of

T = TypeVar("T")
TONE_MARKS: dict[Tone, str] = {
    "fails": "▲",
    "risk": "◐",
    "reruns": "◐",
    "resumes": "●",
    "fresh_start": "○",
    "unused": "○",
    "unknown": "?",
}
"""Status is a word, a shape and a colour; the shapes."""

SERIOUS: tuple[Severity, ...] = ("blocks_restart", "data_risk")
MOST_TEXT, MOST_CODE = 2_000, 8_000
MOST_FINDINGS = 12


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence; ``more`` is smaller and below."""

    text: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to paste."""

    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report under a title."""

    title: str
    blocks: tuple[Paragraph | Code, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All that is written down.

    ``marks`` are the newest batches; ``facts`` labels with their values: where, when, by which program.
    ``link`` is empty, or begins with http:// or https://. ``serious``: how many findings block the restart or
    risk data.
    """

    name: str
    tone: Tone
    verdict: str
    sentence: str
    proof: Paragraph
    to_do: Section
    marks: Marks
    position: Section
    rest: tuple[Section, ...]
    serious: int
    not_checked: int
    read: str
    link: str
    sha256: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """What belongs to a report beside the judgement: ``link`` to the view, ``sha256`` and ``file`` of an
    evidence file of the same checkpoint (of a checkpoint that is an evidence file itself they are known),
    ``answers`` given to the questions of the recovery."""

    link: str = ""
    sha256: str = ""
    file: str = ""
    answers: Answers = field(default_factory=Answers)


def is_address(link: str) -> bool:
    """Whether a link can be put into a report: nothing but a plain web address."""
    return link.startswith(("http://", "https://")) and link.isprintable() and not set(link) & set(" <>\"'`")


def report(judgement: Judgement, beside: Beside | None = None) -> Report:
    """The report of a judgement. What could not be read is named in it and raises nothing.

    Raises UnsupportedSparkError for a Spark of which no rules are known.
    """
    return without_secrets(_Writing(judgement, beside or Beside()).report(), secrets_of(judgement))


class _Writing:
    """The parts of a judgement in words; each is the part itself, or the sentence why it is not known."""

    def __init__(self, judgement: Judgement, beside: Beside) -> None:
        self._judgement = judgement
        self._beside = beside
        self._ck = judgement.ck
        self._forecast: Forecast | str = _said(lambda: judgement.forecast)
        self._findings: FindingsReport | str = _said(lambda: judgement.actions(beside.answers))
        self._resume: ResumeAnswer | str = _said(lambda: judgement.resume())

    def report(self) -> Report:
        ck, found = self._ck, self._forecast
        known = None if isinstance(found, str) else found
        not_checked = tuple(self._not_checked())
        moment = ck.read_at_ms
        is_evidence = ck.door.evidence is not None
        return Report(
            name=_line(title_of(ck.door.origin.without_credentials())),
            tone=tone_of(known),
            verdict=in_few_words(known),
            sentence=_line(self._sentence()),
            proof=_proof(found),
            to_do=Section(say("report.to_do"), tuple(self._to_do())),
            marks=newest_marks(ck),
            position=Section(self._position_title(), tuple(self._position())),
            rest=(
                Section(say("report.impact"), tuple(self._impacts())),
                Section(say("report.findings"), tuple(self._found())),
                Section(say("report.not_checked"), not_checked),
            ),
            serious=0 if isinstance(self._findings, str) else sum(map(self._findings.count, SERIOUS)),
            not_checked=len(not_checked),
            read=say("report.as_of", moment=moment) if is_evidence else say("report.read", moment=moment),
            link=self._beside.link,
            sha256=self._beside.sha256 or ck.door.evidence_sha256 or "",
            facts=tuple(self._facts()),
        )

    def _sentence(self) -> str:
        if isinstance(self._forecast, str):
            return say("screen_start.start_not_known", reason=self._forecast)
        return self._forecast.sentence

    def _to_do(self) -> Iterator[Paragraph]:
        """The advice for the whole checkpoint, then what each serious finding asks for."""
        answers = self._beside.answers
        found = _said(lambda: self._judgement.advice(answers))
        if isinstance(found, str):
            yield Paragraph(_line(say("report.no_option", reason=found)))
        else:
            yield from _advice(found)
            if given := by_answers(answers):
                yield Paragraph(_line(given))
        said = set() if isinstance(found, str) else {found.first}
        for item in () if isinstance(self._findings, str) else self._findings.findings:
            if item.severity in SERIOUS and item.action not in said:
                said.add(item.action)
                about = say_of("findings", "TITLES", item.id)
                yield Paragraph(_line(say("report.about_finding", about=about, action=item.action)))

    def _position_title(self) -> str:
        if isinstance(self._resume, str):
            return say("screen_start.position")
        if self._resume.batch is None:
            return say("screen_start.position_beginning")
        return say("screen_start.position_after", batch=self._resume.batch)

    def _position(self) -> Iterator[Paragraph | Code]:
        """The start position of each source, ready to paste."""
        if isinstance(self._resume, str):
            yield Paragraph(_line(self._resume))
            return
        sources = self._resume.sources
        for source in sources:
            if len(sources) > 1:
                title = say("screen_start.position_source", key=source.key, kind=source.kind.label)
                yield Paragraph(_line(title))
            yield from _source(source)
        note = self._resume.note or ("" if sources else say("screen_start.position_no_source"))
        if note:
            yield Paragraph(_line(note))

    def _impacts(self) -> Iterator[Paragraph]:
        sink = self._beside.answers.get("sink")
        found = _said(lambda: self._judgement.impacts_at(sink))
        if isinstance(found, str):
            yield Paragraph(_line(say("screen_start.impact_not_known", reason=found)))
        elif not found:
            yield Paragraph(_line(self._judgement.why_no_impact))
        else:
            for impact in found:
                yield Paragraph(_line(f"{impact.sentence} ({words.CERTAINTY[impact.certainty]})"))
            for caveat in dict.fromkeys(impact.caveat for impact in found if impact.caveat):
                yield Paragraph(_line(caveat))

    def _found(self) -> Iterator[Paragraph]:
        found = self._findings
        if isinstance(found, str):
            yield Paragraph(_line(say("screen_start.check_not_finished", reason=found)))
            return
        if not found.findings:
            yield Paragraph(_line(say("screen_start.no_problems", checked=found.checked)))
        above = self._sentence()
        for item in found.findings[:MOST_FINDINGS]:
            sentence = item.sentence
            if sentence.startswith(above):  # which stands above the whole report
                sentence = sentence.removeprefix(above).strip() or say("report.as_above")
            label = say_of("screen_start", "SEVERITY_NAMES", item.severity)
            proof = (label, words.CERTAINTY[item.certainty], item.id, *map(str, item.evidence[:6]))
            yield Paragraph(_line(sentence), _line(" · ".join(proof)))
        if len(found.findings) > MOST_FINDINGS:
            yield Paragraph(say("report.more_findings", n=len(found.findings) - MOST_FINDINGS))

    def _not_checked(self) -> Iterator[Paragraph]:
        forecast = None if isinstance(self._forecast, str) else self._forecast
        found = None if isinstance(self._findings, str) else self._findings
        for part in open_parts(self._ck, forecast, found, self._judgement.not_read):
            yield Paragraph(_line(words.capital(part)))

    def _facts(self) -> Iterator[tuple[str, str]]:
        ck, given = self._ck, self._judgement.connectors.given
        evidence = ck.door.evidence
        yield say("report.location"), _line(ck.door.origin.without_credentials())
        yield (
            say("report.moment") if evidence is None else say("report.evidence_moment"),
            words.moment(ck.read_at_ms),
        )
        yield say("report.query_id"), _line(ck.query_id or words.NOT_KNOWN)
        if isinstance(self._forecast, Forecast):
            yield say("report.rules"), _line(f"Spark {self._forecast.spark}: {self._forecast.spark_why}")
        asked: list[str] = [] if given.kafka is None else [say("report.asked_kafka")]
        asked += [say("report.asked_source", key=key) for key in given.sources]
        asked += [] if given.sink is None else [say("report.asked_sink")]
        yield say("report.asked"), _line(words.listed(asked) if asked else say("report.asked_nobody"))
        sha256 = self._beside.sha256 or ck.door.evidence_sha256 or ""
        if sha256:
            file = self._beside.file or ck.name
            yield say("report.evidence"), _line(say("report.evidence_file", file=file, sha256=sha256))
        yield say("report.made_by"), f"checkpoint-explorer {__version__}"


def _advice(found: Advice) -> Iterator[Paragraph]:
    """What to do; where one option is recommended, with its reason and what it costs."""
    best, running = found.option, f"{found.running} " if found.running else ""
    if found.first:
        yield Paragraph(_line(running + found.first))
        running = ""
    if best is None or found.question is not None:
        yield Paragraph(_line(running + found.of_recovery))
        return
    text = running + say(
        "report.option",
        title=(found.of_recovery if found.is_nothing else best.title).rstrip("."),
        reason=best.reason or best.why,
    )
    loses, repeats = best.loses.rstrip("."), best.repeats.rstrip(".")
    costs = say("report.option_costs", loses=loses, repeats=repeats, option=best.id)
    yield Paragraph(_line(text), _line(costs))


def _said(part: Callable[[], T]) -> T | str:
    """A part of the judgement, or the sentence why it is not known."""
    try:
        return part()
    except UnsupportedSparkError:
        raise
    except CheckpointExplorerError as error:
        return str(error)


def _proof(found: Forecast | str) -> Paragraph:
    """Why, how certain, and in which file and line."""
    if isinstance(found, str):
        return Paragraph("")
    files = words.listed(found.evidence, 6) if found.evidence else say("report.no_file")
    text = say("report.proof", certainty=words.CERTAINTY[found.certainty], because=found.because, files=files)
    return Paragraph(
        _line(text), _line(say("screen_start.after_that", then=found.then)) if found.then else ""
    )


def _source(source: SourceResume) -> Iterator[Paragraph | Code]:
    point = source.point
    if point.options:
        yield Code(_code(as_pyspark(point, source.kind)))
    certainty = words.CERTAINTY[point.certainty]
    said = {"certainty": certainty, "repeats": point.repeats, "skips": point.skips, "note": point.note}
    if point.exact:
        yield Paragraph(_line(say("screen_start.exact", **said)))
    else:
        yield Paragraph(_line(say("screen_start.not_exact", **said)))
    if point.code:
        yield Paragraph(say("screen_start.other_way"))
        yield Code(_code(point.code))


def _line(text: str) -> str:
    return words.one_line(text, MOST_TEXT)


def _code(text: str) -> str:
    """Code as it is, without characters that a terminal would obey; a very long one is not cut in the middle
    of a line."""
    lines = ["".join(char if char.isprintable() else " " for char in line) for line in text.splitlines()]
    shown = "\n".join(lines)
    return shown if len(shown) <= MOST_CODE else say("report.code_too_long", n=len(shown))
