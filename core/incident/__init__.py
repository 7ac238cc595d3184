"""What lasts of an incident: the evidence file."""

from core.incident.evidence import Taken, take, target_of

__all__ = ["Taken", "take", "target_of"]
