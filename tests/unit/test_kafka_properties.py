"""A librdkafka properties file: what is taken, what is refused in one sentence, and that no value of it is
ever shown."""

from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path

import pytest

from core.connectors.kafka.properties import KafkaProperties, read_properties
from core.errors import PropertiesError

PASSWORD = "S3cr3t-of-the-house"


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "broker.properties"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(tmp_path: Path, *lines: str) -> KafkaProperties:
    return read_properties(written(tmp_path, *lines))


def refused(tmp_path: Path, *lines: str) -> str:
    with pytest.raises(PropertiesError) as caught:
        read(tmp_path, *lines)
    text = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in text
    message = str(caught.value)
    assert message.startswith("broker.properties")
    assert message.endswith(".") and "\n" not in message
    return message


SASL = (
    "# production",
    "bootstrap.servers = kafka-1.example:9093, kafka-2.example:9093",
    "security.protocol=SASL_SSL",
    "sasl.mechanism=SCRAM-SHA-512",
    "sasl.username=explorer",
    f"sasl.password={PASSWORD}",
)


def test_comments_blanks_and_spaces_are_understood(tmp_path: Path) -> None:
    found = read(tmp_path, *SASL, "", "! another comment")
    assert found.servers == "kafka-1.example:9093, kafka-2.example:9093"
    assert found.client()["sasl.password"] == PASSWORD
    assert found.client(log_level=0, socket__timeout__ms=5)["socket.timeout.ms"] == 5


def test_a_value_may_hold_an_equals_sign(tmp_path: Path) -> None:
    assert read(tmp_path, *SASL[:-1], "sasl.password=a=b==").client()["sasl.password"] == "a=b=="


def test_both_names_of_the_servers_and_of_the_mechanism_are_one(tmp_path: Path) -> None:
    found = read(tmp_path, "metadata.broker.list=localhost:9092")
    assert found.servers == "localhost:9092"
    assert "bootstrap.servers is there twice" in refused(
        tmp_path, "metadata.broker.list=a:1", "bootstrap.servers=b:1"
    )


@pytest.mark.parametrize(
    "show", [repr, str, lambda p: repr(p.client()), lambda p: f"{p.client()}", lambda p: repr(vars(type(p)))]
)
def test_no_way_of_printing_it_shows_a_secret(tmp_path: Path, show: object) -> None:
    shown = show(read(tmp_path, *SASL))  # type: ignore[operator]
    assert PASSWORD not in shown
    assert "explorer" not in shown


def test_it_cannot_be_pickled(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="never serialised") as caught:
        pickle.dumps(read(tmp_path, *SASL))
    assert PASSWORD not in str(caught.value)


def test_texts_of_the_client_lose_the_values(tmp_path: Path) -> None:
    found = read(tmp_path, *SASL)
    said = found.redact(f"kafka-1.example:9093: SASL_SSL failed for explorer with {PASSWORD}")
    assert said == "kafka-1.example:9093: SASL_SSL failed for *** with ***"


def test_a_short_password_is_hidden_where_it_stands_alone(tmp_path: Path) -> None:
    found = read(tmp_path, *SASL[:-1], "sasl.password=ab")
    assert found.redact('about "ab": refused') == 'about "***": refused'


def test_a_password_that_is_a_plain_word_is_hidden_too(tmp_path: Path) -> None:
    assert read(tmp_path, *SASL[:-1], "sasl.password=plain").redact("tried plain") == "tried ***"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            f"sasl.jaas.config=org.apache.kafka.X required password={PASSWORD};",
            "Java JAAS configuration is not supported",
        ),
        (f"ssl.truststore.location={PASSWORD}", "Java trust stores are not read"),
        (f"ssl.truststore.password={PASSWORD}", "ssl.ca.location"),
        (f"kafka.security.protocol={PASSWORD}", "without Spark's prefix"),
        (f"key.deserializer={PASSWORD}", "Java clients"),
        (f"foo.bar={PASSWORD}", 'No such configuration property: "foo.bar"'),
        (f"security.protocol={PASSWORD}", 'Invalid value for configuration property "security.protocol"'),
        (f"socket.timeout.ms={PASSWORD}", 'Invalid value for configuration property "socket.timeout.ms"'),
        (f"plugin.library.paths=/tmp/{PASSWORD}", "it loads other programs"),
        (f"ssl.engine.location=/tmp/{PASSWORD}", "it loads other programs"),
        (f"ssl.providers={PASSWORD}", "it loads other programs"),
        ("debug=all", "standard error"),
        ("error_cb=print", 'No such configuration property: "error_cb"'),
        ("group.id", "line 2: expected key=value"),
        (f"{PASSWORD} is here", "line 2: expected key=value"),
        ("client.id=a\nclient.id=b", "client.id is there twice"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_without_its_value(tmp_path: Path, line: str, said: str) -> None:
    assert said in refused(tmp_path, "bootstrap.servers=localhost:9092", line)


def test_settings_that_belong_together_are_asked_for(tmp_path: Path) -> None:
    assert "sasl.username and sasl.password must be set" in refused(tmp_path, *SASL[:4])
    assert "ssl.ca.location failed" in refused(tmp_path, *SASL, f"ssl.ca.location=/nowhere/{PASSWORD}")
    assert "Unsupported SASL mechanism: ***" in refused(
        tmp_path, *SASL[:3], f"sasl.mechanism={PASSWORD}", *SASL[4:]
    )


def test_a_token_needs_a_way_to_fetch_it(tmp_path: Path) -> None:
    said = refused(
        tmp_path,
        "bootstrap.servers=localhost:9092",
        "security.protocol=SASL_SSL",
        "sasl.mechanisms=OAUTHBEARER",
    )
    assert "sasl.oauthbearer.method=oidc" in said


@pytest.mark.parametrize(
    "servers", ["", "user:pw@host:9092", "host name:9092", "host:9092;other", ":::", "host:9092,"]
)
def test_servers_must_be_names_and_ports(tmp_path: Path, servers: str) -> None:
    assert "bootstrap.servers" in refused(tmp_path, f"bootstrap.servers={servers}")


@pytest.mark.parametrize(
    "servers", ["localhost", "10.0.0.1:9092", "[::1]:9092", "SASL_SSL://kafka-1.example:9093", "a_b:1,c:2"]
)
def test_servers_of_every_usual_form_are_taken(tmp_path: Path, servers: str) -> None:
    assert read(tmp_path, f"bootstrap.servers={servers}").servers == servers


def test_a_file_without_servers_is_refused(tmp_path: Path) -> None:
    assert "bootstrap.servers is missing" in refused(tmp_path, "security.protocol=SSL")


def test_a_missing_file_a_directory_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PropertiesError, match="nope cannot be read: No such file"):
        read_properties(tmp_path / "nope")
    with pytest.raises(PropertiesError, match="cannot be read"):
        read_properties(tmp_path)
    binary = tmp_path / "keystore.p12"
    binary.write_bytes(b"\x30\x82\xff\xfe" * 10)
    with pytest.raises(PropertiesError, match=r"keystore\.p12 is not text"):
        read_properties(binary)
    binary.write_bytes(b"#" * 300_000)
    with pytest.raises(PropertiesError, match="larger than 256 kB"):
        read_properties(binary)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.properties"
    os.mkfifo(pipe)
    with pytest.raises(PropertiesError, match=r"pipe\.properties is a pipe"):
        read_properties(pipe)
