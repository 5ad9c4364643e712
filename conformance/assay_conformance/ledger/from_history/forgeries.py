"""Whose outcomes say nothing, because a fault made up or changed what they rest on.

A forged answer to a SEND, or a SEND with another's sequence id, concerns the producers of its connection and whoever
has their names, for sequence ids belong to names. So does a forged answer to a PRODUCER, which may give a name or the
last id, and a word to go elsewhere. A forged answer to a lookup concerns the producers of its topic, and a forged
CONNECTED everybody: by the limit that it tells, consumers may settle unread what is larger. Other frames say nothing of
what is stored or settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assay_conformance.model.event import FORGED, Completion, Fate, Frame, Invoke
from assay_conformance.model.topic_names import base_topic, named_topics, renamed

_OF_CONNECTION = frozenset({"SEND_RECEIPT", "SEND_ERROR", "PRODUCER_SUCCESS", "ERROR", "TOPIC_MIGRATED"})
_OF_TOPIC = frozenset({"LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE"})
_OF_EVERYBODY = "CONNECTED"
ASKING = frozenset({"PRODUCER", "LOOKUP", "PARTITIONED_METADATA"})
"""Requests that `asked` is to be shown."""


@dataclass(slots=True)
class Forgeries:
    """Shown an attempt event by event; `concerned` knows its end only."""

    _names: dict[int, set[str]] = field(default_factory=dict)
    """Connection -> names of producers that wrote on it."""
    named: dict[int, set[str]] = field(default_factory=dict)
    """Producer handle -> its names."""
    _topics: dict[tuple[int, int | None], str] = field(default_factory=dict)
    """(connection, request id) -> full name of the topic that is looked up."""
    _forged_on: set[int] = field(default_factory=set)
    _forged_topics: set[str] = field(default_factory=set)
    _all: bool = False

    def asked(self, event: Frame) -> None:
        if event.command != "PRODUCER":
            self._topics[event.conn, event.request_id] = str(event.fields.get("topic", ""))
        elif event.fields.get("producer_name"):
            self._writes(event.conn, str(event.fields["producer_name"]))

    def opened(self, event: Completion) -> None:
        """A producer, as its application heard of it."""
        if event.handle is not None and event.producer_name:
            self.named.setdefault(event.handle, set()).add(event.producer_name)

    def sent(self, event: Frame) -> None:
        """A SEND."""
        if event.meta is not None:
            self._writes(event.conn, event.meta.producer_name)
            for member in event.members:
                if member.identity is not None:
                    self.named.setdefault(member.identity.handle, set()).add(event.meta.producer_name)
        if event.fate is Fate.ALTERED and event.intact is True:
            self._forged_on.add(event.conn)

    def answered(self, event: Frame) -> None:
        """A frame to a client that did not just pass."""
        if event.fate not in FORGED:
            return
        if event.command in _OF_CONNECTION:
            self._forged_on.add(event.conn)
        elif event.command == _OF_EVERYBODY:
            self._all = True
        elif event.command in _OF_TOPIC and (topic := self._topics.get((event.conn, event.request_id))):
            self._forged_topics.add(topic)

    def concerned(self, invokes: Iterable[Invoke], local: Mapping[str, str], first: str) -> set[int]:
        """Handles of producers. `local`: full name of a topic -> its name in the Case, `first` that of the first."""
        names = set().union(*(self._names.get(conn, ()) for conn in self._forged_on))
        found = {handle for handle, mine in self.named.items() if not names.isdisjoint(mine)}
        topics = {base_topic(renamed(full, local)) for full in self._forged_topics}
        for event in invokes if topics or self._all else ():
            if event.verb == "open_producer" and event.handle is not None:
                opened = {base_topic(renamed(str(full), local)) for full in named_topics(event.args, first)}
                if self._all or not topics.isdisjoint(opened):
                    found.add(event.handle)
        return found

    def _writes(self, conn: int, name: str) -> None:
        self._names.setdefault(conn, set()).add(name)
