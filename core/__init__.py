"""Reads checkpoints of Spark Structured Streaming; the pages and the command line ask here."""

__version__ = (
    "0.2.0"  # the only place: the package, every JSON answer and every generated script take it from here
)
