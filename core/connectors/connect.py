"""Asks every source and the sink whose place is known, once. What cannot be asked is a sentence in
``ConnectorAnswers.troubles``, never an exception."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.connectors.delta.log import DeltaLog
from core.connectors.delta.log_names import LOG as DELTA_LOG
from core.connectors.file_sink_log import LOG as FILE_LOG
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.kafka.broker import ask
from core.connectors.kafka.judgement import Positions
from core.connectors.kafka.partitions import kafka_positions, planned_positions
from core.connectors.kafka.properties import read_properties
from core.connectors.kafka.topic_ids import TOPIC_IDS
from core.connectors.model import ConnectorAnswers, ConnectorSettings
from core.errors import (
    DeltaLogError,
    FileSinkLogError,
    LocationNotFound,
    NotADirectory,
    PropertiesError,
    StorageError,
    UnsupportedLocation,
)
from core.messages import say
from core.settings import Settings
from core.sparklogs.evidence import NotRead
from core.storage import Door, Location

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.connectors.answers import BrokerAnswer


# The place that was named is no such place: that is known. Everything else is a place that could not be read.
_WRONG_PLACE = (LocationNotFound, NotADirectory, UnsupportedLocation, DeltaLogError, FileSinkLogError)


def ask_connectors(ck: Checkpoint, given: ConnectorSettings) -> ConnectorAnswers:
    """What source and sink have now. Sends at most: one round of calls to the broker, one listing for each
    place, and what its log needs."""
    troubles: dict[str, str] = {}
    refused: dict[str, NotRead] = {}
    brokers = _brokers(ck, given, troubles) if given.kafka is not None else {}
    tables: dict[str, DeltaLog] = {}
    places: dict[str, Location] = {}
    for key, location in given.sources.items():
        source = ck.source(key)
        if source is None and not ck.sources:
            _unnamed(key, location, ck.settings, tables, places, troubles, refused)
        elif source is None:
            troubles[f"source {key}"] = say("sink.no_such_source", key=key)
        elif source.kind.asks == "table":
            table = _table(location, f"source {key}", ck.settings, troubles, refused)
            if table is not None:
                tables[key] = table
        else:
            places[key] = location
    return ConnectorAnswers(
        given=given,
        brokers=brokers,
        tables=tables,
        places=places,
        sink=_sink(given.sink, ck.settings, troubles, refused) if given.sink is not None else None,
        troubles=troubles,
        refused=refused,
    )


def _brokers(ck: Checkpoint, given: ConnectorSettings, troubles: dict[str, str]) -> dict[str, BrokerAnswer]:
    assert given.kafka is not None
    keys = [source.key for source in ck.sources if source.kind.asks == "broker"]
    if not keys:
        return {}
    try:
        properties = read_properties(given.kafka)
    except PropertiesError as error:
        troubles["kafka"] = str(error)
        return {}
    positions: Positions = {}
    for key in keys:
        # What is planned may name partitions and topics that the committed batch has not; today's query may
        # read topics that neither has.
        wanted: Positions = {topic: {} for topic in given.topics.get(key, ())}
        for known in (kafka_positions(ck, key), planned_positions(ck, key) or {}, wanted):
            for topic, partitions in known.items():
                for partition, position in partitions.items():
                    positions.setdefault(topic, {}).setdefault(partition, position)
                positions.setdefault(topic, {})
    answer = ask(properties, positions, isolation=given.isolation)
    if answer.trouble is not None:
        troubles["kafka"] = answer.trouble
    answer = replace(answer, earlier_topic_ids=TOPIC_IDS.earlier(ck, answer, positions))
    return dict.fromkeys(keys, answer)


def _unnamed(
    key: str,
    location: Location,
    settings: Settings,
    tables: dict[str, DeltaLog],
    places: dict[str, Location],
    troubles: dict[str, str],
    refused: dict[str, NotRead],
) -> None:
    """The place of a source that the checkpoint does not name, because no offset can be read: a table when it
    has a Delta log, else a directory of files."""
    try:
        tables[key] = DeltaLog.open(location, settings)
    except DeltaLogError:
        places[key] = location
    except StorageError as error:
        _note(error, f"source {key}", location, troubles, refused)


def _table(
    location: Location,
    place: str,
    settings: Settings,
    troubles: dict[str, str],
    refused: dict[str, NotRead],
) -> DeltaLog | None:
    try:
        try:
            return DeltaLog.open(location, settings)
        except DeltaLogError:
            _see_no_log(location, settings)
            raise
    except StorageError as error:
        _note(error, place, location, troubles, refused)
        return None


def _sink(
    location: Location, settings: Settings, troubles: dict[str, str], refused: dict[str, NotRead]
) -> DeltaLog | FileSinkLog | Location | None:
    """The log that lies at the place of the sink; the place itself when it keeps none."""
    try:
        try:
            return DeltaLog.open(location, settings)
        except DeltaLogError:
            pass
        try:
            return FileSinkLog.open(location, settings)
        except FileSinkLogError:
            pass
        _see_no_log(location, settings)
    except StorageError as error:
        _note(error, "sink", location, troubles, refused)
        return None
    return location


def _see_no_log(location: Location, settings: Settings) -> None:
    """Raises StorageError when the place is not there, which is no sink without a log, and when it shows a
    log that cannot be listed."""
    door = Door.open(location, settings)
    shown = door.list([""], first_page=True)[""].directory_names()
    logs = [name for name in (DELTA_LOG, FILE_LOG) if name in shown]
    if logs:
        door.list(logs, known_there=True)


def _note(
    error: StorageError,
    place: str,
    location: Location,
    troubles: dict[str, str],
    refused: dict[str, NotRead],
) -> None:
    troubles[place] = str(error)
    if not isinstance(error, _WRONG_PLACE):
        refused[place] = NotRead(location.url, str(error))
