"""What an error means where its words, or the open checkpoint, tell which of several faults it is."""

from __future__ import annotations

from core.messages.error_text import ErrorText

OF_CONTINUOUS = ErrorText(
    "The checkpoint is one of continuous processing, and the query was started with another trigger. Its"
    " offset files have no watermark and no pinned settings, without which Spark plans no micro-batch.",
    ("The trigger of the query was changed from continuous to another one, or left out.",),
    action=(
        "Start the query with the trigger continuous, as before: it resumes. No micro-batch trigger can use"
        " this checkpoint: for one of these the query needs a new checkpoint location. Where the source has"
        " start options, the recovery option reset writes them."
    ),
    unseen="The trigger that the query has today is in its code.",
)

_VARIABLES = "The state variables that the query has today are in its code."


def _variable(means: str, *reasons: str, more: str = "") -> ErrorText:
    """A state variable of transformWithState that is not as it was, under its old name."""
    return ErrorText(
        means,
        reasons,
        action=(
            "Undo the change and restart the query: the failed start left a plan, which stays valid. If the"
            " change is meant, give the variable a new name: it begins empty, and what the old one holds is"
            f" not read any more.{more}"
        ),
        unseen=_VARIABLES,
    )


TTL_ADDED = _variable(
    "A state variable of transformWithState has a TTL now and had none. Spark keeps the time of expiry beside"
    " the value (ttlExpirationMs), so the state does not fit any more.",
    "A TTL was added to the variable.",
    more=(
        " A TTL needs the time mode ProcessingTime, which a checkpoint keeps: where it has another one, a TTL"
        " needs a new checkpoint location."
    ),
)
TTL_REMOVED = _variable(
    "A state variable of transformWithState had a TTL and has none now. Spark keeps the time of expiry beside"
    " the value (ttlExpirationMs), so the state does not fit any more.",
    "The TTL of the variable was taken away.",
)
BECAME_MAP = _variable(
    "A state variable of transformWithState is a map now and was none. The key of a map holds the key of the"
    " user beside that of the group (userKey), so the state does not fit any more.",
    "A value or a list became a map under the same name.",
)
WAS_MAP = _variable(
    "A state variable of transformWithState was a map and is none now. The key of a map holds the key of the"
    " user beside that of the group (userKey), so the state does not fit any more.",
    "A map became a value or a list under the same name.",
)
ARGUMENT_CHANGED = ErrorText(
    "transformWithState was given another output mode or time mode than before. A checkpoint keeps both.",
    ("The argument in the message was changed in the query; it is not a setting of the session.",),
    action=(
        "Give transformWithState the old value that the message names, and restart the query: the failed"
        " start left a plan, which stays valid. Another value needs a new checkpoint location."
    ),
    unseen="The arguments that the query has today are in its code.",
)
