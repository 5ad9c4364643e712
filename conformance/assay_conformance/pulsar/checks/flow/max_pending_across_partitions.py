"""A limit on unreceipted messages that the partitions of a topic share."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.holdings import topic_of
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Completion, ErrorClass, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._in_flight import InFlight, may_hold


class MaxPendingAcrossPartitions(InFlight):
    """Each partition's messages without a receipt, against its share. A share of none is not judged.

    That nothing is refused with room is judged under routing to a single partition, and without chunking: elsewhere
    nobody saw where a refused message was to go, nor how many places its chunks and those of others took.
    """

    requirement = RequirementId("flow.max-pending-across-partitions")
    needs = (Setting("producer", "max_pending_across_partitions"),)

    def more(self, handle: int, event: Frame) -> None:
        lines, unit = self.tracker.lines, self.tracker.lines.unit
        limit = self._limit(handle)
        if limit is None or unit is None or lines.forged_receipts or handle in lines.unpaired:
            return
        count, topic = self.messages[handle, unit.line.topic], unit.line.topic
        if count > limit:
            oldest = next(send for send in self.in_flight(handle) if self.left_to(handle, send) == topic)
            self.breach(
                "too-many-pending",
                f"producer {handle}: {count} messages on {topic} were without a receipt at "
                f"{ms(event.t_ns)}; its share of the limit across partitions is {limit}",
                oldest.invoke,
                event,
            )
        elif count == limit:
            self.exercise(event)

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        handle = event.handle or 0
        limit, operation = self._limit(handle), self.tracker.operations.get(event.op)
        single = self.view.producer_setting(handle, "routing") == "single"
        if limit is None or operation is None or event.error is not ErrorClass.QUEUE_FULL or not single:
            return
        chunks = self.view.producer_setting(handle, "chunking")
        if chunks or self.view.client_setting(handle, "memory_limit_bytes") or handle in self.tracker.lines.burst:
            return
        held = [send for send in self.tracker.sends.get(handle, ()) if may_hold(send, operation.invoke)]
        if len(held) < limit:
            self.breach(
                "refused-with-room",
                f"producer {handle}: message {operation.invoke.number} was refused at {ms(event.t_ns)} because a queue "
                f"is full, with {len(held)} under way to its partition; its share of the limit is {limit}",
                operation.invoke,
                event,
            )

    def _limit(self, handle: int) -> int | None:
        """What a partition of this producer's topic may have; None where no limit is shared."""
        setting = self.view.producer_setting
        across, own = setting(handle, "max_pending_across_partitions"), setting(handle, "max_pending_messages")
        if not across:
            return None
        topic = topic_of(self, handle)
        share = int(across) // topic.partitions if topic is not None and topic.partitions else 0
        if not share or any(step.verb == "grow" for step in self.view.case.steps):
            return None
        return min(share, int(own)) if own else share
