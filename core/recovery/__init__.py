"""Recovery: from a checkpoint and a few answers to options, their impact, a plan and code.

``read_recovery_context`` reads the checkpoint once; everything else works on what it returns.
``resume_points`` says where a new checkpoint has to start, ``impact_of_deleting`` what deleting this one
repeats and loses.
"""

from __future__ import annotations

from core.recovery.advice import Advice
from core.recovery.answers import CHOICES, OPTION_IDS, Answers, OptionId
from core.recovery.code import CodeBlock, generate, why_no_code
from core.recovery.consequences import effects_by_sink
from core.recovery.context import RecoveryContext, read_recovery_context
from core.recovery.deletion_impact import DeletionImpact, impact_of_deleting
from core.recovery.forms import forms
from core.recovery.model import Cell
from core.recovery.options import Option, options
from core.recovery.plan import Plan, plan
from core.recovery.questions import Question, questions
from core.recovery.resume import ResumeAnswer, SourceResume, as_pyspark, resume_points

__all__ = [
    "CHOICES",
    "OPTION_IDS",
    "Advice",
    "Answers",
    "Cell",
    "CodeBlock",
    "DeletionImpact",
    "Option",
    "OptionId",
    "Plan",
    "Question",
    "RecoveryContext",
    "ResumeAnswer",
    "SourceResume",
    "as_pyspark",
    "effects_by_sink",
    "forms",
    "generate",
    "impact_of_deleting",
    "options",
    "plan",
    "questions",
    "read_recovery_context",
    "resume_points",
    "why_no_code",
]
