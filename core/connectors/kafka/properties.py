"""A librdkafka properties file: ``key=value`` lines, keys as librdkafka knows them. What is in it stays in
here.

Only ``bootstrap.servers`` is safe to show. No other value reaches a message, a ``repr``, a log or a pickle:
errors name the key, and :meth:`KafkaProperties.redact` takes the values out of every text of the client
before it is shown.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from core.errors import PropertiesError
from core.messages import say, say_of

MOST_BYTES = (
    256 * 1024
)  # a certificate chain written into the file is some 10 kB; a wrong path may name anything
HIDDEN = "***"

_SERVERS = "bootstrap.servers"
_SAME = {"metadata.broker.list": _SERVERS, "sasl.mechanisms": "sasl.mechanism"}
_SERVER = re.compile(r"(?:[A-Za-z_]+://)?(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
_INVALID = re.compile(r'Invalid value ".*?" for configuration property', re.DOTALL)
_SECRET_KEY = re.compile(r"password|secret|token|user|credential|pem|\.key|jaas|config|principal|client\.id")
_PLAIN_WORDS = frozenset(
    {
        *(
            "plaintext",
            "ssl",
            "sasl_ssl",
            "sasl_plaintext",
            "plain",
            "scram-sha-256",
            "scram-sha-512",
            "oauthbearer",
            "gssapi",
            "oidc",
        ),
        *("default", "https", "none", "any", "v4", "v6", "true", "false"),
    }
)
# The machinery of this reader, or doors to other code and to standard error.
_REFUSED = frozenset(
    {"plugin.library.paths", "ssl.engine.location", "ssl.providers", "debug", "sasl.kerberos.kinit.cmd"}
)
_NOT_TEXT = re.compile(r".*_cb|logger|opaque|default\.topic\.config")
# how keys of Java clients begin
_JAVA = (
    "ssl.truststore.",
    "ssl.keystore.type",
    "sasl.jaas.config",
    "sasl.login.",
    "sasl.client.callback",
    "ssl.protocol",
    "ssl.enabled.protocols",
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
    "kafka.",
)


class _Hidden(dict[str, Any]):
    """Settings for the client that do not show what they hold."""

    def __repr__(self) -> str:
        return f"<{len(self)} settings>"


class KafkaProperties:
    """The settings of one broker. ``servers`` is safe to show, nothing else is."""

    __slots__ = ("_values", "name", "servers")

    def __init__(self, name: str, values: Mapping[str, str]) -> None:
        self.name = name
        self.servers = values[_SERVERS]
        self._values = _Hidden(values)

    def __repr__(self) -> str:
        return f"KafkaProperties({self.name!r}, servers={self.servers!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("never serialised")

    def client(self, **ours: object) -> dict[str, Any]:
        """The settings for a client, with ``ours`` (dots as ``__``) on top; its ``repr`` shows nothing."""
        return _Hidden({**self._values, **{key.replace("__", "."): value for key, value in ours.items()}})

    def redact(self, text: str) -> str:
        """The text without any value of the file but the servers and plain words (SSL, PLAIN, true, a number
        of milliseconds)."""
        return _redact(text, self._values)


def read_properties(path: Path) -> KafkaProperties:
    """Read and check a properties file; no broker is contacted. Raises :class:`PropertiesError`."""
    values = _parse(path.name, _text(path))
    _check_servers(path.name, values)
    _check_keys(path.name, values)
    return KafkaProperties(path.name, values)


def _text(path: Path) -> str:
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # the reader would wait for a writer
            raise PropertiesError(say("kafka_client.is_a_pipe", name=path.name))
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PropertiesError(say("kafka_client.cannot_be_read", name=path.name, reason=reason)) from None
    if len(data) > MOST_BYTES:
        raise PropertiesError(say("kafka_client.too_large", name=path.name, kb=MOST_BYTES // 1024))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PropertiesError(say("kafka_client.not_utf8", name=path.name)) from None


def _parse(name: str, text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", key):
            raise PropertiesError(say("kafka_client.line_not_setting", name=name, line=number))
        key = _SAME.get(key, key)
        if key in values:
            raise PropertiesError(say("kafka_client.key_twice", name=name, line=number, key=key))
        if "\x00" in value:
            raise PropertiesError(say("kafka_client.zero_byte", name=name, line=number, key=key))
        values[key] = value
    return values


def _check_servers(name: str, values: Mapping[str, str]) -> None:
    if not values.get(_SERVERS):
        raise PropertiesError(say("kafka_client.no_servers", name=name))
    if not all(_SERVER.fullmatch(server.strip()) for server in values[_SERVERS].split(",")):
        raise PropertiesError(say("kafka_client.servers_malformed", name=name))


def _check_keys(name: str, values: Mapping[str, str]) -> None:
    for key in values:
        if key in _REFUSED:
            why = say_of("kafka_client", "REFUSED", key)
            raise PropertiesError(say("kafka_client.key_refused", name=name, key=key, why=why))
        if _NOT_TEXT.fullmatch(key):
            raise PropertiesError(say("kafka_client.no_such_key", name=name, key=key))
        java = next((start for start in _JAVA if key.startswith(start)), None)
        if java is not None:
            hint = say_of("kafka_client", "JAVA", java)
            raise PropertiesError(say("kafka_client.java_key", name=name, key=key, hint=hint))
    if (
        values.get("sasl.mechanism", "").upper() == "OAUTHBEARER"
        and values.get("sasl.oauthbearer.method", "").lower() != "oidc"
    ):
        raise PropertiesError(say("kafka_client.oauth_needs_oidc", name=name))
    # The client itself knows every key and which belong together; without servers it connects to nobody.
    alone = _Hidden({key: value for key, value in values.items() if key != _SERVERS})
    try:
        AdminClient(_Hidden({**alone, "log_level": 0}))
    except KafkaException as error:
        reason = (
            error.args[0].str()
            if error.args and hasattr(error.args[0], "str")
            else say("kafka_client.not_valid")
        )
    except (TypeError, ValueError, OverflowError):
        reason = say("kafka_client.not_valid")
    else:
        return
    reason = _INVALID.sub("Invalid value for configuration property", reason).removeprefix(
        "Failed to create admin client: "
    )
    reason = _redact(reason, alone).rstrip(".")
    raise PropertiesError(say("kafka_client.refused_by_client", name=name, reason=reason)) from None


def _redact(text: str, values: Mapping[str, object]) -> str:
    """Without the values; one of up to three characters only where it stands alone, since it may be part of
    any word."""
    hidden = {
        str(value)
        for key, value in values.items()
        if key != _SERVERS and value and not _is_plain(key, str(value))
    }
    for value in sorted(hidden, key=len, reverse=True):
        pattern = (
            re.escape(value) if len(value) > 3 else rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])"
        )
        text = re.sub(pattern, HIDDEN, text)
    return text


def _is_plain(key: str, value: str) -> bool:
    return not _SECRET_KEY.search(key) and (
        value.lower() in _PLAIN_WORDS or (value.isdecimal() and len(value) <= 9)
    )
