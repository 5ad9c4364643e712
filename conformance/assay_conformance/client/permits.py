"""Permits: how many messages the broker may still send one consumer.

Nothing is expected before FLOW. After SUBSCRIBE has succeeded the queue's whole size is granted, and from then on what
was consumed, whenever that makes half a queue. Without prefetch the application's wait asks for one message. After a
reconnect the accounting starts empty: the broker has forgotten what it was granted before.
"""

from __future__ import annotations

from assay_conformance.client.acks import Outlet
from assay_conformance.client.handed import Queue
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.wire import CommandType, command


class Permits:
    """`queue` is notified when a consumer without prefetch has nothing more to come."""

    def __init__(self, shared: Shared, settings: ConsumerSettings, outlet: Outlet, queue: Queue) -> None:
        self._shared = shared
        self._size = settings.receiver_queue_size
        self._outlet = outlet
        self._queue = queue
        self._consumed = 0
        self._paused = False
        self._asked_one = False

    # --- the consumer's life ---

    def registered(self, *, first: bool) -> None:
        """Grant permits after the broker admitted the consumer, `first` or again: it begins with none."""
        self._consumed = 0
        self._asked_one = False
        if self._paused:
            self._consumed = self._size
        elif self._size == 0:
            self._ask_for_waiting(first=first)
        else:
            self._flow(self._whole(first=first))

    def _ask_for_waiting(self, *, first: bool) -> None:
        """Ask, without prefetch, for the message that the application waits for."""
        del first
        self._queue.starved()

    def _whole(self, *, first: bool) -> int:
        """Return the permits to grant, `first` or after a reconnect: the whole queue, whatever was granted before."""
        del first
        return self._size

    # --- messages ---

    def handed_over(self, *, current: bool) -> None:
        """Note that the application got a message. `current`: it came in this registration, so its permit counts."""
        if self._size == 0:
            self._asked_one = False
        elif current:
            self.give_back(1)

    def give_back(self, count: int) -> None:
        """Count so many of the granted messages as used up: delivered or dropped."""
        if self._size == 0:
            if count:
                self._asked_one = False
                self._queue.starved()
            return
        self._consumed += count
        if self._is_enough and self._outlet.ready and not self._paused:
            self._flow(self._consumed)
            self._consumed = 0

    @property
    def _is_enough(self) -> bool:
        """Whether what was consumed makes half a queue."""
        return self._consumed >= max(1, self._size // 2)

    # --- from the application ---

    def wanted(self) -> None:
        """Ask for a message now if there is no prefetch: the application waits, and the queue is empty."""
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
