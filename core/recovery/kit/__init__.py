"""The part of every recovery script that is the same for everybody.

Plain Python of its own: it imports nothing of this project, only the standard library, and PySpark inside
functions, because it runs where the query runs. ``core.recovery.kit_text`` joins these modules into the one
text that a script carries below its own lines. A name stands in one module only.

The texts that it prints are in it, and not in the catalogue of messages, which a script does not have.
"""

from __future__ import annotations

from core.recovery.kit.carrying_out import KIT_MARK, kit_of
from core.recovery.kit.words import KIT_VERSION

__all__ = ["KIT_MARK", "KIT_VERSION", "kit_of"]
