"""Sizes that cannot be: what a message says it unpacks to is somebody else's word, and memory is one's own."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import AgentEnded, Completion, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES


class DoubtsSizes(TimedCheck):
    """A message that says it unpacks to more than any message may costs itself, and nothing else."""

    requirement = RequirementId("compression.doubts-sizes")
    needs = (Trait.COMPRESSED,)

    def start(self) -> None:
        self._came: list[tuple[OpenedConsumer, Frame]] = []

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session, meta = self.tracker.consumer_of(event), event.meta
        if session is None or session.consumer is None or meta is None or not to_client(event) or not event.intact:
            return
        if meta.compression != "NONE" and meta.uncompressed_size > MAX_MESSAGE_BYTES:
            self._came.append((session.consumer, event))
            self.exercise(event)

    @on(AgentEnded)
    def died(self, event: AgentEnded) -> None:
        if self._came and not event.killed:
            first = self._came[0][1]
            self.breach(
                "died",
                f"a message that says it unpacks to {first.meta.uncompressed_size if first.meta else 0} bytes came at "
                f"{ms(first.t_ns)}, and the client's process ended at {ms(event.t_ns)}: {event.reason}",
                first,
                event,
            )

    @on(Completion, "receive")
    def received(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or (event.count or 0) >= int(operation.invoke.args.get("count", 1)):
            return
        for consumer, frame in self._came:
            if consumer.handle == event.handle and late("answer", frame.t_ns, event.t_ns):
                self.overdue(
                    "answer",
                    frame.t_ns,
                    event.t_ns,
                    "stuck",
                    f"consumer {event.handle}: a message that says it unpacks to "
                    f"{frame.meta.uncompressed_size if frame.meta else 0} bytes came at {ms(frame.t_ns)}, and those "
                    f"behind it had not come by {ms(event.t_ns)}, when a receive ended short",
                    frame,
                    event,
                )
                return
