"""Clients that leave something registered that was closed."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.publisher import Publisher
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Result


class CloseLeavesLastTopic(Subscription):
    """A consumer of several topics or partitions is closed on all but the last of them."""

    breaks = "connection.close-reaches-all"
    stands_for = "a sibling of apache/pulsar#14284: a close that does not know all that was opened"

    def close(self, closed: Callable[[Result], None]) -> None:
        if len(self.consumers) > 1:
            self.consumers.pop()
        super().close(closed)


class CloseLeavesLastPartition(Publisher):
    """A producer of several partitions is closed on all but the last of them."""

    breaks = "connection.close-reaches-all"
    stands_for = "a sibling of apache/pulsar#14284: a close that does not know all that was opened"

    def close(self, closed: Callable[[Result], None]) -> None:
        if len(self._producers) > 1:
            self._producers.pop()
        super().close(closed)
