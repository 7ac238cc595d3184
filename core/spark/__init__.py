"""Spark at run time: state through Spark, and many checkpoints (``survey``, which is not imported here: it
needs what a survey needs). Nothing here imports pyspark but the modules of the worker process (``worker``,
``scan``, ``survey_job``) and ``datasource``, which users load into a Spark of their own."""

from core.spark.code import question_code
from core.spark.engine import SparkEngine
from core.spark.question import StateAnswer, StateQuestion, state_choices

__all__ = [
    "SparkEngine",
    "StateAnswer",
    "StateQuestion",
    "question_code",
    "state_choices",
]
