"""What the errors of the query's own code mean, and the conditions whose cause the files of a checkpoint
cannot show, each with the reason."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_FUNCTION = "What the function does is in the query's code."


def _function(means: str) -> ErrorText:
    """The query's own function failed."""
    return ErrorText(
        means,
        (
            "The function raised an exception: see the end of the Python traceback, or the last 'Caused by'.",
            "A service or table that it uses failed.",
        ),
        action=(
            "Correct the function (or what it uses) and restart the query: the pending batch is re-run with"
            " the same rows. What the function had already written is written again, unless it goes by batch"
            " id or key."
        ),
        unseen=_FUNCTION,
    )


TEXTS: dict[str, ErrorText] = {
    "FOREACH_BATCH_USER_FUNCTION_ERROR": _function(
        "The function of foreachBatch failed; this wraps what it raised. The batch is not committed."
    ),
    "FOREACH_USER_FUNCTION_ERROR": _function(
        "The function or object of foreach failed; this wraps what it raised. The batch is not committed."
    ),
    "FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR": _function(
        "The function of flatMapGroupsWithState or mapGroupsWithState failed; this wraps what it raised. The"
        " batch is not committed."
    ),
    "TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR": _function(
        "A function of the StatefulProcessor failed; this wraps what it raised. The batch is not committed."
    ),
    "PYTHON_EXCEPTION": ErrorText(
        "Python code that runs in the executors (a UDF, a pandas function) raised an exception. The batch is"
        " not committed.",
        (
            "A row that the function does not expect.",
            "A mistake in the function.",
            "A package that is missing on the executors.",
        ),
        action=(
            "Correct the function and restart the query: the pending batch is re-run with the same rows. To"
            " leave out bad rows, start once with a filter against them."
        ),
        unseen=_FUNCTION,
    ),
    "AUTOCDC_MICROBATCH_VALIDATION": ErrorText(
        "A micro-batch of an AutoCDC flow has rows that are not allowed. The batch is not committed.",
        ("Rows without a key or without a sequence value.",),
        action="Filter such rows out before the flow and restart the query.",
        unseen="The rows of the query are not in the checkpoint.",
    ),
    "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED": ErrorText(
        "A stateful operator handed out a row that is older than the watermark, which the next operator would"
        " drop.",
        ("The function gives its rows an event time in the past.",),
        action="Give the rows an event time at or after the watermark, and restart the query.",
        unseen=_FUNCTION,
    ),
    "ASYNC_PROGRESS_NOT_SUPPORTED": ErrorText(
        "Asynchronous progress tracking works for stateless queries with some sinks and triggers only.",
        ("foreachBatch, a stateful operator, availableNow or once is used with it.",),
        action=(
            "Switch asyncProgressTrackingEnabled off. If the checkpoint was written with it, run first with"
            " asyncProgressTrackingCheckpointIntervalMs=0 where it works, so that two consecutive batches are"
            " logged."
        ),
        unseen="The options of the query are in its code.",
    ),
    "CONTINUOUS_NOT_SUPPORTED": ErrorText(
        "The query has the trigger continuous and something that continuous processing does not do: it reads"
        " from and writes to few sources and sinks, and has no stateful operators. The start failed before"
        " a batch was planned.",
        (
            "The source is one of files, or another one without continuous reading.",
            "The sink is foreachBatch, files, or another one without continuous writing.",
            "An operator of the query is not a plain selection, filter or map.",
        ),
        action=(
            "Use a micro-batch trigger (processingTime, availableNow). The checkpoint is not the cause; one"
            " of micro-batches resumes with it."
        ),
        unseen="The trigger and the operators of the query are in its code.",
    ),
    "LATE_ROWS_BETWEEN_OPERATORS": ErrorText(
        "Spark refuses the query: a stateful operator may hand out rows that are older than the watermark,"
        " and the stateful operator behind it would drop them.",
        (
            "Several stateful operators follow each other, and the output mode is not append.",
            "The first one is a join, or a function with state of its own, behind which this version of Spark"
            " may take no other.",
        ),
        action=(
            "Use the output mode append for several stateful operators, or make two queries of it, with a"
            " sink between them. spark.sql.streaming.statefulOperator.checkCorrectness.enabled=false only"
            " switches the check off: rows may then be missing in the result. The checkpoint is not the"
            " cause: with its old query it resumes."
        ),
        unseen="The query's text and its output mode are not in the checkpoint.",
    ),
    "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT": ErrorText(
        "A stateful query in real-time mode runs all its stages at once, and the cluster has fewer free task"
        " slots than they have tasks.",
        (
            "Executors are missing, or other queries use their cores.",
            "The number of shuffle partitions is too high: each is a task, beside those of the sources.",
        ),
        action=(
            "Give the query as many free cores as the message names, and restart it. Fewer shuffle partitions"
            " help a new query only: a checkpoint with state keeps the number that it began with."
        ),
        unseen="What else uses the cluster is not in the checkpoint.",
    ),
    "LAKEFLOW_UNKNOWN_FLOW": ErrorText(
        "A pipeline was asked to reset the checkpoint of a flow that it does not have.",
        (
            "The name is not complete: catalog.schema.flow.",
            "The flow was renamed.",
        ),
        action="Use the full name of the flow; an update with validate_only tells whether it is right.",
        unseen="The flows of a pipeline are in its definition.",
    ),
    "OUT_OF_MEMORY": ErrorText(
        "The driver or an executor ran out of memory.",
        (
            "A batch is too large: after a rewind or a long stop a source can hand out everything at once.",
            "State on the heap has grown too large.",
        ),
        action=(
            "Bound the batch (maxFilesPerTrigger, maxOffsetsPerTrigger: not for the batch that is already"
            " planned) or give more memory, then restart the query."
        ),
        unseen="The memory of the machines is not in the files.",
    ),
    "STACK_OVERFLOW": ErrorText(
        "A plan or a value is nested too deeply for the stack of a Java thread. Nothing of the checkpoint is"
        " damaged.",
        (
            "The plan is too deep: columns made one by one in a loop, many unions, chains of conditions.",
            "In foreachBatch: a DataFrame that is kept grows by the plan of each batch.",
            "A schema or a value of the source is nested very deeply.",
        ),
        action=(
            "Make the plan flatter (one select for all columns; write or checkpoint what is kept over"
            " batches), or give the threads more stack where Spark is started:"
            " spark.driver.extraJavaOptions=-Xss16m, for tasks spark.executor.extraJavaOptions. Then restart"
            " the query: the pending batch is re-run."
        ),
        unseen="The plan is in the query's code.",
    ),
    "PYTHON_WORKER_CRASHED": ErrorText(
        "A Python process on an executor exited without an error message. The batch is not committed.",
        (
            "It ran out of memory and was killed.",
            "Another Python than the driver's is used, and a package is missing there.",
            "A native library crashed.",
        ),
        action="See the log of the executor; check PYSPARK_PYTHON and the memory; start again.",
        unseen="The logs of the executors are not part of the checkpoint.",
    ),
    "EXECUTOR_LOST": ErrorText(
        "An executor was lost. The batch is not committed.",
        ("It was killed for its memory, or its machine was taken away.",),
        action="Restart the query: the batch is re-run.",
        unseen="The machines are not in the files.",
    ),
    "SPARK_STOPPED": ErrorText(
        "The application was stopped while a batch ran. The batch is not committed.",
        (
            "Someone stopped the job or the cluster.",
            "The driver ended for another reason: see the log before this.",
        ),
        action="Restart the query: the batch is re-run.",
        unseen="Why the application ended is in its log.",
    ),
    "DATA_SOURCE_MISSING": ErrorText(
        "Spark has no data source of this name. The start failed before the checkpoint was looked at.",
        (
            "The package of the connector is not on the class path.",
            "cloudFiles (Auto Loader) is part of Databricks' runtimes only.",
        ),
        action=(
            "Add the connector's package of the same Spark and Scala version. The checkpoint needs nothing."
        ),
        unseen="The libraries of the cluster are not in the files.",
    ),
    "NOT_A_STREAMING_WRITE": ErrorText(
        (
            "A streaming frame was used like one of a batch (show, count, write). The checkpoint is not the"
            " cause."
        ),
        (
            "The code, or the sink's own code, calls an action of a batch on the streaming frame.",
            "A connector was built for another Spark version.",
        ),
        action=(
            "Use writeStream, or do it inside foreachBatch. If a sink of a library does it, use its version"
            " for this Spark."
        ),
        unseen="The query's text is not in the checkpoint.",
    ),
    "CLASS_MISSING": ErrorText(
        "A library does not fit this Spark, or is not there.",
        (
            "A connector was built for another Spark or Scala version.",
            "A jar was left out.",
        ),
        action="Use the connector's version that belongs to this Spark. The checkpoint needs nothing.",
        unseen="The libraries of the cluster are not in the files.",
    ),
}

