"""chunking.acks-every-chunk"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Event
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import Place, SettlingCheck
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival


@dataclass(slots=True)
class _Settled:
    call: Call
    session: ConsumerSession
    chunks: tuple[Entry, ...]


class AcksEveryChunk(SettlingCheck):
    """An acknowledged message leaves none of its chunks behind."""

    requirement = RequirementId("chunking.acks-every-chunk")

    def start(self) -> None:
        super().start()
        self._chunks: dict[Place, tuple[Entry, ...]] = {}
        self._calls: list[_Settled] = []

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.COMPLETE and arrival.before:
            self._chunks[arrival.consumer.handle, arrival.entry] = (*arrival.before, arrival.entry)

    def called(self, call: Call) -> None:
        chunks = self._chunks.get((call.consumer.handle, call.entry))
        session = self.session_of(call)
        if call.invoke.verb == "ack" and chunks is not None and session is not None:
            self._calls.append(_Settled(call, session, chunks))

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [settled for settled in self._calls if settled.session is session]
        self._calls = [settled for settled in self._calls if settled.session is not session]
        for settled in mine:
            call, acked = settled.call, self.settled(session)
            if all(acked.has(entry) for entry in settled.chunks):
                self.exercise(event)
                continue
            flush_ns = self.flush_ns(call.consumer)
            if flush_ns is None:
                continue
            due_ns = call.called_ns + flush_ns
            left = self.owed(session, due_ns, event, *settled.chunks)
            if left is not None:
                self.suspect(
                    "ack-flush",
                    call.called_ns,
                    self.until_ns(due_ns, event),
                    "chunk-not-acked",
                    f"consumer {call.consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry}, a "
                    f"message of {len(settled.chunks)} chunks; its chunk {left} had not been acknowledged by "
                    f"{ms(event.t_ns)} and will come again",
                    call.invoke,
                    event,
                )
