"""The answer of ``python -m core recover`` as a JSON object: questions, options, and for a chosen option its
plan and code."""

from __future__ import annotations

from collections.abc import Iterable

from core.recovery import (
    Cell,
    CodeBlock,
    DeletionImpact,
    Option,
    OptionId,
    Question,
    RecoveryContext,
    generate,
    options,
    plan,
    questions,
)


def recover_json(
    context: RecoveryContext, option: OptionId | None = None, impacts: Iterable[DeletionImpact] = ()
) -> dict[str, object]:
    """Everything a chooser shows. Without ``option`` the plan is null and the code empty."""
    found = options(context)
    chosen = next((each for each in found if each.id == option), None)
    blocks = generate(context, option) if option is not None else ()
    return {
        "schema_version": 1,
        "answers": dict(context.answers.values),
        "questions": [_question(question) for question in questions(context)],
        "options": [_option(each) for each in found],
        "plan": _plan(context, chosen) if chosen is not None and chosen.possible else None,
        "code": [_block(block) for block in blocks],
        "price_of_deleting": [price.to_json() for price in impacts],
        "no_code": chosen.why if chosen is not None and not blocks else "",
    }


def _question(question: Question) -> dict[str, object]:
    return {
        "id": question.id,
        "text": question.text,
        "choices": [choice.value for choice in question.choices],
        "answer": question.answer,
        "from_checkpoint": question.from_checkpoint,
        "why": question.why,
        "rules_out": {
            choice.value: [{"option": option, "why": why} for option, why in choice.rules_out]
            for choice in question.choices
            if choice.rules_out
        },
    }


def _cell(cell: Cell) -> dict[str, object]:
    return {"general": cell.general, "facts": cell.facts, "corrected": cell.corrected}


def _option(option: Option) -> dict[str, object]:
    return {
        "id": option.id,
        "title": option.title,
        "possible": option.possible,
        "why": option.why,
        "complexity": option.level,
        "cost": option.cost.text,
        "loses": option.loses,
        "repeats": option.repeats,
        "needs_full_source": option.needs_full_source,
        "recommended": option.recommended,
        "reason": option.reason,
        "cells": {
            "complexity": _cell(option.complexity),
            "cost": _cell(option.cost),
            "potential_data_loss": _cell(option.loss),
            "potential_duplicates": _cell(option.duplicates),
            "needs_initial_snapshot": _cell(option.initial_snapshot),
            "full_reset_of_the_table": _cell(option.full_reset),
        },
        "consequences": [
            {
                "sink": each.behaviour,
                "repeats": each.repeats,
                "loses": each.loses,
                "trap": each.trap,
                "yours": each.is_yours,
            }
            for each in option.consequences
        ],
    }


def _plan(context: RecoveryContext, option: Option) -> dict[str, object]:
    made = plan(context, option.recipe)
    return {
        "option": made.option,
        "steps": [{"title": step.title, "why": step.why} for step in made.steps],
        "before_after": [
            {"source": each.source, "before": dict(each.before), "after": dict(each.after)}
            for each in made.before_after
        ],
        "caution": list(made.caution),
    }


def _block(block: CodeBlock) -> dict[str, object]:
    return {
        "platform": block.platform,
        "language": block.language,
        "title": block.title,
        "file_name": block.file_name,
        "text": block.text,
    }
