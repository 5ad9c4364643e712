"""Batches of one message: a batch all the same, as an entry that does not say how many it holds is none."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import ConsumerCheck, to_client
from assay_conformance.checks.handover import Handover
from assay_conformance.model.event import Completion, Fate, Frame, Received
from assay_conformance.model.requirement import RequirementId


class TakesBatchesOfOne(ConsumerCheck):
    """The message of a batch of one is handed over, without the header it has in the batch."""

    requirement = RequirementId("batching.batch-of-one-is-opened")

    def start(self) -> None:
        self._handover = Handover(self.view)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session, meta = self.tracker.consumer_of(event), event.meta
        whole = event.fate not in (Fate.ALTERED, Fate.INJECTED) and event.intact is not False
        if session is None or meta is None or meta.batch != 1 or not to_client(event) or not whole:
            return
        if len(event.members) == 1:
            self._handover.offer(session, event)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def everything_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._handover.asked_again(session, event)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        offer = None if consumer is None else self._handover.received(consumer, event)
        if offer is None:
            return
        member = offer.frame.members[0]
        self.exercise(event)
        if (event.size, event.digest) != (member.size, member.digest):
            self.breach(
                "changed",
                f"consumer {event.handle} handed {offer.entry}, a batch of one message, over at {ms(event.t_ns)} as "
                f"{event.size} bytes of digest {event.digest:08x}; the message in it has {member.size} bytes of digest "
                f"{member.digest:08x}",
                offer.frame,
                event,
            )

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        for offer in self._handover.withheld(operation) if operation is not None else ():
            self.overdue(
                "answer",
                offer.frame.t_ns,
                event.t_ns,
                "not-delivered",
                f"{offer.entry}, a batch of one message, came to consumer {event.handle} at {ms(offer.frame.t_ns)} and "
                f"was not handed over by {ms(event.t_ns)}, when a receive ended short",
                offer.frame,
                event,
            )
