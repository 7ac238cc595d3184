"""A checkpoint on S3: its bucket and its prefix, for what is done with the versions of its objects."""

from __future__ import annotations

from dataclasses import dataclass

from core.recovery.context import RecoveryContext

SCHEMES = ("s3://", "s3a://", "s3n://")


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket and the prefix of a checkpoint in it, without a slash at its end; "" for the whole bucket."""

    bucket: str
    prefix: str


def s3_place(url: str | None) -> S3Place | None:
    """The place in S3 that a URL names; None for any other store, and for an access point, which has no
    versions of its own to list."""
    rest = next((url[len(each) :] for each in SCHEMES if url and url.startswith(each)), "")
    bucket, _, prefix = rest.partition("/")
    return None if not bucket or bucket.startswith("arn:") else S3Place(bucket, prefix.rstrip("/"))


def has_versions(context: RecoveryContext) -> bool:
    """Whether the checkpoint lies, or lay, where a store may keep the versions of its objects."""
    return s3_place(context.url) is not None


def restored_prefix(context: RecoveryContext, suffix: str) -> str | None:
    """Where the versions are copied to, in the same bucket: the answer ``checkpoint_new``, else a name beside
    the checkpoint; None when it names another store or bucket."""
    old, answer = s3_place(context.url), context.answers.get("checkpoint_new")
    if old is None:
        return None
    if answer is None:
        return f"{old.prefix}.{suffix}" if old.prefix else None
    new = s3_place(answer)
    return new.prefix if new is not None and new.bucket == old.bucket and new.prefix else None
