"""Messages that stay incomplete for longer than the expiry time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import AckedCheck
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import EARLY_NS, Arrival


@dataclass(slots=True)
class _Waiting:
    arrival: Arrival
    entries: list[Entry]


class ExpiresIncomplete(AckedCheck):
    """An incomplete message is acknowledged and dropped between one expiry time and two, which allows for a timer that
    runs once in an expiry time."""

    requirement = RequirementId("chunking.expires-incomplete")

    def start(self) -> None:
        super().start()
        self._waiting: dict[tuple[int, str], _Waiting] = {}

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.STARTED:
            self._waiting[arrival.key] = _Waiting(arrival, [arrival.entry])
        elif arrival.fate is ChunkFate.APPENDED and arrival.key in self._waiting:
            waiting, expiry_ns = self._waiting[arrival.key], self.expiry_ns(arrival.consumer)
            # After that the message may have been dropped, and its chunks are left to the broker.
            if not expiry_ns or arrival.frame.t_ns < waiting.arrival.frame.t_ns + expiry_ns - EARLY_NS:
                waiting.entries.append(arrival.entry)
        else:
            self._waiting.pop(arrival.key, None)

    def entry_acked(self, session: ConsumerSession, entry: Entry, event: Frame) -> None:
        for waiting in self._of(session):
            expiry_ns = self.expiry_ns(waiting.arrival.consumer)
            # The buffer may be full, so that its oldest message is acknowledged.
            if entry not in waiting.entries or not expiry_ns or self.overflowed(session):
                continue
            if self.may_be_acked(waiting.arrival.consumer, entry):
                continue
            first = waiting.arrival.frame
            if event.t_ns - first.t_ns < expiry_ns - EARLY_NS:
                self.breach(
                    "expired-early",
                    f"consumer {waiting.arrival.consumer.handle} acknowledged chunk {entry} of an incomplete message "
                    f"at {ms(event.t_ns)}; expected it to be kept for {ms(expiry_ns)} from {ms(first.t_ns)} on, when "
                    "its first chunk came",
                    first,
                    event,
                )

    def over(self, session: ConsumerSession, event: Event) -> None:
        for waiting in list(self._of(session)):
            del self._waiting[waiting.arrival.key]
            consumer, first = waiting.arrival.consumer, waiting.arrival.frame
            expiry_ns, flush_ns = self.expiry_ns(consumer), self.flush_ns(consumer)
            if not expiry_ns or flush_ns is None or self.overflowed(session):
                continue
            if all(self.acked(session).has(entry) for entry in waiting.entries):
                self.exercise(first)
                continue
            due_ns = first.t_ns + 2 * expiry_ns + flush_ns
            unacked = self.first_unacked(session, due_ns, event, *waiting.entries)
            if unacked is not None:
                self.suspect(
                    "ack-flush",
                    first.t_ns,
                    self.until_ns(due_ns, event),
                    "not-expired",
                    f"consumer {consumer.handle} got the first chunk of a message at {ms(first.t_ns)} and never the "
                    f"last, with an expiry time of {ms(expiry_ns)}; expected chunk {unacked} to be acknowledged; it "
                    f"was not by {ms(event.t_ns)}",
                    first,
                    event,
                )

    def _of(self, session: ConsumerSession) -> Iterator[_Waiting]:
        return (waiting for waiting in list(self._waiting.values()) if waiting.arrival.session is session)
