"""Files -> facts: what a checkpoint holds. See ``docs/architecture.md`` for the contract."""

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.progress import SourceProgress
from core.checkpoint.source import Source
from core.checkpoint.state import state_inventory

__all__ = ["Checkpoint", "Source", "SourceProgress", "state_inventory"]
