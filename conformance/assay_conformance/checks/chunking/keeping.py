"""Chunks that are kept: those that come by turns with others, and those of a message that is acknowledged."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.chunking.assembling import ChunkFate
from assay_conformance.checks.chunking.chunked import Arrival
from assay_conformance.checks.chunking.settling import IntactCheck, Place, SettlingCheck
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Event
from assay_conformance.model.requirement import RequirementId


class AssembledByUuid(IntactCheck):
    """Messages whose chunks came by turns with those of others, each chunk once and in order."""

    requirement = RequirementId("chunking.assembles-by-uuid")

    def start(self) -> None:
        super().start()
        self._mixed: set[tuple[int, str]] = set()
        self._disturbed: set[tuple[int, str]] = set()

    def what(self) -> str:
        return "several messages whose chunks came by turns"

    def arrived(self, arrival: Arrival) -> None:
        session = arrival.session.request.seq
        others = {(session, uuid) for uuid in self.assembly(arrival.session).held if uuid != arrival.meta.uuid}
        if others:
            self._mixed |= others | {arrival.key}
        if arrival.fate is ChunkFate.STARTED:
            self._disturbed.discard(arrival.key)
        elif arrival.fate is ChunkFate.COMPLETE:
            if arrival.key in self._mixed - self._disturbed:
                self.watched.setdefault((arrival.consumer.handle, arrival.entry), arrival)
        elif arrival.fate is not ChunkFate.APPENDED:
            self._disturbed.add(arrival.key)


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
