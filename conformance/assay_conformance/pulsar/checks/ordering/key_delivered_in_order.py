from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from assay_conformance.history.events import grouped
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.ordering._handed_over import (
    Reading,
    Returns,
    came,
    place,
    readings,
    restarts,
)
from assay_conformance.pulsar.timeline import REDELIVER, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.subscriptions import sticky_key


class _OfKey(NamedTuple):
    """What a consumer received of one key, in order, and how often it may go back to earlier ids."""

    key: str | bytes
    messages: list[Received]
    returns: Returns


def _of_keys(timeline: Timeline) -> Iterator[_OfKey]:
    persistent = {topic.name for topic in timeline.topology.topics if topic.persistent}
    for reading in readings(timeline, "Key_Shared"):
        if base_topic(reading.topic) in persistent:
            yield from _of_reading(timeline, reading)


def _of_reading(timeline: Timeline, reading: Reading) -> Iterator[_OfKey]:
    keyed = grouped(came(timeline, reading), lambda one: _key(one[1]))
    key_of = {frame.ids[0].position: key for key, frames in keyed.items() for _, frame in frames}
    again = [one for one in restarts(timeline, reading) if one.command != REDELIVER or not one.ids]
    received = grouped(reading.messages, lambda one: key_of.get(one.message_id.position))
    for key, messages in received.items():
        if key is not None:
            yield _OfKey(key, messages, Returns(again, keyed[key]))


def _key(frame: Frame) -> str | bytes | None:
    return None if frame.meta is None else sticky_key(frame.meta)


@check("ordering.key-delivered-in-order", of=_of_keys)
def key_delivered_in_order(timeline: Timeline, of_key: _OfKey) -> Says:
    """ordering.key-delivered-in-order: ids increase from message to message of a key. The key is that of the entry, by
    which the broker chose the consumer.

    They may go back once for each MESSAGE of the key that was sent again or after a later one, and each time that the
    consumer starts over: a new registration, a seek, a request for redelivery of everything. Which consumer gets a key,
    and in which order, is judged by `ordering.key-shared-keeps-order`. Non-persistent topics have no ids to compare.
    """
    for before, event in pairwise(of_key.messages):
        if place(event) > place(before):
            yield Exercised(event)
        elif not of_key.returns.allow(event):
            yield breach(
                "key-handed-over-out-of-order",
                f"consumer {event.handle} received {event.message_id.full_name} of key {of_key.key!r} at "
                f"{ms(event.t_ns)}, after {before.message_id.full_name} of that key at {ms(before.t_ns)}; expected "
                "increasing ids, since no entry of the key had been sent again",
                *(before, event),
            )
