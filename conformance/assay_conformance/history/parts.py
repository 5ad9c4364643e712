"""The parts of a history that have nothing to do with each other: whatever client, connection or topic occurs in one
occurs in no other.

What concerns all of them belongs to every part: the bench's own events, and those that name nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from assay_conformance.model.topic_names import base_topic, named_topics

EVERYBODY: Final = -1

_ON_WIRE: Final = frozenset({"frame", "opened", "closed", "undecodable"})
_OF_AGENT: Final = frozenset({"invoke", "completion", "received", "note", "overdue"})
_OF_BROKER: Final = frozenset({"stored", "read-back", "cursor"})


class _Fields(msgspec.Struct, frozen=True, gc=False):
    topic: Any = None


class Named(msgspec.Struct, frozen=True, gc=False):
    """Of an event, what it names: the rest of its line is not read for this."""

    kind: str
    conn: int | None = None
    handle: int | None = None
    verb: str = ""
    topic: str | None = None
    topics: dict[str, str] = {}
    args: msgspec.Raw = msgspec.Raw(b"{}")
    fields: _Fields = _Fields()


class Parts:
    """`add` every event, in order; then `bundles` says where each belongs. Keeps four bytes an event."""

    def __init__(self, first_topic: str) -> None:
        self._first_topic = first_topic
        """What a producer or consumer opens that names none."""
        self._local: dict[str, str] = {}
        self._nodes: dict[Hashable, int] = {}
        self._parents: list[int] = []
        self._seen = array("i")

    def add(self, event: Named) -> None:
        self._seen.append(self._node_of(event))

    def bundles(self, most: int) -> Sequence[int]:
        """Return for each event the number of its bundle, or `EVERYBODY`.

        A bundle is whole parts, in order of their first event, as many as have no more than `most` events together.
        """
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

    def _node_of(self, event: Named) -> int:
        kind = event.kind
        if kind in _ON_WIRE:
            node = self._node("connection", event.conn)
            if event.fields.topic is not None:
                self._join(node, self._topic(str(event.fields.topic)))
            return node
        if kind in _OF_AGENT and event.handle is not None:
            opens = kind == "invoke" and event.verb.startswith("open_")
            return self._opened(event) if opens else self._node("handle", event.handle)
        if kind in _OF_BROKER and event.topic is not None:
            return self._topic(event.topic)
        if kind == "began":
            self._local = {full: local for local, full in event.topics.items()}
        return EVERYBODY

    def _opened(self, event: Named) -> int:
        """Join a producer or consumer to its client and to its topics; return its node."""
        node, args = self._node("handle", event.handle), msgspec.json.decode(event.args)
        if (client := args.get("client")) is not None:
            self._join(node, self._node("handle", client))
        if event.verb != "open_client":
            for topic in self._topics_of(args):
                self._join(node, self._topic(str(topic)))
        return node

    def _topics_of(self, args: Mapping[str, Any]) -> Iterable[object]:
        """Return the topics that arguments name; all of them for a pattern, which may match any."""
        if "pattern" in args:
            return self._local.values()
        return named_topics(args, self._first_topic)

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
