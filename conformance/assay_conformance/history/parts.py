"""The parts of a history that have nothing to do with each other: whatever client, connection or topic occurs in one
occurs in no other.

What concerns everybody belongs to every part: the bench's own events, and those that name nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from assay_conformance.model.event import (
    Began,
    Closed,
    Completion,
    Cursor,
    Event,
    Frame,
    Invoke,
    Note,
    Opened,
    Overdue,
    ReadBack,
    Received,
    Stored,
    Undecodable,
)
from assay_conformance.model.topic_names import base_topic

EVERYBODY: Final = -1


class Parts:
    """`add` every event, in order; then `bundles` says where each belongs. Keeps four bytes an event."""

    def __init__(self, first_topic: str) -> None:
        self._first_topic = first_topic
        """What a producer or consumer opens that names none."""
        self._local: dict[str, str] = {}
        self._nodes: dict[Hashable, int] = {}
        self._parents: list[int] = []
        self._seen = array("i")

    def add(self, event: Event) -> None:
        self._seen.append(self._node_of(event))

    def bundles(self, most: int) -> Sequence[int]:
        """For each event the number of its bundle, or `EVERYBODY`: whole parts, in order of their first event, so many
        together as have no more than `most` events."""
        sizes: dict[int, int] = {}
        roots = [self._root(node) for node in range(len(self._parents))]
        for node in self._seen:
            if node != EVERYBODY:
                sizes[roots[node]] = sizes.get(roots[node], 0) + 1
        bundle_of, bundle, held = {EVERYBODY: EVERYBODY}, 0, 0
        for root, size in sizes.items():
            if held and held + size > most:
                bundle, held = bundle + 1, 0
            bundle_of[root], held = bundle, held + size
        return array("i", (EVERYBODY if node == EVERYBODY else bundle_of[roots[node]] for node in self._seen))

    def _node_of(self, event: Event) -> int:
        match event:
            case Frame() | Opened() | Closed() | Undecodable():
                node = self._node("connection", event.conn)
                if isinstance(event, Frame) and event.fields and (topic := event.fields.get("topic")) is not None:
                    self._join(node, self._topic(str(topic)))
                return node
            case Invoke(handle=int()):
                return self._opened(event) if event.verb.startswith("open_") else self._node("handle", event.handle)
            case Completion(handle=int()) | Received() | Note(handle=int()) | Overdue(handle=int()):
                return self._node("handle", event.handle)
            case Stored() | ReadBack() | Cursor():
                return self._topic(event.topic)
            case Began():
                self._local = event.local_names
        return EVERYBODY

    def _opened(self, event: Invoke) -> int:
        """A producer or consumer belongs to its client and to its topics."""
        node = self._node("handle", event.handle)
        if (client := event.args.get("client")) is not None:
            self._join(node, self._node("handle", client))
        if event.verb != "open_client":
            for topic in self._topics_of(event):
                self._join(node, self._topic(str(topic)))
        return node

    def _topics_of(self, event: Invoke) -> Iterable[object]:
        """A pattern may match any."""
        if "pattern" in event.args:
            return self._local.values()
        return event.args.get("topics") or [event.args.get("topic", self._first_topic)]

    def _topic(self, name: str) -> int:
        base = base_topic(name)
        return self._node("topic", self._local.get(base, base))

    def _node(self, kind: str, name: Hashable) -> int:
        node = self._nodes.setdefault((kind, name), len(self._parents))
        if node == len(self._parents):
            self._parents.append(node)
        return node

    def _join(self, one: int, other: int) -> None:
        self._parents[self._root(other)] = self._root(one)

    def _root(self, node: int) -> int:
        parents = self._parents
        while parents[node] != node:
            parents[node] = node = parents[parents[node]]
        return node
