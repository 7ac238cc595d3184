"""``restore_versions.py`` without a store: handed out for a checkpoint on S3 and for no other, short to read, with every name as data.
What it does is tested in ``tests/storage/test_restore_versions.py``."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from core.checkpoint.lost import lost_checkpoint
from core.recovery import (
    Answers,
    CodeBlock,
    RecoveryContext,
    forms,
    generate,
    options,
    plan,
    read_recovery_context,
)
from core.recovery.on_s3 import S3Place, s3_place
from core.recovery.snippet import MOST_LINES
from tests.unit.test_recovery_code import HOSTILE, assert_harmless

NAME = "restore_versions.py"


def context_at(url: str, **answers: str) -> RecoveryContext:
    """A checkpoint that is gone, and was there."""
    return replace(read_recovery_context(lost_checkpoint(None), Answers(answers)), url=url)


def block_of(context: RecoveryContext) -> CodeBlock | None:
    return next((each for each in generate(context, "restore_backup") if each.file_name == NAME), None)


def values_of(block: CodeBlock | None) -> dict[str, object]:
    """The values at the top of the script."""
    assert block is not None
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(block.text).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("BUCKET", "PREFIX", "NEW_PREFIX", "AT")
    }


def test_it_is_handed_out_on_s3_and_nowhere_else() -> None:
    for url in ("/data/ck", "file:/data/ck", "memory://b/ck", "abfs://b/ck", "gs://b/ck", "nothing://"):
        context = context_at(url)
        assert block_of(context) is None
        files = [each.file_name for each in generate(context, "restore_backup")]
        assert files == ["recover_restore_backup.py"]
        (option,) = (each for each in options(context) if each.id == "restore_backup")
        assert NAME not in option.why + "".join(plan(context, option.recipe).caution)
    context = context_at("s3://bucket/jobs/ck")
    assert values_of(block_of(context)) == {
        "BUCKET": "bucket",
        "PREFIX": "jobs/ck",
        "NEW_PREFIX": "jobs/ck.restored",
        "AT": None,
    }
    (option,) = (each for each in options(context) if each.id == "restore_backup")
    assert option.possible and NAME in option.why
    assert any("versioning was enabled" in each for each in plan(context, option.recipe).caution)
    for other in ("backup", "full_refresh", "backup_and_backfill"):
        assert NAME not in [each.file_name for each in generate(context, other)]  # type: ignore[arg-type]


@pytest.mark.parametrize("platform", ["pyspark", "databricks", "lakeflow"])
def test_every_form_names_it_beside_the_file_that_restores_a_backup(platform: str) -> None:
    made = forms(context_at("s3://bucket/ck", platform=platform), "restore_backup")
    if platform == "lakeflow":
        assert made == ()
        return
    by_form = {each.form: each.text for each in made if each.form != "file"}
    assert f"python {NAME} --execute" in by_form["snippet"]
    assert len(by_form["snippet"].splitlines()) <= MOST_LINES
    assert (
        f"{NAME}: Without a backup" in by_form["runbook"] and f"{NAME} --rehearse" not in by_form["runbook"]
    )
    assert NAME in by_form["plan"]
    assert [each.file_name for each in made if each.form == "file"][:2] == ["recover_restore_backup.py", NAME]


def test_the_new_place_is_in_the_same_bucket_or_is_to_be_filled_in() -> None:
    def new(answer: str, url: str = "s3://bucket/ck") -> object:
        return values_of(block_of(context_at(url, checkpoint_new=answer)))["NEW_PREFIX"]

    assert new("s3a://bucket/other/") == "other"
    assert new("s3://elsewhere/other") is new("/local/other") is new("s3://bucket/") is None
    assert values_of(block_of(context_at("s3://bucket")))["NEW_PREFIX"] is None  # the whole bucket


def test_a_place_in_s3() -> None:
    assert s3_place("s3n://b/a//c d/") == S3Place("b", "a//c d")
    assert s3_place("s3://b") == S3Place("b", "")
    for url in (
        None,
        "",
        "s3://",
        "s3:///ck",
        "S/s3://b/ck",
        "s3://arn:aws:s3:eu-west-1:1:accesspoint/mine/ck",
    ):
        assert s3_place(url) is None


@pytest.mark.parametrize("text", [*HOSTILE, "".join(HOSTILE)])
def test_strange_names_are_data(text: str) -> None:
    context = context_at(f"s3://bucket/{text}/ck", checkpoint_new=f"s3://bucket/{text}")
    block = block_of(context)
    assert block is not None
    assert_harmless(block, text)
    assert values_of(block)["PREFIX"] == f"{text}/ck" and values_of(block)["NEW_PREFIX"] == text
    context = context_at(f"s3://{text}/ck")
    block = block_of(context)
    assert block is not None
    assert_harmless(block, text)
    assert values_of(block)["BUCKET"] == f"{text}/ck".partition("/")[0]
