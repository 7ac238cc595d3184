"""Many checkpoints at once: which lie below some roots, one row of facts and judgement for each, and which
needs attention first, and the same as metrics."""

from core.survey.cost import MonthlyCost, monthly_cost
from core.survey.many import Survey, survey_places
from core.survey.metrics import Metric, Newest, measure, to_openmetrics
from core.survey.row import (
    LEVELS,
    STATUS_ORDER,
    OperatorFacts,
    Status,
    SurveyRow,
    attention,
    survey_row,
    unreadable_row,
)
from core.survey.search import (
    RootSearch,
    SurveyPlace,
    each_once,
    left_out,
    search_root,
    with_checkpoints,
)

__all__ = [
    "LEVELS",
    "STATUS_ORDER",
    "Metric",
    "MonthlyCost",
    "Newest",
    "OperatorFacts",
    "RootSearch",
    "Status",
    "Survey",
    "SurveyPlace",
    "SurveyRow",
    "attention",
    "each_once",
    "left_out",
    "measure",
    "monthly_cost",
    "search_root",
    "survey_places",
    "survey_row",
    "to_openmetrics",
    "unreadable_row",
    "with_checkpoints",
]
