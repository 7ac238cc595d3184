"""How much there is to read: Overview has 300 words at most, Recovery 500, on every sample; no page says the
same sentence twice. In a run the pages take turns with the samples; CHECKPOINT_EXPLORER_EVERY_CASE=1 opens each
page on each."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.browser.conftest import Visit, Visiting
from tests.spark.cases import EVERY_CASE
from tests.support.build import sample_names

MOST = {"overview": 300, "recovery": 500}
# Icons are drawn by names that nobody sees; what is folded or behind a tab is not in innerText.
READ = """main => {
  const icons = [...main.querySelectorAll('[data-testid="stIconMaterial"]')];
  for (const icon of icons) icon.style.display = 'none';
  const text = main.innerText;
  for (const icon of icons) icon.style.display = '';
  return text;
}"""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
LEAST_WORDS = 6  # fewer are a label


def words_on(one: Visit, page: str, name: str) -> str:
    one.open(f"/{page}?ck=samples/{name}/checkpoint")
    one.wait_for_text("The code" if page == "recovery" else "What the query is")
    one.settle()
    text: str = one.page.locator('[data-testid="stMain"]').evaluate(READ)
    return text


def in_turns(pages: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Pages and samples: each page and each sample at least once, or all together."""
    if os.environ.get(EVERY_CASE):
        return [(page, name) for page in pages for name in names]
    most = max(len(pages), len(names))
    return [(pages[at % len(pages)], names[at % len(names)]) for at in range(most)]


@pytest.mark.parametrize(("page", "name"), in_turns(list(MOST), sample_names()))
def test_a_page_is_short_and_says_nothing_twice(visit: Visiting, page: str, name: str) -> None:
    text = words_on(visit(), page, name)
    found = len(text.split())
    assert 120 < found <= MOST[page], f"{found} words:\n{text}"
    sentences = Counter(part.strip() for part in _SENTENCE.split(text))
    twice = [each for each, times in sentences.items() if times > 1 and len(each.split()) >= LEAST_WORDS]
    assert twice == []


PAGES = ("timeline", "state", "watermark", "integrity", "compare")
SAMPLES = ("missing-delta-file", "join-watermark-held-back", "kafka-pipeline-died-mid-batch")


@pytest.mark.parametrize(("page", "name"), in_turns(PAGES, SAMPLES))
def test_no_page_says_a_sentence_twice(visit: Visiting, page: str, name: str) -> None:
    one = visit()
    one.open(f"/{page}?ck=samples/{name}/checkpoint")
    one.settle()
    text: str = one.page.locator('[data-testid="stMain"]').evaluate(READ)
    sentences = Counter(part.strip() for part in _SENTENCE.split(text))
    twice = [each for each, times in sentences.items() if times > 1 and len(each.split()) >= LEAST_WORDS]
    assert twice == []
