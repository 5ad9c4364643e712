"""robustness.edge-case-metadata-round-trip"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_conformance.checks.base import CAME, Check, on
from assay_conformance.checks.consumption import entry_on
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.robustness._round_trip import as_events, describe_change, is_altered, stored_member

_ODD_FIELDS = frozenset({"key", "properties", "event_time_ms"})


class EdgeCaseMetadataRoundTrip(Check):
    """Keys, properties and event times of any size.

    Keys are compared with what is stored, the rest with the send call. An empty key and no key, and an event time of 0
    and none, look the same in most client interfaces, and count as equal.
    """

    requirement = RequirementId("robustness.edge-case-metadata-round-trip")
    skips_plain = True

    def start(self) -> None:
        self._calls: dict[tuple[int, int], Invoke] = {}
        """Handle and number -> send calls with a key, properties or an event time."""
        self._altered: set[Entry] = set()

    @on(Invoke, "send")
    def send_called(self, event: Invoke) -> None:
        if event.handle is not None and event.number is not None and not _ODD_FIELDS.isdisjoint(event.args):
            self._calls[event.handle, event.number] = event

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        if is_altered(event) and (session := self.tracker.consumer_of(event)) is not None:
            self._altered.add(entry_on(session, event.ids[0]))

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        if entry is None or event.handle not in self.tracker.opened_consumers or entry in self._altered:
            return
        member = stored_member(self.tracker.stored_at.get(entry), event)
        if member is None:
            return
        if (event.key or None) != (member.key or None):
            self._differs(event, entry, f"key {event.key!r}", repr(member.key))
            return
        args = self._args(event, entry) if self._calls else {}
        if not self._differs_from_call(event, entry, args) and (member.key or not _ODD_FIELDS.isdisjoint(args)):
            self.exercise(event)

    def _differs_from_call(self, event: Received, entry: Entry, args: Mapping[str, Any]) -> bool:
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
        self.breach("changed", describe_change(event, entry, came, sent), *as_events(stored), event)

    def _args(self, event: Received, entry: Entry) -> Mapping[str, Any]:
        """Return the arguments of the send call."""
        identity = self.tracker.own(event.identity)
        if identity is None:
            return {}
        invoke = self._calls.get((identity.handle, identity.number))
        opening = self.tracker.lines.openings.get(identity.handle)
        if invoke is None or opening is None:
            return {}
        # A dead-letter or retry message is a copy, with properties that name its origin.
        letter = base_topic(entry.topic) != opening.args.get("topic", entry.topic)
        return {} if letter else invoke.args
