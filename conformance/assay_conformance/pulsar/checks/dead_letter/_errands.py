"""Errands: messages on their way to a letter topic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import Call, Consumer, ConsumerSession, Entry
from assay_conformance.pulsar.timeline.letters import Letter


@dataclass(slots=True, eq=False)
class Errand:
    """One message on its way to a letter topic. `source` is the entry to settle: the original, or a copy that came
    back. `waits_ns` is since when the client has to act; None while the broker has to. `is_ready`: its letter had a
    producer to go by. `is_over`: its letter was refused, by its own client perhaps, before it left, and the original
    comes again with a new connection; some clients send the letter again, too."""

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
        """What it came to."""
        return self.receipt or self.failure or self.cause


class Cause(NamedTuple):
    """A message becomes a letter from this event on. `is_new`: only where it is not on its way already."""

    event: Event
    consumer: Consumer
    source: Entry
    since_ns: int
    is_new: bool = False


class Way(Enum):
    """How an errand, or the client's chance to act, ended."""

    ACKED = "its client acknowledged it"
    ASKED_FOR = "its client asked for it again"
    OVER = "its session, or its consumer, was over"


class Ended(NamedTuple):
    """An errand as it was at its end. `session`: where the original can be settled. `asked_before`: the last time that
    it was asked for instead of a letter."""

    errand: Errand
    way: Way
    session: ConsumerSession | None
    event: Event
    asked_before: Frame | None = None


class Course(NamedTuple):
    """Everything that messages came to, in order. `unsettled`: of the calls that were asked about, those whose message
    was neither settled then nor on its way to a letter topic."""

    ended: list[Ended]
    unsettled: list[Call]
