"""Which acks and nacks of an application are about an entry."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from assay_conformance.history.events import grouped
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline.consumers import Call, Entry


class CallsAbout:
    """Those of one consumer: each names an entry, and a cumulative one covers all before it on its topic."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._naming = grouped(calls, lambda call: call.entry)
        self._cumulative = grouped((call for call in calls if call.cumulative), lambda call: call.entry.topic)
        self._furthest: dict[str, tuple[list[int], list[Entry]]] = {}

    def of(self, entry: Entry) -> list[Call]:
        """Return the calls that name a message of an entry, and cumulative ones of a later entry, in order."""
        later = (call for call in self._cumulative.get(entry.topic, ()) if entry < call.entry)
        return sorted((*self._naming.get(entry, ()), *later), key=_seq)

    def acknowledge(self, entry: Entry, before: Event) -> bool:
        """Return whether some of them are acks, and were called before an event."""
        naming = (call for call in self._naming.get(entry, ()) if call.invoke.verb == "ack")
        if any(call.invoke.seq < before.seq for call in naming):
            return True
        called, furthest = self._acked_up_to(entry.topic)
        place = bisect_left(called, before.seq)
        return place > 0 and entry < furthest[place - 1]

    def _acked_up_to(self, topic: str) -> tuple[list[int], list[Entry]]:
        """Return when each cumulative ack was called, and the furthest entry that one had named by then."""
        if topic not in self._furthest:
            acks = [call for call in self._cumulative.get(topic, ()) if call.invoke.verb == "ack"]
            self._furthest[topic] = ([_seq(call) for call in acks], [*accumulate((call.entry for call in acks), max)])
        return self._furthest[topic]


def _seq(call: Call) -> int:
    return call.invoke.seq
