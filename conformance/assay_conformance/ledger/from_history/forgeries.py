"""Whose outcomes say nothing, because a fault made up or changed what they rest on.

A forged answer to a SEND, or a SEND with another's sequence id, concerns the producers of its connection and whoever
has their names, for sequence ids belong to names. So does a forged answer to a PRODUCER, which may give a name or the
last id, and a word to go elsewhere. A forged answer to a lookup concerns the producers of its topic, and a forged
CONNECTED everybody: by the limit that it names, consumers may settle unread what is larger. Other frames say nothing of
what is stored or settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from assay_conformance.history.events import Events
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import FORGED, Completion, Fate, Frame, Invoke
from assay_conformance.model.topic_names import base_topic, named_topics, renamed

_OF_CONNECTION = ("SEND_RECEIPT", "SEND_ERROR", "PRODUCER_SUCCESS", "ERROR", "TOPIC_MIGRATED")
_OF_TOPIC = ("LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")


class Forgeries:
    """Of an attempt. `named`: producer handle -> its names."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.named: dict[int, set[str]] = {}
        for end in events.of(Completion):
            if end.handle is not None and end.producer_name:
                self.named.setdefault(end.handle, set()).add(end.producer_name)
        for frame in events.frames("SEND"):
            for member in frame.members if frame.meta is not None else ():
                if member.identity is not None and frame.meta is not None:
                    self.named.setdefault(member.identity.handle, set()).add(frame.meta.producer_name)

    def concerned(self, invokes: Iterable[Invoke], local: Mapping[str, str], first: str) -> set[int]:
        """Return handles of the producers concerned.

        `local`: full name of a topic -> its name in the Case, `first` that of the first.
        """
        names = self._forged_names()
        found = {handle for handle, mine in self.named.items() if not names.isdisjoint(mine)}
        topics = {base_topic(renamed(full, local)) for full in self._forged_topics()}
        concerns_all = any(_forged(self._events, "CONNECTED"))
        for event in invokes if topics or concerns_all else ():
            if event.verb == "open_producer" and event.handle is not None:
                opened = {base_topic(renamed(str(full), local)) for full in named_topics(event.args, first)}
                if concerns_all or not topics.isdisjoint(opened):
                    found.add(event.handle)
        return found

    def _forged_names(self) -> set[str]:
        """Return the names of producers that wrote on a connection with a forged frame."""
        altered = (one for one in self._events.frames("SEND") if one.fate is Fate.ALTERED and one.intact is True)
        conns = {frame.conn for frame in (*altered, *_forged(self._events, *_OF_CONNECTION))}
        written = [frame for frame in self._events.frames("SEND", "PRODUCER") if frame.conn in conns] if conns else []
        named = (one.meta.producer_name if one.meta is not None else one.fields.get("producer_name") for one in written)
        return {str(name) for name in named if name}

    def _forged_topics(self) -> set[str]:
        """Return the full names of topics about which a forged answer came."""
        answers = {(answer.conn, answer.request_id) for answer in _forged(self._events, *_OF_TOPIC)}
        asked = self._events.frames("LOOKUP", "PARTITIONED_METADATA") if answers else ()
        return {str(one.fields.get("topic", "")) for one in asked if (one.conn, one.request_id) in answers} - {""}


def _forged(events: Events, *commands: str) -> Iterator[Frame]:
    frames = events.frames(*commands)
    return (frame for frame in frames if frame.fate in FORGED and frame.dir is Direction.TO_CLIENT)
