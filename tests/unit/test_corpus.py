"""The corpus is whole, says where each entry comes from, and names no machine."""

from __future__ import annotations

import base64
import re

from tests.support.build import (
    CORPUS,
    CORPUS_CHECKPOINTS,
    CORPUS_SINGLE_FILES,
    corpus_entry,
    corpus_names,
    sample_names,
)


def test_the_corpus_has_its_known_number_of_entries() -> None:
    assert len(corpus_names()) == CORPUS_CHECKPOINTS == 24
    assert {path.stem for path in CORPUS.glob("*.json")} == {*corpus_names(), CORPUS_SINGLE_FILES}
    assert len(sample_names()) >= 16


def test_the_page_of_the_corpus_lists_every_entry_with_its_origin() -> None:
    page = (CORPUS / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \| .+ \| (yes|no) \| .+ \|$", page, flags=re.MULTILINE))
    entries = {name: corpus_entry(name) for name in (*corpus_names(), CORPUS_SINGLE_FILES)}
    assert rows == {name: "yes" if entry["complete"] else "no" for name, entry in entries.items()}


def test_every_entry_says_what_it_is_and_where_it_comes_from() -> None:
    for name in (*corpus_names(), CORPUS_SINGLE_FILES):
        entry = corpus_entry(name)
        assert set(entry) == {"origin", "note", "complete", "files"}, name
        assert entry["origin"].startswith("made ") or "(Apache-2.0)" in entry["origin"], name
        assert entry["files"], name
        for path, file in entry["files"].items():
            assert set(file) in ({"text"}, {"binary"}, {"binary", "size"}, {"binary", "size", "base64"}), (
                name,
                path,
            )
            if "base64" in file:
                assert len(base64.b64decode(file["base64"], validate=True)) == file["size"], (name, path)


def test_no_entry_names_a_machine() -> None:
    for path in CORPUS.glob("*.json"):
        assert not re.search(r"/(home|root|work)/|/Users/(?!user/)", path.read_text(encoding="utf-8")), (
            path.name
        )
