"""Source & sink: what Kafka, the Delta logs and the sink say, against what the checkpoint believes."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint, Source
from core.connectors.model import ConnectorAnswers, DeltaSourceState
from core.connectors.requested import sources_with_place
from core.judgement import KafkaSourceState
from core.messages import words
from core.settings import PREFIX
from ui import (
    cached_answers,
    cards,
    connector_settings,
    connector_tables,
    connectors,
    kafka_panel,
    links,
    shell,
)
from ui.connector_settings import Given, Suggestion
from ui.open_checkpoints import Opened

TYPED = "Path of a properties file"
FILE_EXAMPLE = """bootstrap.servers=broker-1:9092,broker-2:9092
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username=...
sasl.password=..."""


def main() -> None:
    opened, ck = shell.checkpoint()
    found = connector_settings.read(ck)
    if found.connectors.is_empty and not found.problems:
        cards.text("Nothing was asked yet: say where the ends are", "lead")
        cards.text(
            "The checkpoint tells what Spark believes. Whether the restart works is decided at the ends: are"
            " the records still there, does the sink hold the pending batch already? What is given here stays"
            " with this checkpoint on every page and is part of the link. It is only read.",
            "small",
        )
    offers = (
        ()
        if found.connectors.sink is not None and found.connectors.sources
        else connector_settings.suggestions(opened, ck)
    )
    kafka_first = next((source.key for source in ck.sources if source.kind.asks == "broker"), None)
    places = {}
    for source in ck.sources:
        cards.text(f"Source {source.key}: {source.kind.label}", "section")
        if source.key == kafka_first:
            ask_for_broker(found)
        if source.kind.asks == "broker":
            ask_for_topics(source, found)
        elif source in sources_with_place(ck):
            name = links.PLACE + source.key
            ask_for_place(
                found,
                name,
                "Table that it reads" if source.kind.asks == "table" else "Directory that it reads",
                offers,
            )
        places[source.key] = st.container()
    if not ck.sources:
        cards.text("The offset log names no source yet.", "small")
    cards.text("Sink", "section")
    ask_for_place(found, links.SINK, "Delta table or directory that the query writes", offers)
    sink_place = st.container()
    if ck.offset_ids or ck.commit_ids:
        way_on()
    others(ck, found)

    answer = connectors.answers(opened, ck, with_kafka=False)
    for source in ck.sources:
        with places[source.key]:
            beside_kafka(opened, ck, source, found, answer)
    with sink_place:
        the_sink(opened, ck, found, answer)
    for source in ck.sources:  # last, because a broker may take seconds to answer or not to answer
        if source.kind.asks == "broker":
            with places[source.key]:
                kafka(opened, ck, source, found)


def ask_for_broker(found: Given) -> None:
    """Fields that name the Kafka broker of all Kafka sources."""
    names = connector_settings.brokers()
    labels = {name: name for name in names}
    text = found.text(links.KAFKA)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if names:
            key = connector_settings.WIDGET + links.KAFKA
            st.session_state[key] = text if text in labels else None
            st.selectbox(
                "Kafka broker",
                names,
                index=None,
                key=key,
                placeholder="Choose a broker of the settings",
                on_change=connector_settings.given_by_widget,
                args=(links.KAFKA,),
                width=230,
            )
        if connector_settings.may_type_a_path():
            key = connector_settings.WIDGET + "path"
            st.session_state[key] = text or "" if text not in labels else ""
            st.text_input(
                TYPED,
                key=key,
                placeholder="/etc/kafka/prod.properties",
                on_change=_typed,
                width=300,
                help="A librdkafka properties file on the machine of this app.",
            )
        if text is not None:
            isolation(found)


def _typed() -> None:
    connector_settings.give(links.KAFKA, st.session_state.get(connector_settings.WIDGET + "path"))


def ask_for_topics(source: Source, found: Given) -> None:
    """What the query subscribes to today: the checkpoint tells only what it read."""
    name = links.TOPICS + source.key
    key = connector_settings.WIDGET + name
    st.session_state[key] = found.text(name) or ""
    st.text_input(
        "Topics that it subscribes to today, where they changed",
        key=key,
        placeholder="as before; or with commas: orders,refunds",
        on_change=connector_settings.given_by_widget,
        args=(name,),
        width=560,
    )


def isolation(found: Given) -> None:
    """What the query reads of open transactions; the checkpoint does not tell."""
    key = connector_settings.WIDGET + links.ISOLATION
    st.session_state[key] = (
        found.text(links.ISOLATION) if found.text(links.ISOLATION) in connector_settings.ISOLATIONS else None
    )
    st.selectbox(
        "kafka.isolation.level of the query",
        list(connector_settings.ISOLATIONS),
        index=None,
        format_func=lambda value: connector_settings.ISOLATIONS.get(value, value),
        key=key,
        placeholder=connector_settings.ISOLATIONS["read_uncommitted"],
        on_change=connector_settings.given_by_widget,
        args=(links.ISOLATION,),
        width=300,
    )


def ask_for_place(found: Given, name: str, label: str, offers: tuple[Suggestion, ...]) -> None:
    """The field for one location, and what was found beside the checkpoint."""
    key = connector_settings.WIDGET + name
    st.session_state[key] = found.text(name) or ""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            label,
            key=key,
            placeholder="s3://bucket/tables/orders   or   root/tables/orders",
            on_change=connector_settings.given_by_widget,
            args=(name,),
            width=560,
            help="A location, or a name below one of the configured roots.",
        )
        for offer in offers:
            if offer.name == name and not found.text(name):
                with st.container(gap="xxsmall", width="content"):
                    cards.text(offer.told, "small")
                    st.button(
                        "Use it",
                        key=f"offer-{name}",
                        on_click=connector_settings.give,
                        args=(offer.name, offer.text),
                        type="primary",
                    )


def others(ck: Checkpoint, found: Given) -> None:
    """What the link asks for and cannot be honoured, apart from what has its own place on the page."""
    own = {links.SINK, *(links.PLACE + source.key for source in sources_with_place(ck))}
    if any(source.kind.asks == "broker" for source in ck.sources):
        own.add(links.KAFKA)
    for name, problem in found.problems.items():
        if name not in own:
            cards.message("plain", problem)


def beside_kafka(
    opened: Opened, ck: Checkpoint, source: Source, found: Given, answer: connectors.Asked
) -> None:
    """A source that is no Kafka source: its table, its directory, or why there is nothing to ask."""
    asks, key = source.kind.asks, source.key
    if asks == "broker":
        return
    if asks is None:
        cards.text(f"Nothing can be asked about {source.kind.label} here.", "small")
        return
    name = links.PLACE + key
    if name in found.problems:
        cards.message("plain", found.problems[name])
        return
    said = answer.connectors
    trouble = None if said is None else said.troubles.get(f"source {key}")
    if trouble is not None:
        cards.message("plain", trouble)
    elif asks == "table" and said is not None and key in said.tables:
        state = cached_answers.judgement(opened, ck, with_kafka=False).source(key)
        if isinstance(state, DeltaSourceState):
            connector_tables.delta_source(state)
        connectors.asked_line(opened, answer.asked_at_ms, "", f"source-{key}")
    elif asks == "directory" and said is not None and key in said.places:
        cards.message(
            "plain",
            "The forecast above looks there for the files of a batch that runs again.",
            said.places[key].url,
        )
    elif asks == "table":
        cards.text(
            "Then: how far behind the position is, and whether the versions it needs are still in the log.",
            "small",
        )
    else:
        cards.text("Then: whether the files of a batch that runs again are still there.", "small")


def the_sink(opened: Opened, ck: Checkpoint, found: Given, answer: connectors.Asked) -> None:
    """What the sink holds of this query."""
    if links.SINK in found.problems:
        cards.message("plain", found.problems[links.SINK])
        return
    said = answer.connectors
    if found.connectors.sink is None or said is None:
        cards.text(
            "Then: which batches of this query it holds, whether the pending one is written or skipped, and"
            " what deleting the checkpoint would cost in rows. A sink that is no Delta table and has no"
            " _spark_metadata keeps no log that could be read.",
            "small",
        )
        return
    if "sink" in said.troubles:
        cards.message("plain", said.troubles["sink"])
        connectors.asked_line(opened, answer.asked_at_ms, "", "sink")
        return
    state = cached_answers.judgement(opened, ck, with_kafka=False).sink
    if state is not None:
        connector_tables.sink(state, ck.pending_batch)
        connectors.asked_line(opened, answer.asked_at_ms, words.one_line(state.url, 200), "sink")


def kafka(opened: Opened, ck: Checkpoint, source: Source, found: Given) -> None:
    """What the broker says about one Kafka source."""
    if links.KAFKA in found.problems:
        cards.message("plain", found.problems[links.KAFKA])
        return
    if not found.has_kafka:
        no_broker()
        return
    with st.spinner("Asking the broker ..."):
        answer = connectors.answers(opened, ck)
    said: ConnectorAnswers | None = answer.connectors
    broker = None if said is None else said.brokers.get(source.key)
    trouble = broker.trouble if broker is not None else None
    if said is not None and broker is None:
        trouble = (
            said.troubles.get("kafka")
            or said.troubles.get(f"source {source.key}")
            or "The broker was not asked about this source."
        )
    if trouble is not None:
        cards.message("doubt", trouble, "What else is on this page does not need the broker.")
        connectors.asked_line(
            opened,
            broker.asked_at_ms if broker is not None else answer.asked_at_ms,
            "",
            f"kafka-{source.key}",
        )
        return
    if broker is None:
        return
    told = (
        f"{words.one_line(broker.servers, 120)} · {broker.isolation} ·"
        f" {words.counted(broker.requests, 'request')} in {broker.seconds:.1f} s"
    )
    connectors.asked_line(opened, broker.asked_at_ms, told, f"kafka-{source.key}")
    state = cached_answers.judgement(opened, ck).source(source.key)
    if isinstance(state, KafkaSourceState):
        kafka_panel.show(state)


def no_broker() -> None:
    """How a broker is given."""
    cards.text(
        "Then: lag, whether records were lost, how long each position is still safe, topics that were created"
        " anew.",
        "small",
    )
    with st.expander("How to give a broker"):
        cards.text(
            "Name it in the settings, with the path of a librdkafka properties file, and start the app again:"
        )
        cards.raw(f'export {PREFIX}KAFKA=\'{{"prod": "/etc/kafka/prod.properties"}}\'', language="bash")
        if connector_settings.may_type_a_path():
            cards.text(
                "Or give the path of such a file above; that works only because nobody but you can reach this"
                " app."
            )
        cards.text("The file, for example:")
        cards.raw(FILE_EXAMPLE, language="properties")
        cards.text(
            "Nothing is consumed, committed or created. The content of the file is never shown, logged or put"
            " in a link.",
            "small",
        )


def way_on() -> None:
    """Where the answers are used."""
    with st.container(horizontal=True, gap="small"):
        st.page_link("pages/overview.py", label="Overview: the next start with these ends", query_params={})
        st.page_link("pages/recovery.py", label="Recovery: options and their price", query_params={})


main()
