"""Topic ids of earlier looks. A checkpoint holds none, so that a topic was deleted and recreated under the
same name can be proven only by an id that was seen before. They are kept in the memory of the process,
nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from core.connectors.kafka.judgement import Positions

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.connectors.answers import BrokerAnswer

_Key = tuple[str, str | None, str]


@dataclass(frozen=True, slots=True)
class _Note:
    topic_id: str
    positions: Mapping[int, int]


@dataclass
class TopicIds:
    """The id under which each topic was first seen, by checkpoint, query and broker. Safe to use from many
    threads."""

    _notes: dict[_Key, dict[str, _Note]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def earlier(self, ck: Checkpoint, answer: BrokerAnswer, positions: Positions) -> dict[str, str]:
        """Topic -> the id of an earlier look at this checkpoint, and notes what is new.

        A topic whose positions went back since was set to a new start on purpose: its note begins again.
        """
        with self._lock:
            notes = self._notes.setdefault((ck.location.url, ck.query_id, answer.servers), {})
            earlier = {}
            for name, topic in answer.topics.items():
                now, note = positions.get(name, {}), notes.get(name)
                if note is not None and not any(now.get(p, at) < at for p, at in note.positions.items()):
                    earlier[name] = note.topic_id
                elif topic.topic_id is not None:
                    notes[name] = _Note(topic.topic_id, dict(now))
            return earlier


TOPIC_IDS = TopicIds()
