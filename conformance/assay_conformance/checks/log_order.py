"""Stored entries where they belong: in the order of their log, each no later than its successors.

The embedded broker reports an entry as it is appended. Of a real broker the bench learns by the first frame that names
the entry, or when it reads the topic at the end: an entry whose receipt was lost, or came over another connection, is
named late. A log only grows at its end, so what lies in front of a known entry was stored before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from assay_conformance.model.event import Event, MessageId, Stored


def in_log_order(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events with late `Stored` ones moved ahead; the same object when there are none.

    A moved event gets the time of the one that it was moved before.
    """
    last: dict[str, MessageId] = {}
    late = set()
    for event in events:
        if type(event) is Stored:
            topic, id = event.topic, event.id
            before = last.get(topic)
            if before is not None and id < before and id.position < before.position:
                late.add(topic)
            last[topic] = id
    if not late:
        return events
    places: dict[int, int] = {}
    for log in _logs(events, late):
        places.update(_places(events, log))
    return _moved(events, places)


def _logs(events: Sequence[Event], topics: Set[str]) -> Iterable[list[int]]:
    """Return the indexes of the entries of each of these topics."""
    logs: dict[str, list[int]] = {topic: [] for topic in topics}
    for index, event in enumerate(events):
        if type(event) is Stored and event.topic in logs:
            logs[event.topic].append(index)
    return logs.values()


def _places(events: Sequence[Event], log: Sequence[int]) -> Mapping[int, int]:
    """Return, by the index of each late entry, the index in front of which it belongs."""
    ordered = sorted(log, key=lambda index: events[index].id.position)  # type: ignore[union-attr]
    places: dict[int, int] = {}
    earliest = len(events)
    for index in reversed(ordered):
        if index > earliest:
            places[index] = earliest
        else:
            earliest = index
    return dict(reversed(places.items()))


def _moved(events: Sequence[Event], places: Mapping[int, int]) -> Sequence[Event]:
    arriving: dict[int, list[Event]] = {}
    for index, place in places.items():
        t_ns = min(events[index].t_ns, events[place].t_ns)
        arriving.setdefault(place, []).append(msgspec.structs.replace(events[index], t_ns=t_ns))
    moved: list[Event] = []
    for index, event in enumerate(events):
        moved += arriving.get(index, ())
        if index not in places:
            moved.append(event)
    return tuple(moved)
