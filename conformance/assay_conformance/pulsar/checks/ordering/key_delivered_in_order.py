from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.model.event import FORGED, Frame, Position, Received
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.ordering._handed_over import Reading, came, describe, place, readings, restarts
from assay_conformance.pulsar.timeline import REDELIVER, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.subscriptions import sticky_key

Key = str | bytes


@dataclass(slots=True)
class _OfKey:
    """What was received of one key. `furthest`: the last entry that came on a connection; `returns`: how often it may
    still go back to earlier ids; `spent`: how many of the consumer's restarts it has used to do so."""

    last: Received | None = None
    furthest: dict[int, Position] = field(default_factory=dict)
    returns: int = 0
    spent: int = 0

    def came(self, session: int, frame: Frame) -> None:
        """Take a MESSAGE."""
        position, furthest = frame.ids[0].position, self.furthest.get(session)
        if furthest is not None and position <= furthest:
            self.returns += 1
            return
        self.furthest[session] = position
        self.returns += frame.fate in FORGED

    def goes_back(self, restarts: int) -> bool:
        """Return whether it may; if so, this was one time."""
        if self.returns:
            self.returns -= 1
            return True
        if self.spent < restarts:
            self.spent += 1
            return True
        return False


def _persistent(timeline: Timeline) -> Iterator[Reading]:
    persistent = {topic.name for topic in timeline.topology.topics if topic.persistent}
    return (one for one in readings(timeline, "Key_Shared") if base_topic(one.topic) in persistent)


@check("ordering.key-delivered-in-order", of=_persistent)
def key_delivered_in_order(timeline: Timeline, reading: Reading) -> Says:
    """ordering.key-delivered-in-order: ids increase from message to message of a key. The key is that of the entry, by
    which the broker chose the consumer.

    They may go back once for each MESSAGE of the key that was sent again or after a later one, and each time that the
    consumer starts over: a new registration, a seek, a request for redelivery of everything. Which consumer gets a key,
    and in which order, is judged by `ordering.key-shared-keeps-order`. Non-persistent topics have no ids to compare.
    """
    keys: dict[Key, _OfKey] = {}
    key_of: dict[Position, Key] = {}
    started_over = 0
    session_of = {frame.seq: session.request.seq for session, frame in came(timeline, reading)}
    for event in _in_order(timeline, reading):
        if isinstance(event, Received):
            key = key_of.get(event.message_id.position)
            if key is not None:
                yield from _received(key, keys[key], event, started_over)
        elif event.command == "MESSAGE":
            key = None if event.meta is None else sticky_key(event.meta)
            if key is not None:
                key_of[event.ids[0].position] = key
                keys.setdefault(key, _OfKey()).came(session_of[event.seq], event)
        elif event.command != REDELIVER or not event.ids:
            started_over += 1


def _in_order(timeline: Timeline, reading: Reading) -> list[Frame | Received]:
    frames = [frame for _, frame in came(timeline, reading)]
    events: list[Frame | Received] = [*reading.messages, *frames, *restarts(timeline, reading)]
    return sorted(events, key=lambda event: event.seq)


def _received(key: Key, progress: _OfKey, event: Received, started_over: int) -> Says:
    before, progress.last = progress.last, event
    if before is None:
        return
    if place(event) > place(before):
        yield Exercised(event)
    elif not progress.goes_back(started_over):
        yield breach(
            "key-handed-over-out-of-order",
            f"consumer {event.handle} received {describe(event.message_id)} of key {key!r} at {ms(event.t_ns)}, after "
            f"{describe(before.message_id)} of that key at {ms(before.t_ns)}; expected increasing ids, since no entry "
            "of the key had been sent again",
            *(before, event),
        )
