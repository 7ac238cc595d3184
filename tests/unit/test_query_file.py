"""Whether a query file has ``transform``, by its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.rehearsal.query_file import has_transform


@pytest.mark.parametrize(
    ("text", "has_it"),
    [
        ("def transform(df):\n    return df\n", True),
        ("from queries import windows as transform\n", True),
        ("from queries import transform\n", True),
        ("import queries\n\ntransform = queries.windows\n", True),
        ("transform: object = lambda df: df\n", True),
        ("try:\n    from a import transform\nexcept ImportError:\n    from b import transform\n", True),
        ("from queries import transform as other\n", False),
        ("def start():\n    transform = 1\n", False),
        ("spark.readStream.load().writeStream.start()\n", False),
    ],
)
def test_a_transform_may_be_defined_imported_or_assigned(text: str, has_it: bool, tmp_path: Path) -> None:
    path = tmp_path / "query.py"
    path.write_text(text, encoding="utf-8")
    assert has_transform(path) == has_it
