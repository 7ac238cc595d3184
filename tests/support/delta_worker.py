"""Runs inside `.venv-delta`: reads one JSON request per line, runs its script, answers with one JSON line.
Ends at end of input.

Imports nothing but the standard library and PySpark: the second environment holds nothing else.
"""

import json
import os
import sys
import traceback


def start_spark():
    from pyspark.sql import SparkSession

    scratch = os.environ["DELTA_SCRATCH"]
    builder = SparkSession.builder
    for name, value in json.loads(os.environ["DELTA_CONFS"]).items():
        builder = builder.config(name, value)
    spark = (
        builder.master("local[2]")
        .appName("delta")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        # Many tiny queries: compiling each of them costs more than it saves.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
        .config("spark.local.dir", f"{scratch}/local")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main():
    # Answers go to the real standard output; what scripts and Spark print goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = start_spark()
    for line in sys.stdin:
        request = json.loads(line)
        scope = {"spark": spark, "args": request["args"], "result": None}
        answer = {"result": None, "error": None}
        try:
            exec(compile(request["script"], "<script>", "exec"), scope)
            answer["result"] = scope["result"]
            text = json.dumps(answer)
        except BaseException:
            answer["error"] = traceback.format_exc()
            text = json.dumps(answer)
        for query in spark.streams.active:
            query.stop()
        answers.write(text + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    main()
