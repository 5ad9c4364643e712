"""Clients that do separately what others do together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.calls import Calls
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.producer import Producer
from assay_conformance.client.seeking import Place, Seeking, Sought
from assay_conformance.client.values import Result
from assay_conformance.model.facts import Lack


class SeeksQueue(Seeking):
    """A seek that is called during another seek waits until that has ended."""

    as_in = "Go client, consumer_impl.go: Seek holds the consumer's mutex"
    within = ("seek.one-at-a-time", "seek.starts-at-target")

    def begin(self, place: Place, sought: Sought) -> None:
        waiting = vars(self).setdefault("_queued", deque())
        if self._pending is not None:
            waiting.append((place, sought))
            return

        def ended(result: Result) -> None:
            sought(result)
            if waiting:
                self.begin(*waiting.popleft())

        super().begin(place, ended)


class OneIdEachAck(AckGroup):
    """An ACK names one message."""

    as_in = "Rust client, consumer/engine.rs: ack sends a CommandAck for each message"
    within = ("ack.flushed-in-time", "ack.applies-to-named-messages", "ack.flushed-on-close")
    declares: ClassVar = {"lacks": frozenset({Lack.SEVERAL_IDS_ACK})}

    def _most_ids(self) -> int:
        return 1


class NoFlush(Producer):
    """A producer has no flush: its open batch is sent when it is full, or when its delay is over."""

    as_in = "clients that send each message at once"
    within = ("batching.partial-batch-needs-reason", "producer.close-ends-pending-sends")
    declares: ClassVar = {"lacks": frozenset({Lack.FLUSH})}


class FlushesBatchesOnly(Producer):
    """A producer that does not batch has no flush."""

    as_in = "Rust client, producer.rs: send_batch of a producer without batching is an error"
    within = ("producer.flush-waits",)
    declares: ClassVar = {"lacks": frozenset({Lack.FLUSH_WITHOUT_BATCHING})}


class SeeksOneByOne(Consumer):
    """The application cannot call seek during another seek: the call locks the consumer."""

    as_in = "Rust client, Consumer::seek takes &mut self"
    within = ("seek.starts-at-target",)
    declares: ClassVar = {"lacks": frozenset({Lack.OVERLAPPING_SEEKS})}


class SendsOneByOne(Calls):
    """A send blocks until it has ended: later calls on the producer are made after that."""

    as_in = "clients whose send returns with the receipt, and that have no other one"
    within = (
        "producer.close-ends-pending-sends",
        "producer.flush-waits",
        "resend.send-timeout",
        "resend.pending-sends-resent",
        "ordering.sequence-ids-increase-by-one",
        "batching.partial-batch-needs-reason",
        "batching.flush-closes-batch",
        "flow.full-queue-blocks-or-fails",
        "robustness.calls-do-not-hang",
        "robustness.trouble-delays-no-other",
    )
    declares: ClassVar = {"lacks": frozenset({Lack.OVERLAPPING_SENDS})}

    def __init__(self) -> None:
        self._behind: dict[int, deque[tuple[int, Callable[[], None], bool]]] = {}
        self._blocked_by: dict[int, int] = {}
        self._calling: set[int] = set()

    def make(self, op: int, handle: int, call: Callable[[], None], *, sends: bool = False) -> None:
        self._behind.setdefault(handle, deque()).append((op, call, sends))
        self._go_on(handle)

    def ended(self, op: int) -> None:
        for handle in [handle for handle, by in self._blocked_by.items() if by == op]:
            del self._blocked_by[handle]
            self._go_on(handle)

    def _go_on(self, handle: int) -> None:
        """Make the waiting calls, up to a send that does not end at once."""
        if handle in self._calling:
            return
        self._calling.add(handle)
        behind = self._behind[handle]
        while behind and handle not in self._blocked_by:
            op, call, sends = behind.popleft()
            if sends:
                self._blocked_by[handle] = op
            call()
        self._calling.remove(handle)
