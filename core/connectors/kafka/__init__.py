"""Kafka: the properties file, the broker, and the positions of a source against it."""
