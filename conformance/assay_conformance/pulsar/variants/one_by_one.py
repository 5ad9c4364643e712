"""Clients that do one by one what others do together."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.producer import Producer
from assay_conformance.client.seeking import Place, Seeking, Sought
from assay_conformance.client.values import Result
from assay_conformance.model.facts import Lack


class SeeksQueue(Seeking):
    """A seek that is called while another one is under way waits until that has ended."""

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
    """A producer has no flush: its open batch leaves when it is full, or its time is over."""

    as_in = "clients that send each message at once"
    within = ("batching.partial-batch-needs-reason", "producer.close-ends-pending-sends")
    declares: ClassVar = {"lacks": frozenset({Lack.FLUSH})}


class FlushesBatchesOnly(Producer):
    """A producer that does not batch has no flush."""

    as_in = "Rust client, producer.rs: send_batch of a producer without batching is an error"
    within = ("producer.flush-waits",)
    declares: ClassVar = {"lacks": frozenset({Lack.FLUSH_WITHOUT_BATCHING})}


class SeeksOneByOne(Consumer):
    """The application cannot call seek while another one goes on: the call has the consumer for itself."""

    as_in = "Rust client, Consumer::seek takes &mut self"
    within = ("seek.starts-at-target",)
    declares: ClassVar = {"lacks": frozenset({Lack.OVERLAPPING_SEEKS})}
