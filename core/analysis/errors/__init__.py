"""The error translator: paste an error or a stack trace, and learn what it means, for this checkpoint."""

from __future__ import annotations

from core.analysis.errors.error_location import named_roots
from core.analysis.errors.explain import explain
from core.analysis.errors.meanings import OPTION_TITLES
from core.analysis.errors.model import Explanation, Recognised, RecoveryOption, Shown, Statement
from core.analysis.errors.pasted_text import LONGEST_TEXT

__all__ = [
    "LONGEST_TEXT",
    "OPTION_TITLES",
    "Explanation",
    "Recognised",
    "RecoveryOption",
    "Shown",
    "Statement",
    "explain",
    "named_roots",
]
