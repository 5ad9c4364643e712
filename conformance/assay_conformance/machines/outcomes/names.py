"""What messages are called in every run of a Case: payloads, ids and ledgers are each run's own."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Identity, Invoke, Member, Received, Stored

_Payload = tuple[int | None, int | None]


class Names:
    """`2#5` is message 5 of producer handle 2. What no producer of the Case sent is called by its place in its
    topic."""

    def __init__(self) -> None:
        self._sent: dict[_Payload, str] = {}
        self._stored: dict[tuple[str, tuple[int, int]], tuple[str, ...]] = {}
        self._others: dict[_Payload, str] = {}
        self._appended: dict[str, int] = {}

    def send(self, event: Invoke) -> None:
        """Note that the application sent a message."""
        if event.verb == "send" and event.number is not None:
            self._sent.setdefault(event.payload, f"{event.handle}#{event.number}")

    def store(self, event: Stored) -> tuple[str, ...]:
        """Return the messages that an entry completes: none for a chunk that others follow."""
        number = self._appended[event.topic] = self._appended.get(event.topic, -1) + 1
        names = tuple(self._members(event, f"{event.topic} {number}"))
        if event.described is None:
            names = (f"{event.topic} {number}",)
        self._stored[event.topic, event.id.position] = names
        return names

    def _members(self, event: Stored, place: str) -> Iterator[str]:
        for index, member in enumerate(event.members):
            if not member.compacted_out:
                own = place if len(event.members) == 1 else f"{place}.{index}"
                yield self._member(member, own)

    def _member(self, member: Member, place: str) -> str:
        known = _of_identity(member.identity) or self._sent.get(member.payload)
        return known or self._others.setdefault(member.payload, place)

    def at(self, topic: str, position: tuple[int, int]) -> tuple[str, ...]:
        """Return the messages of a stored entry."""
        return self._stored.get((topic, position), ())

    def received(self, event: Received) -> str:
        """Return the name of a message that the application got; its size where it is stored nowhere."""
        known = _of_identity(event.identity) or self._sent.get(event.payload) or self._others.get(event.payload)
        return known or f"{event.size} bytes"


def _of_identity(identity: Identity | None) -> str:
    return f"{identity.handle}#{identity.number}" if identity is not None else ""
