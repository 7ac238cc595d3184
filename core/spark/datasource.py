"""``spark.read.format("checkpoint")``: checkpoints as DataFrames, in a session of the user's own.

    from core.spark.datasource import register
    register(spark)
    spark.read.format("checkpoint").load("s3://bucket/checkpoints").where("status = 'fails'").show()

The only module beside the worker process that imports pyspark; nothing of this project imports it.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from core.errors import UsageError
from core.messages import say
from core.settings import Settings, load_settings
from core.spark import executors
from core.spark.executors import Work, spread
from core.spark.package import NEEDED, code_zip

OPTIONS = ("view", "newest", "level")
MOST_BATCHES = 1_000_000

# By value, so that a worker can say what it lacks before anything else of the project is imported.
for _module in (executors, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]


def register(spark: SparkSession, settings: Settings | None = None) -> None:
    """Makes the format ``checkpoint`` known to a session, of a Spark in this process or of a Connect server.

    The code travels to the workers as a zip, once in a session. ``settings``: by default those of this
    process' environment; they travel too, with the storage options of the roots. Raises InvalidSettingError.
    """
    packed = pickle.dumps(load_settings() if settings is None else settings)
    spark.addArtifacts(str(code_zip()), pyfile=True)
    spark.dataSource.register(type("CheckpointSource", (CheckpointSource,), {"settings": packed}))


class CheckpointSource(DataSource):
    """The format. Spark makes one for each read, in a worker of its own."""

    settings: bytes = b""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "checkpoint"

    def schema(self) -> str:
        """The columns of the view that is asked for."""
        work = self._work()
        return str(work.module("core.survey.tables").ddl(work.view))

    def reader(self, schema: StructType) -> CheckpointReader:
        """The reader of the view that is asked for."""
        work = self._work()
        if schema.names != list(work.module("core.survey.tables").COLUMNS[work.view]):
            raise UsageError(say("spark_survey.schema", view=work.view))
        return CheckpointReader(work, self._roots())

    def _roots(self) -> list[str]:
        roots = [self.options["path"]] if self.options.get("path") else []
        try:
            more = json.loads(self.options.get("paths") or "[]")
        except ValueError:
            more = None
        if not isinstance(more, list) or not all(isinstance(root, str) for root in more):
            raise UsageError(say("spark_survey.paths_text", given=self.options["paths"]))
        if not roots + more:
            raise UsageError(say("spark_survey.no_path"))
        return roots + more

    def _work(self) -> Work:
        options = {key.lower(): str(value) for key, value in self.options.items()}
        for name in options:
            if name not in (*OPTIONS, "path", "paths"):
                raise UsageError(say("spark_survey.option", given=name, options=OPTIONS))
        work = Work(self.settings, NEEDED, options.get("view", "survey").strip().lower())
        tables = work.module("core.survey.tables")
        if work.view not in tables.COLUMNS:
            raise UsageError(say("spark_survey.view", given=options["view"], views=tuple(tables.COLUMNS)))
        newest, level = options.get("newest"), options.get("level")
        if newest is not None and work.view not in tables.WITH_NEWEST:
            raise UsageError(say("spark_survey.newest_of_view", views=tables.WITH_NEWEST, view=work.view))
        if level is not None and work.view != "survey":
            raise UsageError(say("spark_survey.level_of_view", view=work.view))
        levels = work.module("core.survey").LEVELS
        if level is not None and level not in levels:
            raise UsageError(say("spark_survey.level", given=level, levels=levels))
        return Work(self.settings, NEEDED, work.view, _number(newest), level or "normal")


class CheckpointReader(DataSourceReader):
    """Searches the roots where Spark plans the query; each task then reads some checkpoints."""

    def __init__(self, work: Work, roots: list[str]) -> None:
        self.work, self.roots = work, roots

    def partitions(self) -> list[InputPartition]:
        """Some checkpoints for each task, and those roots that could not be searched."""
        searched = self.work.searched(self.roots)
        places = self.work.module("core.survey").each_once(searched)
        troubled = [found for found in searched if found.trouble is not None]
        parts: list[Any] = [("places", some) for some in spread(places)]
        parts += [("roots", troubled)] if troubled or not parts else []
        return [InputPartition((kind, pickle.dumps(items))) for kind, items in parts]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one task, as Arrow batches."""
        tables = self.work.module("core.survey.tables")
        kind, packed = partition.value
        items = pickle.loads(packed)  # noqa: S301  (packed by partitions())
        if kind == "places":
            yield from self.work.batches(items)
        else:
            yield from tables.root_rows(items, self.work.view)


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    if not is_number or not 1 <= int(text) <= MOST_BATCHES:
        raise UsageError(say("spark_survey.newest", given=text, most=MOST_BATCHES))
    return int(text)
