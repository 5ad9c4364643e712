"""A chunked message is received whole or not at all."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Completion, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival, ChunkedCheck, Story


class DeliversWholeOnly(ChunkedCheck):
    """A message is received once its last chunk came in order after all others, and never before.

    That it is received at all, and is joined correctly, is judged where every chunk came once: repeated chunks are
    judged by another requirement.
    """

    requirement = RequirementId("chunking.delivers-whole-only")

    def start(self) -> None:
        super().start()
        self._chunks: dict[tuple[int, Entry], tuple[Frame, ChunkFate]] = {}
        self._incomplete: dict[tuple[int, str], Frame] = {}
        self._disturbed: set[tuple[int, str]] = set()
        self._clean: set[tuple[int, Entry]] = set()

    def arrived(self, arrival: Arrival) -> None:
        key = (arrival.consumer.handle, arrival.entry)
        if key not in self._chunks or self._chunks[key][1] is not ChunkFate.COMPLETE:
            self._chunks[key] = (arrival.frame, arrival.fate)
        if arrival.fate is ChunkFate.COMPLETE:
            self._incomplete.pop(arrival.key, None)
            if arrival.key not in self._disturbed:
                self._clean.add(key)
            return
        self._incomplete[arrival.key] = arrival.frame
        if arrival.fate not in (ChunkFate.STARTED, ChunkFate.APPENDED):
            self._disturbed.add(arrival.key)

    def story(self, handle: int, entry: Entry) -> Story | None:
        return ("", ()) if (handle, entry) in self._clean else None

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        if consumer is None or entry is None:
            return
        known = self._chunks.get((consumer.handle, entry))
        if known is None:
            return
        frame, fate = known
        if fate is ChunkFate.UNSURE and _may_be_whole(frame, event):
            return
        if fate is not ChunkFate.COMPLETE:
            assert frame.meta is not None
            self.breach(
                "fragment-delivered",
                f"consumer {consumer.handle} received {entry} at {ms(event.t_ns)}, which is chunk "
                f"{frame.meta.chunk_id} of {frame.meta.chunks}; expected nothing before all chunks had come in order",
                frame,
                event,
            )
        elif (consumer.handle, entry) not in self._clean:
            return
        elif frame.members and event.payload != frame.members[0].payload:
            self.breach(
                "wrong-content",
                f"consumer {consumer.handle} received the chunks up to {entry} joined to {event.size} bytes of digest "
                f"{event.digest:08x}; expected {frame.members[0].size} bytes of digest {frame.members[0].digest:08x}",
                frame,
                event,
            )
        else:
            self.exercise(event)

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)

    def finish(self) -> None:
        super().finish()
        for frame in self._incomplete.values():
            self.exercise(frame)


def _may_be_whole(frame: Frame, event: Received) -> bool:
    """Whether the message may be whole with this chunk: the others came before the consumer requested redelivery of
    everything, or over the connection before."""
    assert frame.meta is not None
    is_last = (frame.meta.chunk_id or 0) + 1 == frame.meta.chunks
    return is_last and (not frame.members or event.payload == frame.members[0].payload)
