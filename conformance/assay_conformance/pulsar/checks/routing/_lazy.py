"""Producers of partitioned topics with a lazy start, and the partitions that they registered with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Invoke
from assay_conformance.model.topic_names import base_topic, is_partition
from assay_conformance.pulsar.timeline import Registration, Timeline


class LazyProducer(NamedTuple):
    """`first`: the first registration with each partition, in order."""

    handle: int
    opening: Invoke
    first: tuple[Registration, ...]


def lazy_producers(timeline: Timeline) -> Iterator[LazyProducer]:
    """Yield producers that alone are opened on their topic, so that it is certain whose a PRODUCER is."""
    openings = timeline.events.invokes("open_producer")
    on_topic = Counter(opening.args.get("topic") for opening in openings)
    for opening in openings:
        topic, handle = str(opening.args.get("topic", "")), opening.handle
        if handle is not None and on_topic[topic] == 1 and _is_lazy(timeline, handle):
            first = timeline.once(_first_by_topic).get(timeline.local_name(topic), {})
            yield LazyProducer(handle, opening, tuple(first.values()))


def _first_by_topic(timeline: Timeline) -> dict[str, dict[str, Registration]]:
    """Return by topic and partition the first PRODUCER for it."""
    found: dict[str, dict[str, Registration]] = {}
    for one in timeline.producer_registrations:
        partition = one.session.topic
        if one.frame.from_sender and is_partition(partition):
            found.setdefault(base_topic(partition), {}).setdefault(partition, one)
    return found


def _is_lazy(timeline: Timeline, handle: int) -> bool:
    is_shared = timeline.view.producer_setting(handle, "access_mode") in (None, "shared")
    return timeline.opens_lazily(handle) and is_shared
