"""throttling.redelivery-is-charged"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from assay_conformance.model.event import Event
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import DispatchWindows


class RedeliveryIsCharged(DispatchWindows):
    """Judged where something was dispatched a second time."""

    requirement = RequirementId("throttling.redelivery-is-charged")

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0 and limiter.again:
            yield "messages", limiter.rate.messages, limiter.messages

    def exercised_by(self, limiter: Dispatches, _rate: int, _charges: Sequence[int]) -> Iterator[Event]:
        yield from limiter.again