UNSEEN: dict[str, ErrorText] = {
    "CAST_INVALID_INPUT": ErrorText(
        "A row has a value that the query cannot process, or its code raised an error on purpose. The batch"
        " is not committed, so every start re-runs it with the same rows and fails again.",
        action=(
            "Make the query take such a row (try_cast and the other try_ functions, a filter before the"
            " expression, or rows that cannot be parsed kept apart) and restart it: the batch is re-run and"
            " nothing is lost. Only if that has to wait: skip_batch leaves the planned batch out and says how"
            " many rows that is."
        ),
        unseen="Which row it is stands in the source, not in the checkpoint.",
    ),
    "CALL_ON_STREAMING_DATASET_UNSUPPORTED": ErrorText(
        "Spark refuses the query as it is written; the message says what it does not allow.",
        action="Change the query as the message says and restart the query. The checkpoint is not the cause.",
        unseen="The query's text and its options are not in the checkpoint.",
    ),
    "INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL": ErrorText(
        "The query asks for something that real-time mode does not do.",
        action=(
            "Change the query as the message says, or use a micro-batch trigger: it resumes with the same"
            " checkpoint."
        ),
        unseen="The trigger and the operators of the query are in its code.",
    ),
    "ILLEGAL_STATE_STORE_VALUE": ErrorText(
        "The code of a StatefulProcessor, or what it asks of its state variables, is not allowed; the message"
        " says what.",
        action=(
            "Change the processor as the message says and restart the query. If a batch was planned, it is"
            " pending and is re-run."
        ),
        unseen="The code of the processor is not in the checkpoint.",
    ),
    "STATE_STORE_PROVIDER_DOES_NOT_SUPPORT_FINE_GRAINED_STATE_REPLAY": ErrorText(
        "The state reader was given options that it does not take; the message says which.",
        action="Correct the options. The checkpoint is only read and is not the cause.",
        unseen="The options of the reader are in the code that reads.",
    ),
    "CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_WRITER_VERSION": ErrorText(
        "Spark did something in an order that it reports as its own bug. The batch is not committed.",
        action=(
            "Restart the query: the batch is re-run. If it comes back, report it to Spark with the whole"
            " trace."
        ),
        unseen="What the tasks did is in the logs of the driver and the executors.",
    ),
    "STREAMING_PYTHON_RUNNER_INITIALIZATION_COMMUNICATION_FAILURE": ErrorText(
        "The Python process on the driver that runs the query's Python code did not start.",
        action=(
            "Check the Python of the driver (PYSPARK_PYTHON, packages, memory) and restart the query. The"
            " checkpoint is not the cause."
        ),
        unseen="The environment of the driver is not in the files.",
    ),
    "STREAMING_SHUFFLE_CHECKSUM_VERIFICATION_FAILED": ErrorText(
        "Data between two tasks was lost or came late on the network. The batch is not committed.",
        action="Restart the query: the batch is re-run.",
        unseen="Network and machines are not in the files.",
    ),
    "CONNECT_INVALID_PLAN.MULTIPLE_PATHS_NOT_SUPPORTED_FOR_STREAMING_SOURCE": ErrorText(
        "Spark Connect was asked about a query that it does not know, or after it had ended.",
        action="Ask again with the id of a query that runs. The checkpoint is not the cause.",
        unseen="Sessions and running queries are not in the files.",
    ),
    "APPEND_ONCE_FROM_BATCH_QUERY": ErrorText(
        "The definition of a declarative pipeline is not allowed as it is; the message says what.",
        action="Change the pipeline as the message says. The checkpoint is not the cause.",
        unseen="The definition of a pipeline is not in the checkpoint.",
    ),
    "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND": ErrorText(
        "This is about checkpoints of RDDs (SparkContext.setCheckpointDir), not about the checkpoint of a"
        " streaming query.",
        action=(
            "Give SparkContext.setCheckpointDir a directory on shared storage that is kept while the"
            " application runs."
        ),
        unseen="RDD checkpoints are kept elsewhere and have nothing to do with these files.",
    ),
}

OTHER = ErrorText(
    "A condition of Spark that is not about streaming, state or checkpoints: the data, the query's code, or"
    " what it reads and writes.",
    ("See the message: Spark says itself what it does not accept.",),
    "Fix what the message names and restart the query. A batch that was planned is pending and is re-run with"
    " the same range; if the fault is in its rows it fails again until they are filtered out or the query can"
    " process them.",
    "Data and code of the query are not in the checkpoint.",
)
