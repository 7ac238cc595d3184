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
_REFUSED = {
    "plugin.library.paths": "it loads other programs into this one",
    "ssl.engine.location": "it loads other programs into this one",
    "ssl.providers": "it loads other programs into this one",
    "debug": "it writes what is sent to standard error",
    "sasl.kerberos.kinit.cmd": "it runs a command",
}
_NOT_TEXT = re.compile(r".*_cb|logger|opaque|default\.topic\.config")
_JAVA = {
    "ssl.truststore.": "Java trust stores are not read: give the CA as a PEM file in ssl.ca.location",
    "ssl.keystore.type": (
        "it is a setting of Java clients: a PKCS#12 file goes in ssl.keystore.location, PEM files in"
        " ssl.certificate.location and ssl.key.location"
    ),
    "sasl.jaas.config": "Java JAAS configuration is not supported: give sasl.username and sasl.password",
    "sasl.login.": "it is a setting of Java clients",
    "sasl.client.callback": "it is a setting of Java clients",
    "ssl.protocol": "it is a setting of Java clients; leave it out",
    "ssl.enabled.protocols": "it is a setting of Java clients; leave it out",
    "key.serializer": "it is a setting of Java clients; leave it out",
    "value.serializer": "it is a setting of Java clients; leave it out",
    "key.deserializer": "it is a setting of Java clients; leave it out",
    "value.deserializer": "it is a setting of Java clients; leave it out",
    "kafka.": "write the key without Spark's prefix kafka.",
}


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
        raise TypeError("the settings of a broker are not written anywhere")

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
            raise PropertiesError(f"{path.name} is a pipe: it is no properties file.")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PropertiesError(
            f"{path.name} cannot be read: {error.strerror or type(error).__name__}."
        ) from None
    if len(data) > MOST_BYTES:
        raise PropertiesError(
            f"{path.name} is larger than {MOST_BYTES // 1024} kB: it is no properties file."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PropertiesError(f"{path.name} is not text in UTF-8: it is no properties file.") from None


def _parse(name: str, text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", key):
            raise PropertiesError(f"{name}, line {number}: expected key=value, one setting per line.")
        key = _SAME.get(key, key)
        if key in values:
            raise PropertiesError(f"{name}, line {number}: {key} is there twice.")
        if "\x00" in value:
            raise PropertiesError(f"{name}, line {number}: the value of {key} holds a zero byte.")
        values[key] = value
    return values


def _check_servers(name: str, values: Mapping[str, str]) -> None:
    if not values.get(_SERVERS):
        raise PropertiesError(
            f"{name}: bootstrap.servers is missing; write for example bootstrap.servers=broker1:9092."
        )
    if not all(_SERVER.fullmatch(server.strip()) for server in values[_SERVERS].split(",")):
        raise PropertiesError(f"{name}: bootstrap.servers must be host:port, several separated by commas.")


def _check_keys(name: str, values: Mapping[str, str]) -> None:
    for key in values:
        if key in _REFUSED:
            raise PropertiesError(f"{name}: {key} is not taken, because {_REFUSED[key]}; remove it.")
        if _NOT_TEXT.fullmatch(key):
            raise PropertiesError(f'{name}: No such configuration property: "{key}".')
        hint = next((text for start, text in _JAVA.items() if key.startswith(start)), None)
        if hint is not None:
            raise PropertiesError(f"{name}: {key}: {hint}.")
    if (
        values.get("sasl.mechanism", "").upper() == "OAUTHBEARER"
        and values.get("sasl.oauthbearer.method", "").lower() != "oidc"
    ):
        raise PropertiesError(
            f"{name}: sasl.mechanism OAUTHBEARER works only with sasl.oauthbearer.method=oidc, which fetches"
            " the token."
        )
    # The client itself knows every key and which belong together; without servers it connects to nobody.
    alone = _Hidden({key: value for key, value in values.items() if key != _SERVERS})
    try:
        AdminClient(_Hidden({**alone, "log_level": 0}))
    except KafkaException as error:
        reason = (
            error.args[0].str()
            if error.args and hasattr(error.args[0], "str")
            else "the settings are not valid"
        )
    except (TypeError, ValueError, OverflowError):
        reason = "the settings are not valid"
    else:
        return
    reason = _INVALID.sub("Invalid value for configuration property", reason).removeprefix(
        "Failed to create admin client: "
    )
    raise PropertiesError(f"{name}: {_redact(reason, alone).rstrip('.')}.") from None


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
