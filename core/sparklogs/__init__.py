"""The log formats that Spark writes, each read in one place: names, versioned text, JSON lines, compactible
logs; and what is wrong with a file (:class:`Problem`), said the same way by all readers."""

from core.sparklogs.compactible import CompactibleLog, compactible_log
from core.sparklogs.evidence import Certainty, Condition, Evidence, Problem, problem, readable

__all__ = [
    "Certainty",
    "CompactibleLog",
    "Condition",
    "Evidence",
    "Problem",
    "compactible_log",
    "problem",
    "readable",
]
