"""Who may produce on a topic: the access modes of PIP-68.

    Shared                beside other Shared ones; not beside, and not in front of, one that holds or awaits the topic
    Exclusive             alone, or refused
    WaitForExclusive      alone, or in the queue until no other is left
    ExclusiveWithFencing  alone: all others, in the queue too, are fenced

Each producer that gets a topic for itself moves the topic's epoch on; one that had it before and comes back names the
epoch it had, and is fenced when another has been there since.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

from assay_conformance.broker.rules import RefusalError
from assay_conformance.wire.pulsar_pb2 import ProducerAccessMode, ServerError

if TYPE_CHECKING:
    from assay_conformance.broker.producer import Producer


class Entrance(Enum):
    """What becomes of a producer that asks for a topic and is not refused."""

    GRANTED = "granted"
    QUEUED = "queued"
    FENCES = "fences"
    """Granted once all other producers are closed."""


class Access:
    """One topic's. `holder` has it for itself; `epoch` is None until a producer had."""

    __slots__ = ("epoch", "holder", "waiting")

    def __init__(self) -> None:
        self.holder: Producer | None = None
        self.waiting: deque[Producer] = deque()
        self.epoch: int | None = None

    def ask(self, producer: Producer, *, occupied: bool) -> Entrance:
        """Admit a producer that asks for the topic; `occupied` when it has any producer. Raises RefusalError."""
        mode = producer.access_mode
        if mode == ProducerAccessMode.Shared:
            if self.holder is not None or self.waiting:
                raise RefusalError(ServerError.ProducerBusy, self._taken())
            return Entrance.GRANTED
        if mode == ProducerAccessMode.ExclusiveWithFencing:
            return Entrance.FENCES
        if mode == ProducerAccessMode.WaitForExclusive and occupied:
            self.waiting.append(producer)
            return Entrance.QUEUED
        if mode == ProducerAccessMode.Exclusive and (occupied or self.waiting):
            raise RefusalError(ServerError.ProducerFenced, self._taken())
        self.hold(producer)
        return Entrance.GRANTED

    def hold(self, producer: Producer) -> None:
        """Give the topic to one that asked. Raises RefusalError where it had it in an epoch that is over."""
        if producer.topic_epoch is not None and producer.topic_epoch < self._epoch():
            text = f"Topic epoch has already moved. Current epoch: {self.epoch}, producer's: {producer.topic_epoch}"
            raise RefusalError(ServerError.ProducerFenced, text)
        self._take(producer)

    def left(self, producer: Producer, *, occupied: bool) -> Producer | None:
        """Remove a producer; return the next in the queue when no other is left. One that leaves while it waits keeps
        its place, is admitted in its turn, and goes then: the epoch has moved on."""
        if producer in self.waiting:
            return None
        if producer is self.holder:
            self.holder = None
        while not occupied and self.waiting:
            # A producer that waited is not asked for its epoch again: a real broker goes back to it.
            following = self.waiting.popleft()
            self._take(following)
            if not following.gone:
                return following
            self.holder = None
        return None

    def _take(self, producer: Producer) -> None:
        self.holder = producer
        self.epoch = self._epoch() + 1 if producer.topic_epoch is None else producer.topic_epoch

    def _epoch(self) -> int:
        return -1 if self.epoch is None else self.epoch

    def _taken(self) -> str:
        if self.holder is not None:
            return f"Topic has an existing exclusive producer: {self.holder.name}"
        return "Topic has other producers, or one that waits for it"
