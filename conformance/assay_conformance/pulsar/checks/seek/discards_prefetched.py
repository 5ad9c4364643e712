"""seek.discards-prefetched"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import acked_entries, entry_on
from assay_conformance.checks.tracker import Call, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.seek._seeking import SeekCheck, Sought, target_of


class DiscardsPrefetched(SeekCheck, AckCheck):
    """A message that arrived before a seek is not received after it, unless it arrived again; nor is it
    acknowledged."""

    requirement = RequirementId("seek.discards-prefetched")

    def start(self) -> None:
        super().start()
        self._arrived: dict[int, dict[Entry, list[Frame]]] = {}
        self._received: dict[int, set[Entry]] = {}
        self._unsent: dict[int, set[Entry]] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not Direction.TO_CLIENT or not event.to_receiver:
            return
        entry = entry_on(session, event.ids[0])
        self._arrived.setdefault(session.consumer.handle, {}).setdefault(entry, []).append(event)

    def asked(self, call: Call) -> None:
        """The calls of one handle reach the client in order: this one before a later seek, and after an earlier one.
        What it acknowledges was not left from before the earlier seek, even if it is the rest of a batch."""
        if call.invoke.verb == "ack" and not call.cumulative:
            self._unsent.setdefault(call.consumer.handle, set()).add(call.entry)
            if (seek := self.current.get(call.consumer.handle)) is not None:
                seek.unsent.discard(call.entry)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        handle = consumer.handle
        if event.ack_type == "Cumulative":
            return
        named = set(acked_entries(session, event))
        self._unsent.get(handle, set()).difference_update(named)
        seek = self.current.get(handle)
        if seek is None or seek.beside or seek.command is None or event.seq < seek.command.seq:
            return
        stale = sorted(entry for entry in named & seek.unsent if not self._arrived_again(seek, entry))
        if stale:
            self.breach(
                "acked-behind-seek",
                f"the application acknowledged {stale[0]} at consumer {handle} before it sought "
                f"{target_of(seek.invoke)}; expected no ACK after the SEEK of {ms(seek.command.t_ns)}; it left at "
                f"{ms(event.t_ns)}",
                seek.invoke,
                seek.command,
                event,
            )

    def begun(self, seek: Sought) -> None:
        handle = seek.consumer.handle
        seek.unsent = set(self._unsent.get(handle, ()))
        seek.prefetched = set(self._arrived.get(handle, ())) - self._received.get(handle, set())

    @on(Received)
    def noted_delivery(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        if consumer is not None and len(consumer.topics) == 1 and self.is_of_its_topic(consumer, event):
            self._received.setdefault(event.handle, set()).add(self.entry_of(consumer, event))

    def received_after_seek(self, seek: Sought, event: Received) -> None:
        entry = self.entry_of(seek.consumer, event)
        if seek.command is None:
            return
        if not self._arrived_again(seek, entry):
            came = self._arrived.get(seek.consumer.handle, {}).get(entry, [])
            assert seek.completion is not None
            self.breach(
                "stale-delivery",
                f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}, which ended at "
                f"{ms(seek.completion.t_ns)}; expected only messages that arrived after the SEEK; it received {entry} "
                f"at {ms(event.t_ns)}, which had not",
                *came[-1:],
                seek.command,
                event,
            )
        elif seek.prefetched or seek.unsent:
            self.exercise(event)

    def _arrived_again(self, seek: Sought, entry: Entry) -> bool:
        assert seek.command is not None
        frames = self._arrived.get(seek.consumer.handle, {}).get(entry, [])
        return any(frame.seq > seek.command.seq for frame in frames)
