"""Why a broker could not be asked, and what is wrong with a properties file."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "no_answer": (
        "{servers} did not answer in time: a firewall, a port that is not Kafka's, or a broker that is"
        " overloaded."
    ),
    "not_asked": ("{servers} could not be asked: {reason}."),
    "not_asked_hint": ("{servers} could not be asked: {reason} ({hint})."),
    "client_failed": ("{servers} could not be asked: the Kafka client failed ({error})."),
    "is_a_pipe": ("{name} is a pipe, not a properties file."),
    "cannot_be_read": ("{name} cannot be read: {reason}."),
    "too_large": ("{name} is larger than {kb} kB, so it is not a properties file."),
    "not_utf8": ("{name} is not text in UTF-8, so it is not a properties file."),
    "line_not_setting": ("{name}, line {line}: expected key=value, one setting per line."),
    "key_twice": ("{name}, line {line}: {key} is there twice."),
    "zero_byte": ("{name}, line {line}: the value of {key} has a zero byte."),
    "no_servers": ("{name}: bootstrap.servers is missing; write for example bootstrap.servers=broker1:9092."),
    "servers_malformed": ("{name}: bootstrap.servers must be host:port, several separated by commas."),
    "key_refused": ("{name}: {key} is not taken, because {why}; remove it."),
    "no_such_key": ('{name}: No such configuration property: "{key}".'),
    "java_key": ("{name}: {key}: {hint}."),
    "oauth_needs_oidc": (
        "{name}: sasl.mechanism OAUTHBEARER works only with sasl.oauthbearer.method=oidc, which fetches the"
        " token."
    ),
    "not_valid": ("the settings are not valid"),
    "refused_by_client": ("{name}: {reason}."),
}

HINTS: dict[str, str] = {
    "SSL": ("check security.protocol and ssl.ca.location"),
    "SASL": ("check security.protocol, sasl.mechanism, the user and the password"),
    "Authentication": ("check sasl.mechanism, the user and the password"),
    "incorrect security.protocol": ("check security.protocol"),
    "resolve": ("check the name in bootstrap.servers"),
    "refused": ("is the broker up, and is the port right?"),
}
"""By the words in an error text of librdkafka."""

REFUSED: dict[str, str] = {
    "plugin.library.paths": ("it loads other programs into this one"),
    "ssl.engine.location": ("it loads other programs into this one"),
    "ssl.providers": ("it loads other programs into this one"),
    "debug": ("it writes what is sent to standard error"),
    "sasl.kerberos.kinit.cmd": ("it runs a command"),
}

JAVA: dict[str, str] = {
    "ssl.truststore.": ("Java trust stores are not read: give the CA as a PEM file in ssl.ca.location"),
    "ssl.keystore.type": (
        "it is a setting of Java clients: a PKCS#12 file goes in ssl.keystore.location, PEM files in"
        " ssl.certificate.location and ssl.key.location"
    ),
    "sasl.jaas.config": ("Java JAAS configuration is not supported: give sasl.username and sasl.password"),
    "sasl.login.": ("it is a setting of Java clients"),
    "sasl.client.callback": ("it is a setting of Java clients"),
    "ssl.protocol": ("it is a setting of Java clients; leave it out"),
    "ssl.enabled.protocols": ("it is a setting of Java clients; leave it out"),
    "key.serializer": ("it is a setting of Java clients; leave it out"),
    "value.serializer": ("it is a setting of Java clients; leave it out"),
    "key.deserializer": ("it is a setting of Java clients; leave it out"),
    "value.deserializer": ("it is a setting of Java clients; leave it out"),
    "kafka.": ("write the key without Spark's prefix kafka."),
}
