"""Odd messages: what the protocol allows at its edges arrives as it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_conformance.checks.base import CAME, ms, on
from assay_conformance.checks.consumption import entry_on
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import Fate, Frame, Invoke, Member, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

_ODD_FIELDS = frozenset({"key", "properties", "event_time_ms"})
_TORN = (Fate.ALTERED, Fate.INJECTED)
_PASSED, _TO_CLIENT = Fate.PASSED, Direction.TO_CLIENT


class RoundTrip(HandoverCheck):
    """Empty and one-byte payloads, null values, keys, properties and event times of any size.

    Content is compared with what is stored, the rest with what the application asked for. An empty key and none, and
    an event time of 0 and none, look the same through most interfaces, and are not told apart. What is joined of chunks
    is another chapter's.
    """

    requirement = RequirementId("robustness.odd-messages-round-trip")
    skips_plain = True

    def start(self) -> None:
        super().start()
        self._asked: dict[tuple[int, int], Invoke] = {}
        """Sends that asked for something besides, by handle and number."""
        self._altered: set[Entry] = set()

    @on(Invoke, "send")
    def asked_for(self, event: Invoke) -> None:
        if event.handle is not None and event.number is not None and not _ODD_FIELDS.isdisjoint(event.args):
            self._asked[event.handle, event.number] = event

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not _TO_CLIENT:
            return
        if event.intact is False or (event.fate is not _PASSED and event.fate in _TORN):
            self._altered.add(entry_on(session, event.ids[0]))
            return
        for member in event.members:
            if member.size <= 1:
                self.handover.offer(session, event)
                return

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        if entry is None or event.handle not in self.tracker.opened_consumers:
            return
        if self._altered and entry in self._altered:
            return
        member = self._member(entry, max(event.message_id.batch_index, 0))
        if member is None:
            return
        if event.digest != member.digest or event.size != member.size:
            self._differs(event, entry, f"{event.size} bytes of digest {event.digest:08x}", f"{member.size} bytes")
        elif (event.key or None) != (member.key or None):
            self._differs(event, entry, f"key {event.key!r}", repr(member.key))
        else:
            args = self._args(event, entry) if self._asked else {}
            if not self._asked_differently(event, entry, args) and _is_odd(member, args):
                self.exercise(event)

    def _asked_differently(self, event: Received, entry: Entry, args: Mapping[str, Any]) -> bool:
        if not args:
            return False
        properties, time_ms = args.get("properties"), args.get("event_time_ms")
        if properties is not None and event.properties != properties:
            sent = f"{len(properties)} properties, {sum(map(len, properties.values()))} characters"
            self._differs(event, entry, f"{len(event.properties)} properties", sent)
        elif time_ms is not None and (event.event_time_ms or 0) != time_ms:
            self._differs(event, entry, f"event time {event.event_time_ms}", str(time_ms))
        else:
            return False
        return True

    def _differs(self, event: Received, entry: Entry, came: str, sent: str) -> None:
        stored = self.tracker.stored_at.get(entry)
        self.breach(
            "changed",
            f"consumer {event.handle} handed {entry} over at {ms(event.t_ns)} with {came}, expected {sent}",
            *([stored] if stored is not None else []),
            event,
        )

    def _args(self, event: Received, entry: Entry) -> Mapping[str, Any]:
        """What the application asked for besides the payload."""
        identity = self.tracker.own(event.identity)
        if identity is None:
            return {}
        invoke = self._asked.get((identity.handle, identity.number))
        opening = self.tracker.lines.openings.get(identity.handle)
        if invoke is None or opening is None:
            return {}
        # A letter is a copy: it says in properties of its own where it comes from.
        letter = base_topic(entry.topic) != opening.args.get("topic", entry.topic)
        return {} if letter else invoke.args

    def _member(self, entry: Entry, index: int) -> Member | None:
        stored = self.tracker.stored_at.get(entry)
        if stored is None or stored.meta.chunk_id is not None:
            return None
        return stored.members[index] if index < len(stored.members) else None

    def what(self, offer: Offer) -> str:
        del offer
        return "an empty message or one of a single byte"


def _is_odd(member: Member, args: Mapping[str, Any]) -> bool:
    return member.size <= 1 or bool(member.key) or not _ODD_FIELDS.isdisjoint(args)
