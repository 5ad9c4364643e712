"""routing.round-robin-cycle"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms, on
from assay_conformance.model.event import Completion
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._routed import Queues, Routed, TurnsCheck


class RoundRobinCycle(TurnsCheck):
    """Without batching, each message without a key goes to the partition after that of the one before.

    Messages are taken in the order they were asked for. One that never left had its turn too, where nobody saw it: of
    what follows, the first shows nothing.
    """

    requirement = RequirementId("routing.round-robin-cycle")
    batching = False

    def start(self) -> None:
        super().start()
        self._queues = Queues(self.view)
        self._passed_over: set[tuple[int, int]] = set()
        """Messages that left while the queue of the partition before theirs was full."""

    def routed(self, message: Routed) -> None:
        super().routed(message)
        if self._queues.is_full(message, (message.partition - 1) % message.partitions):
            self._passed_over.add((message.handle, message.number))
        self._queues.left(message)

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        self._queues.ended(event)

    def finish(self) -> None:
        for seen in self.seen.values():
            for before, message in _neighbours(seen):
                self.exercise(message.frame)
                expected = (before.partition + 1) % message.partitions
                steered = (message.handle, message.number) in self._passed_over
                if message.partition != expected and not steered:
                    self.breach(
                        "out-of-turn",
                        f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; {before} went "
                        f"to {before.partition}, so partition {expected} of {message.partitions} was next",
                        before.frame,
                        message.frame,
                    )


def _neighbours(seen: dict[int, Routed]) -> Iterator[tuple[Routed, Routed]]:
    """Messages without a key, each with the one before it, where all between them are known."""
    before: Routed | None = None
    for number in sorted(seen):
        message = seen[number]
        if number - 1 not in seen:
            before = None
        if message.key is not None:
            continue
        if before is not None:
            yield before, message
        before = message
