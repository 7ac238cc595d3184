"""Files -> facts: what a checkpoint holds. See ``docs/architecture.md`` for the contract."""

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.source import Source
from core.checkpoint.state import state_inventory

__all__ = ["Checkpoint", "Source", "state_inventory"]
