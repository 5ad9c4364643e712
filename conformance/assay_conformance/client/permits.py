"""Permits: how many messages the broker may still send one consumer.

Nothing is expected before FLOW. After SUBSCRIBE has succeeded the queue's whole size is granted, and from then on what
was consumed, whenever that makes half a queue. Without prefetch the application's wait asks for one message. After a
reconnect the accounting starts empty: the broker has forgotten what it was granted before.
"""

from __future__ import annotations

from assay_conformance.client.acks import Outlet
from assay_conformance.client.handed import Queue
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.wire import CommandType, command


class Permits:
    """`queue` is told when a consumer without prefetch has nothing more to come."""

    def __init__(self, shared: Shared, settings: ConsumerSettings, outlet: Outlet, queue: Queue) -> None:
        self._shared = shared
        self._size = settings.receiver_queue_size
        self._outlet = outlet
        self._queue = queue
        self._consumed = 0
        self._paused = False
        self._asked_one = False

    # --- the consumer's life ---

    def requested(self) -> None:
        """SUBSCRIBE was written. The honest client grants nothing before its answer."""
        if self._shared.mutated(Mutation.FLOW_BEFORE_SUBSCRIBED) and self._size:
            self._flow(self._size)

    def registered(self, *, first: bool) -> None:
        """The broker admitted the consumer, `first` or again, and has granted nothing yet."""
        used, self._consumed = self._consumed, 0
        self._asked_one = False
        if self._paused:
            self._consumed = self._size
        elif self._size == 0:
            if first or not self._shared.mutated(Mutation.ZERO_QUEUE_FORGETS_WAITING):
                self._queue.starved()
        elif not first and self._shared.mutated(Mutation.SILENT_AFTER_RECONNECT):
            return
        elif not self._shared.mutated(Mutation.FLOW_BEFORE_SUBSCRIBED):
            self._flow(self._whole(used, first=first))

    def _whole(self, used: int, *, first: bool) -> int:
        """The whole queue, whatever was `used` of the permits the broker has forgotten."""
        if first:
            return self._size + 1 if self._shared.mutated(Mutation.FIRST_FLOW_TOO_LARGE) else self._size
        return max(used, 1) if self._shared.mutated(Mutation.LESS_PERMITS_AFTER_RECONNECT) else self._size

    # --- messages ---

    def handed_over(self, *, current: bool) -> None:
        """The application got a message; `current`: it came in this registration, so its permit counts."""
        if self._size == 0:
            self._asked_one = self._shared.mutated(Mutation.ZERO_QUEUE_PREFETCHES) and self._outlet.ready
            if self._asked_one:
                self._flow(1)
        elif current:
            self.give_back(2 if self._shared.mutated(Mutation.PERMITS_TWICE) else 1)

    def give_back(self, count: int) -> None:
        """So many of the messages granted are used up, handed over or dropped."""
        if self._size == 0:
            if count:
                self._asked_one = False
                self._queue.starved()
            return
        self._consumed += count
        portions = 1 if self._shared.mutated(Mutation.FLOW_AFTER_WHOLE_QUEUE) else 2
        enough = self._consumed >= max(1, self._size // portions)
        if enough and self._outlet.ready and not self._paused:
            self._flow(self._consumed)
            self._consumed = 0

    # --- from the application ---

    def wanted(self) -> None:
        """The application waits for a message, and the queue is empty: one without prefetch asks for it now."""
        if self._size == 0 and self._outlet.ready and not self._asked_one and not self._paused:
            self._asked_one = True
            self._flow(1)

    def pause(self) -> None:
        """Ask for no more messages; those that were asked for still come."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self.give_back(0)
        self._queue.starved()

    def _flow(self, permits: int) -> None:
        self._outlet.post(command(CommandType.FLOW, consumer_id=self._outlet.consumer_id, messagePermits=permits))
