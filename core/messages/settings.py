"""Why a setting cannot be used. Values are never shown."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "invalid": "{setting}: {problem}",
    "invalid_part": "{setting}: {part}: {problem}",
    "no_json": '{setting} is not valid JSON; write for example {{"prod": "{example}"}}',
    "root_password": (
        "a root has a password in its URL; write it into storage_options (docs/settings.md), which are never"
        " shown"
    ),
    "store_json": 'write a URL, or JSON such as {{"url": "s3://bucket/incidents", "storage_options": {{}}}}',
    "store_password": (
        "the URL has a password in it; write it into storage_options (docs/settings.md), which are never"
        " shown"
    ),
    "root_name": 'the name of a root must be plain text without "/" or ":"',
    "broker_name": 'the name of a broker must be plain text without "/" or ":"',
}
