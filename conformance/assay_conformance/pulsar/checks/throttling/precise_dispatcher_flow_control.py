"""throttling.precise-dispatcher-flow-control"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline.permits import charged


@dataclass(slots=True)
class _Reader:
    """`entries`: how many a read begun by now may still bring; `fewest`: messages of the smallest entry, 0 for none
    yet."""

    permits: int = 0
    entries: int = 0
    fewest: int = 0
    granted: Frame | None = None


class PreciseDispatcherFlowControl(Check):
    """With precise flow control a read takes no more entries than its permits allow, by what the broker has seen of the
    consumer's entries. Here the smallest entry that the consumer was sent is used."""

    requirement = RequirementId("throttling.precise-dispatcher-flow-control")

    def start(self) -> None:
        self._is_precise = self.view.case.topology.settings.precise_flow_control
        self._readers: dict[tuple[int, int], _Reader] = {}

    def concerned(self) -> bool:
        return self._is_precise

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        if self._is_precise and event.at_broker and event.consumer_id is not None:
            self._readers[event.conn, event.consumer_id] = _Reader()

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        reader = self._readers.get((event.conn, event.consumer_id or 0))
        if reader is not None and event.at_broker:
            reader.permits += event.permits or 0
            reader.granted = event

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        reader = self._readers.get((event.conn, event.consumer_id or 0))
        if reader is None or not event.from_sender:
            return
        reader.entries = max(reader.entries, -(-max(reader.permits, 0) // max(1, reader.fewest)))
        if reader.entries <= 0:
            self.breach(
                "read-too-large",
                f"consumer id {event.consumer_id} on connection {event.conn} had {reader.permits} permits left, and "
                f"its entries hold {reader.fewest} messages or more; expected no read to take {event.ids[0].name} as "
                f"well; it was sent at {ms(event.t_ns)}",
                *([reader.granted] if reader.granted else []),
                event,
            )
        elif reader.fewest > 1:
            self.exercise(event)
        cost = charged(event)
        reader.entries -= 1
        reader.permits -= cost
        reader.fewest = min(reader.fewest or cost, cost)
