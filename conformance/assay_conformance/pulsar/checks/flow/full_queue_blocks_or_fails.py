"""flow.full-queue-blocks-or-fails"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.holdings import topic_of
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._in_flight import DEFAULT_MAX_PENDING, may_hold, memory_surely_fits


@dataclass(slots=True)
class _Sends:
    """The sends of one producer, and those of them that a full queue refused."""

    refused: dict[int, Completion] = field(default_factory=dict)
    asked: list[Operation] = field(default_factory=list)


class FullQueueBlocksOrFails(TimedCheck):
    """A full queue blocks the sender where it was told to, and refuses at once where not; what it refused is never
    sent, and nothing is refused while there is room.

    There is room when fewer sends than the limit were under way at the call, counting those that ended just before, and
    the memory of the client surely held this one beside all that.
    """

    requirement = RequirementId("flow.full-queue-blocks-or-fails")
    needs = (Trait.QUEUE_FULL,)

    def start(self) -> None:
        self._sends: dict[int, _Sends] = {}

    @on(Invoke, "send")
    def asked(self, event: Invoke) -> None:
        if event.handle is not None:
            sends = self._sends.setdefault(event.handle, _Sends())
            sends.asked.append(self.tracker.operations[event.op])

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or event.error is not ErrorClass.QUEUE_FULL or event.handle is None:
            return
        invoke, handle = operation.invoke, event.handle
        self._sends[handle].refused[invoke.number or 0] = event
        if self.view.producer_setting(handle, "block_if_queue_full"):
            self.breach(
                "refused-instead-of-blocking",
                f"producer {handle}: message {invoke.number} was refused at {ms(event.t_ns)} because a queue is full; "
                "the producer was told to block",
                invoke,
                event,
            )
            return
        self._at_once(handle, invoke, event)
        self._room(handle, invoke, event)
        self.exercise(event)

    def _at_once(self, handle: int, invoke: Invoke, event: Completion) -> None:
        called_ns, done_ns = event.called_ns, event.done_ns or event.t_ns
        if called_ns is not None and late("answer", called_ns, done_ns):
            self.overdue(
                "answer",
                called_ns,
                done_ns,
                "refused-late",
                f"producer {handle}: message {invoke.number} was sent at {ms(called_ns)} and refused at {ms(done_ns)}; "
                "a full queue that does not block answers at once",
                invoke,
                event,
            )

    def _room(self, handle: int, invoke: Invoke, event: Completion) -> None:
        setting = self.view.producer_setting
        limit = setting(handle, "max_pending_messages")
        limit = DEFAULT_MAX_PENDING if limit is None else int(limit)
        topic = topic_of(self, handle)
        partitioned = topic is None or topic.partitions
        if partitioned or setting(handle, "chunking") or handle in self.tracker.lines.burst:
            return
        if not memory_surely_fits(self, handle, invoke):
            return
        under_way = [send for send in self._sends[handle].asked if may_hold(send, invoke)]
        if limit == 0 or len(under_way) < limit:
            bytes_limit = self.view.client_setting(handle, "memory_limit_bytes")
            room = f", and memory_limit_bytes of {bytes_limit} would not have been reached" if bytes_limit else ""
            self.breach(
                "refused-with-room",
                f"producer {handle}: message {invoke.number} was refused at {ms(event.t_ns)} because a queue is full, "
                f"with {len(under_way)} sends under way; max_pending_messages is {limit or 'off'}{room}",
                invoke,
                event,
            )

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        self._never(event, "sent")

    @on(Stored)
    def stored(self, event: Stored) -> None:
        self._never(event, "stored")

    def _never(self, event: Frame | Stored, how: str) -> None:
        for member in event.members:
            identity = self.tracker.own(member.identity)
            if identity is None:
                continue
            sends = self._sends.get(identity.handle)
            refusal = sends.refused.get(identity.number) if sends is not None else None
            if refusal is not None:
                self.breach(
                    f"refused-and-{how}",
                    f"producer {identity.handle}: message {identity.number} was refused at {ms(refusal.t_ns)} because "
                    f"a queue is full, and was {how} at {ms(event.t_ns)} all the same",
                    refusal,
                    event,
                )
