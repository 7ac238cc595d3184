"""What lasts of an incident: the evidence file and the report."""

from core.incident.evidence import Taken, take
from core.incident.keeping import Kept, keep
from core.incident.kept_evidence import KeptEvidence, KeptList, kept_list
from core.incident.report import Beside, Report, is_address, report
from core.incident.report_html import to_html
from core.incident.report_markdown import to_chat, to_markdown
from core.incident.target import target_of, written_whole

__all__ = [
    "Beside",
    "Kept",
    "KeptEvidence",
    "KeptList",
    "Report",
    "Taken",
    "is_address",
    "keep",
    "kept_list",
    "report",
    "take",
    "target_of",
    "to_chat",
    "to_html",
    "to_markdown",
    "written_whole",
]
