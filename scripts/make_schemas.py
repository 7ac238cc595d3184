"""The JSON Schema (draft 2020-12) of every answer, made from the classes of ``core/documents``.

    python -m scripts.make_schemas

writes ``docs/schema/<verb>.json``. A test keeps these files equal to the code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from core.documents.base import Document, json_name
from core.documents.changes import ChangesDocument
from core.documents.check import CheckDocument
from core.documents.compare import CompareDocument
from core.documents.evidence import EvidenceDocument
from core.documents.explain import ExplainDocument
from core.documents.forecast import ForecastDocument
from core.documents.incidents import IncidentsDocument
from core.documents.inspect import InspectDocument
from core.documents.metrics import MetricsDocument
from core.documents.recover import RecoverDocument
from core.documents.rehearse import RehearseDocument
from core.documents.report import ReportDocument
from core.documents.resume import ResumeDocument
from core.documents.rows import RowsDocument
from core.documents.state import StateDocument
from core.documents.survey import SurveyDocument

TARGET = Path(__file__).resolve().parent.parent / "docs" / "schema"
DOCUMENTS: dict[str, type[Document]] = {
    "inspect": InspectDocument,
    "resume": ResumeDocument,
    "forecast": ForecastDocument,
    "check": CheckDocument,
    "state": StateDocument,
    "rows": RowsDocument,
    "recover": RecoverDocument,
    "explain": ExplainDocument,
    "changes": ChangesDocument,
    "rehearse": RehearseDocument,
    "compare": CompareDocument,
    "evidence": EvidenceDocument,
    "incidents": IncidentsDocument,
    "report": ReportDocument,
    "survey": SurveyDocument,
    "metrics": MetricsDocument,
}


def schema_of(verb: str) -> dict[str, Any]:
    """The schema of one verb's answer. Fields may be added later, so it does not forbid others."""
    made = TypeAdapter(DOCUMENTS[verb]).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_in_json_names(made),
        "title": f"python -m core {verb} --json",
    }


def _in_json_names(schema: Any) -> Any:
    """The schema with the names that the fields have in JSON, and without what says nothing: titles made of
    field names, and the version of today as a default."""
    if isinstance(schema, list):
        return [_in_json_names(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _in_json_names(value) for key, value in schema.items() if key not in ("title", "default")}
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {
            json_name(name): _in_json_names(value) for name, value in schema["properties"].items()
        }
        found["required"] = list(found["properties"])  # every field is printed, null where it is empty
    if isinstance(found.get("description"), str):
        found["description"] = " ".join(found["description"].replace("``", "`").split())
    return found


def text_of(verb: str) -> str:
    """The file of one verb."""
    return json.dumps(schema_of(verb), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes all files."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for verb in DOCUMENTS:
        (TARGET / f"{verb}.json").write_text(text_of(verb), encoding="utf-8")
        print(f"docs/schema/{verb}.json")


if __name__ == "__main__":
    main()
