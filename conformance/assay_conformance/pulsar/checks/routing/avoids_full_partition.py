"""What becomes of messages whose turn is at a partition with a full queue: told of each client, and not judged."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.model.event import Completion, ErrorClass, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._routed import Queues, Routed, RoutingCheck


class AvoidsFullPartition(RoutingCheck):
    """Under round robin without batching, where the message before it is known and so its turn. A message with a key
    has none, nor has what follows it."""

    requirement = RequirementId("routing.avoids-full-partition")

    def start(self) -> None:
        super().start()
        self._queues = Queues(self.view)
        self._last: dict[int, Routed] = {}

    def routed(self, message: Routed) -> None:
        before = self._last.get(message.handle)
        self._last[message.handle] = message
        known = before is not None and before.number == message.number - 1 and before.key is message.key is None
        if before is not None and known and self._takes_turns(message.handle):
            turn = (before.partition + 1) % message.partitions
            if message.partition != turn and self._queues.is_full(message, turn):
                self.breach(
                    "steers",
                    f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, past partition "
                    f"{turn}, whose turn it was and whose queue was full",
                    before.frame,
                    message.frame,
                )
        self._queues.left(message)

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        self._queues.ended(event)
        last = self._last.get(event.handle or 0)
        refused = event.outcome is Outcome.FAIL and event.error is ErrorClass.QUEUE_FULL
        if last is None or not refused or not self._takes_turns(last.handle):
            return
        key = self.tracker.operations[event.op].invoke.args.get("key")
        if key is None and not all(self._queues.is_full(last, place) for place in range(last.partitions)):
            self.exercise(event)

    def _takes_turns(self, handle: int) -> bool:
        setting = self.view.producer_setting
        return setting(handle, "routing") == "round_robin" and setting(handle, "batching") is False
