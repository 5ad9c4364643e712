"""chunking.acks-every-chunk"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Event
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import AckedCheck, Place
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival


@dataclass(slots=True)
class _AckCall:
    call: Call
    session: ConsumerSession
    chunks: tuple[Entry, ...]


class AcksEveryChunk(AckedCheck):
    """Acknowledging a message acknowledges all of its chunks."""

    requirement = RequirementId("chunking.acks-every-chunk")

    def start(self) -> None:
        super().start()
        self._chunks: dict[Place, tuple[Entry, ...]] = {}
        self._calls: list[_AckCall] = []

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.COMPLETE and arrival.before:
            self._chunks[arrival.consumer.handle, arrival.entry] = (*arrival.before, arrival.entry)

    def called(self, call: Call) -> None:
        chunks = self._chunks.get((call.consumer.handle, call.entry))
        session = self.session_of(call)
        if call.invoke.verb == "ack" and chunks is not None and session is not None:
            self._calls.append(_AckCall(call, session, chunks))

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [pending for pending in self._calls if pending.session is session]
        self._calls = [pending for pending in self._calls if pending.session is not session]
        for pending in mine:
            call, acked = pending.call, self.acked(session)
            if all(acked.has(entry) for entry in pending.chunks):
                self.exercise(event)
                continue
            flush_ns = self.flush_ns(call.consumer)
            if flush_ns is None:
                continue
            due_ns = call.called_ns + flush_ns
            left = self.first_unacked(session, due_ns, event, *pending.chunks)
            if left is not None:
                self.suspect(
                    "ack-flush",
                    call.called_ns,
                    self.until_ns(due_ns, event),
                    "chunk-not-acked",
                    f"the application acknowledged {call.entry}, a message of {len(pending.chunks)} chunks, at "
                    f"consumer {call.consumer.handle} at {ms(call.called_ns)}; expected all chunks to be acknowledged; "
                    f"chunk {left} was not by {ms(event.t_ns)} and will be redelivered",
                    call.invoke,
                    event,
                )
