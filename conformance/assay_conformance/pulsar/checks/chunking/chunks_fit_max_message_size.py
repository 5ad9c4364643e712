"""chunking.chunks-fit-max-message-size"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.model.event import Completion, ErrorClass, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of, properties_bytes
from assay_conformance.pulsar.checks.chunking._size_limits import announced_limit, ended_unmeasured

CHUNK_FIELDS_BYTES = 128
"""What a chunk's frame has besides payload and metadata: sizes, magic, checksum, its command, and its chunk fields
without the uuid."""


class ChunksFitMaxMessageSize(Check):
    """Payload and metadata of a chunk, without the chunk fields, stay within the limit.

    A unit that waits for a reconnect keeps its chunks, so the highest limit announced so far counts. That metadata
    leave no room is known from the properties only.
    """

    requirement = RequirementId("chunking.chunks-fit-max-message-size")
    needs = (frozenset({Trait.CHUNK, Setting("producer", "chunking")}),)

    def start(self) -> None:
        self._limit = 0

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if event.to_receiver:
            self._limit = max(self._limit, announced_limit(event, self.view.case.topology.max_message_bytes))

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta = event.meta
        if meta is None or meta.chunk_id is None or not from_client(event):
            return
        most = self._limit + CHUNK_FIELDS_BYTES + len((meta.uuid or "").encode())
        if event.size <= most:
            self.exercise(event)
        else:
            self.breach(
                "too-large",
                f"{chunk_of(event)} at {ms(event.t_ns)} is a frame of {event.size} bytes; expected at most {most}, "
                f"since payload and metadata may take {self._limit}",
                event,
            )

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        invoke = self.tracker.operations[event.op].invoke
        properties = properties_bytes(invoke)
        chunking = self.view.producer_setting(event.handle or 0, "chunking") is True
        if not chunking or not 0 < self._limit < properties or ended_unmeasured(self, event):
            return
        if event.error is ErrorClass.TOO_LARGE:
            self.exercise(event)
        elif self.view.producer_setting(event.handle or 0, "router") is None:
            # A custom router may fail it first.
            self.breach(
                "no-room-left",
                f"producer {event.handle}: message {invoke.number} has {properties} bytes of properties, and the limit "
                f"is {self._limit} bytes; expected an error of class too_large; it ended at {ms(event.t_ns)} as "
                f"{event.error or event.outcome}",
                invoke,
                event,
            )
