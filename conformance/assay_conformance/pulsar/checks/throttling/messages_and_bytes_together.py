"""throttling.messages-and-bytes-together"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import DispatchWindows


class MessagesAndBytesTogether(DispatchWindows):
    """Rates in messages and in bytes: each holds as if it were alone."""

    requirement = RequirementId("throttling.messages-and-bytes-together")

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0 and limiter.rate.bytes > 0:
            yield "messages", limiter.rate.messages, limiter.messages
            yield "bytes", limiter.rate.bytes, limiter.sizes
