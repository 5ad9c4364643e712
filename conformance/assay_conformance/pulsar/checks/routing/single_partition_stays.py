"""routing.single-partition-stays"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._routed import Routed, RoutingCheck


class SinglePartitionStays(RoutingCheck):
    """Under routing to a single partition all messages without a key go to one."""

    requirement = RequirementId("routing.single-partition-stays")

    def start(self) -> None:
        super().start()
        self._first: dict[int, Routed] = {}

    def routed(self, message: Routed) -> None:
        single = self.view.producer_setting(message.handle, "routing") == "single"
        if message.key is not None or not single:
            return
        first = self._first.setdefault(message.handle, message)
        if first is message:
            return
        self.exercise(message.frame)
        if message.partition != first.partition:
            self.breach(
                "moved",
                f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {first} to "
                f"partition {first.partition}; expected one for all",
                first.frame,
                message.frame,
            )
