"""ordering.callbacks-in-send-order"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.holdings import topic_of
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId

_OK = Outcome.OK


class CallbacksInSendOrder(Check):
    """Completions of one producer's sends come in call order, by the order in which the agent wrote them in callbacks.

    Judged are sends that went through the queue: those with a receipt, and those that timed out. A send that fails at
    once may overtake. Each partition has a producer of its own.
    """

    requirement = RequirementId("ordering.callbacks-in-send-order")
    skips_plain = True

    def start(self) -> None:
        self._furthest: dict[int, tuple[Operation, Completion]] = {}
        self._judged: dict[int, bool] = {}

    @on(Completion, "send")
    def completion(self, event: Completion) -> None:
        handle = event.handle
        if handle is None or not self._judges(handle):
            return
        if event.outcome is not _OK and event.error is not ErrorClass.TIMEOUT:
            return
        operation = self.tracker.operations[event.op]
        if operation.completion is not event:
            return
        before = self._furthest.get(handle)
        if before is None:
            self._furthest[handle] = (operation, event)
            return
        number, furthest = operation.invoke.number or 0, before[0].invoke.number or 0
        if number < furthest:
            self.breach(
                "callback-out-of-order",
                f"producer {handle}: message {number} was sent before message {furthest}; expected its send to "
                f"complete first; it completed at {ms(event.t_ns)}, and that of message {furthest} at "
                f"{ms(before[1].t_ns)}",
                *self._frames(handle, furthest, number),
                before[1],
                event,
            )
            return
        if operation.invoke.seq < before[1].seq:
            self.exercise(event)
        self._furthest[handle] = (operation, event)

    def _frames(self, handle: int, *numbers: int) -> Iterator[Frame]:
        for number in numbers:
            if (unit := self.tracker.lines.by_message.get((handle, number))) is not None:
                yield unit.first

    def _judges(self, handle: int) -> bool:
        if handle not in self._judged:
            topic = topic_of(self, handle)
            by_key = self.view.producer_setting(handle, "batching_type") == "key_based"
            self._judged[handle] = topic is not None and not topic.partitions and not by_key
        return self._judged[handle]
