"""Many checkpoints at once: which lie below some roots, one row of facts and judgement for each, and which
needs attention first, and the same as metrics."""

from core.survey.cost import MonthlyCost, monthly_cost
from core.survey.many import (
    RootSearch,
    SurveyPlace,
    each_once,
    search_root,
    search_roots,
    survey_places,
    with_checkpoints,
)
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

__all__ = [
    "LEVELS",
    "STATUS_ORDER",
    "Metric",
    "MonthlyCost",
    "Newest",
    "OperatorFacts",
    "RootSearch",
    "Status",
    "SurveyPlace",
    "SurveyRow",
    "attention",
    "each_once",
    "measure",
    "monthly_cost",
    "search_root",
    "search_roots",
    "survey_places",
    "survey_row",
    "to_openmetrics",
    "unreadable_row",
    "with_checkpoints",
]
