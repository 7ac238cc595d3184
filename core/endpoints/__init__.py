"""What the two ends of a query say, asked only on request: the Kafka broker, the log of a Delta table, the log of a file sink.

Needs only ``core/storage``. Nothing is consumed, committed, created or written; secrets stay inside the client.
"""
