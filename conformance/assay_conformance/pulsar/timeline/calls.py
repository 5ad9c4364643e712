"""The acks and nacks of an application that concern an entry."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.history.events import grouped
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline.consumers import Call, Entry
from assay_conformance.pulsar.timeline.reach import Reach


class CallsAbout:
    """The calls of one consumer: each names an entry, and a cumulative one covers all before it on its topic."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._naming = grouped(calls, lambda call: call.entry)
        self._cumulative = grouped((call for call in calls if call.cumulative), lambda call: call.entry.topic)
        self._acks = Reach()
        for call in calls:
            if call.cumulative and call.invoke.verb == "ack":
                self._acks.add(call.invoke, call.entry)

    def of(self, entry: Entry) -> list[Call]:
        """Return the calls that name a message of an entry, and cumulative ones of a later entry, in order."""
        later = (call for call in self._cumulative.get(entry.topic, ()) if entry < call.entry)
        return sorted((*self._naming.get(entry, ()), *later), key=_seq)

    def acknowledge(self, entry: Entry, before: Event) -> bool:
        """Return whether some of them are acks that were called before an event."""
        naming = (call for call in self._naming.get(entry, ()) if call.invoke.verb == "ack")
        if any(call.invoke.seq < before.seq for call in naming):
            return True
        return self._acks.is_beyond(entry, before)


def _seq(call: Call) -> int:
    return call.invoke.seq
