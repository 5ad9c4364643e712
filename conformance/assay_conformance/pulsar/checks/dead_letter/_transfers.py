"""Transfers: messages on their way to a letter topic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import Call, Consumer, ConsumerSession, Entry
from assay_conformance.pulsar.timeline.letters import Letter


@dataclass(slots=True, eq=False)
class Transfer:
    """One message on its way to a letter topic. `source` is the entry to settle: the original, or a copy that came
    back. `waits_ns` is since when the client has to act; None while the broker has to. `is_ready`: its letter had a
    producer to go by. `is_over`: its letter was refused, by its own client perhaps, before it left, and the original
    is redelivered on a new connection; some clients send the letter again, too."""

    consumer: Consumer
    source: Entry
    cause: Event
    waits_ns: int | None
    letter: Letter | None = None
    receipt: Frame | None = None
    failure: Frame | None = None
    is_ready: bool = False
    is_over: bool = False

    @property
    def last(self) -> Event:
        """The last event of it."""
        return self.receipt or self.failure or self.cause


class Cause(NamedTuple):
    """A message becomes a letter from this event on. `is_new`: only where it is not on its way already."""

    event: Event
    consumer: Consumer
    source: Entry
    since_ns: int
    is_new: bool = False


class TransferEnd(Enum):
    """How a transfer, or the client's chance to act on it, ended."""

    ACKED = "its client acknowledged it"
    REDELIVERY_REQUESTED = "its client requested its redelivery"
    OVER = "its session, or its consumer, was over"


class EndedTransfer(NamedTuple):
    """A transfer as it was at its end. `session`: where the original can be settled. `asked_before`: the last time that
    its redelivery was requested in place of a letter."""

    transfer: Transfer
    way: TransferEnd
    session: ConsumerSession | None
    event: Event
    asked_before: Frame | None = None


class TransferOutcomes(NamedTuple):
    """All ends of transfers, in order. `unsettled`: of the calls that were asked about, those whose message was then
    neither settled nor on its way to a letter topic."""

    ended: list[EndedTransfer]
    unsettled: list[Call]
