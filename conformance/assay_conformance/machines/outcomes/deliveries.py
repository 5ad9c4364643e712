"""What was delivered to the application, subscription by subscription."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.machines.outcomes.aspects import Aspect, Kind, Value
from assay_conformance.machines.outcomes.names import Names
from assay_conformance.model.event import Invoke, Position, Received
from assay_conformance.model.topic_names import base_topic, named_topics


@dataclass
class _Subscription:
    """`consumers` are its handles, `topics` what those named."""

    consumers: set[int | None] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    received: list[Received] = field(default_factory=list)


class Deliveries:
    """Those of all consumers of a subscription together, and of each reader."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, _Subscription] = {}
        self._of: dict[int, _Subscription] = {}

    def open(self, event: Invoke) -> None:
        """Note that a consumer or a reader is opened."""
        if event.verb != "open_consumer" or event.handle is None:
            return
        one = self._subscriptions.setdefault(_place(event), _Subscription())
        one.consumers.add(event.handle)
        one.topics.update(named_topics(event.args))
        self._of[event.handle] = one

    def receive(self, event: Received) -> None:
        if (subscription := self._of.get(event.handle)) is not None:
            subscription.received.append(event)

    def outcomes(self, names: Names, stored: Mapping[str, Collection[str]]) -> Iterator[tuple[Aspect, Value]]:
        """Yield what was delivered. `stored`: topic -> what it holds in the end."""
        for place, one in self._subscriptions.items():
            got = [names.received(event) for event in one.received]
            yield Aspect(Kind.HANDED_OVER, place), tuple(sorted(set(got)))
            yield Aspect(Kind.EXTENT, place), (_extent(set(got), one.topics, stored),)
            yield Aspect(Kind.REPEATED, place), tuple(sorted({name for name in got if got.count(name) > 1}))
            yield Aspect(Kind.DISORDER, place), tuple(sorted(_disorder(one, names)))


def _place(event: Invoke) -> str:
    config: Mapping[str, Any] = event.args.get("config", {})
    if config.get("durable", True) is False:
        return f"reader {event.handle}"
    return f"subscription {event.args.get('subscription', 's')}"


def _extent(got: Collection[str], topics: Collection[str], stored: Mapping[str, Collection[str]]) -> str:
    there = {name for topic, held in stored.items() if base_topic(topic) in topics for name in held}
    if not got:
        return "none"
    return "all" if there <= set(got) else "some"


def _disorder(one: _Subscription, names: Names) -> Iterator[str]:
    """Yield the messages whose entry lies before one that came earlier; among several consumers, by key."""
    latest: dict[tuple[str | None, int, str | None], Position] = defaultdict(lambda: (-1, -1))
    seen = set[str]()
    for event in one.received:
        name = names.received(event)
        if name in seen or (len(one.consumers) > 1 and event.key is None):
            continue
        seen.add(name)
        line = (event.topic, event.message_id.partition, event.key if len(one.consumers) > 1 else None)
        position = event.message_id.position
        if position < latest[line]:
            yield name
        latest[line] = max(latest[line], position)
