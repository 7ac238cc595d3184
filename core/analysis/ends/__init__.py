"""Both ends of the query beside the checkpoint: what was given, what the ends answered, and what that means for this checkpoint.

``look`` asks every end once; the modules beside this one judge: ``kafka`` (positions per partition), ``delta_source``, ``sink``.
"""

from core.analysis.ends.model import DeltaSourceEnd, Ends, GivenEnds, PartitionEnd, SinkBatch, SinkEnd, TopicEnd

__all__ = ["DeltaSourceEnd", "Ends", "GivenEnds", "PartitionEnd", "SinkBatch", "SinkEnd", "TopicEnd"]
