"""Many checkpoints at once: which lie below some roots, one row of facts and judgement for each, and which
needs attention first."""

from core.survey.many import RootSearch, SurveyPlace, search_root, survey_places
from core.survey.row import STATUS_ORDER, Status, SurveyRow, attention, survey_row, unreadable_row

__all__ = [
    "STATUS_ORDER",
    "RootSearch",
    "Status",
    "SurveyPlace",
    "SurveyRow",
    "attention",
    "search_root",
    "survey_places",
    "survey_row",
    "unreadable_row",
]
