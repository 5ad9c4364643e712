"""Registrations of both kinds: every PRODUCER and SUBSCRIBE, and whose it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline.consumers import ConsumerSession, known_owner
from assay_conformance.pulsar.timeline.producers import ProducerSession


@dataclass(frozen=True, slots=True)
class Registered:
    """A PRODUCER or SUBSCRIBE, and the session that it asks for."""

    session: ProducerSession | ConsumerSession

    @property
    def frame(self) -> Frame:
        """What was written."""
        return self.session.request

    @property
    def kind(self) -> str:
        """What it registers: `producer` or `consumer`."""
        return "producer" if isinstance(self.session, ProducerSession) else "consumer"

    @property
    def id(self) -> int:
        """Of the producer or consumer, on its connection."""
        return self.session.producer_id if isinstance(self.session, ProducerSession) else self.session.consumer_id

    @property
    def handle(self) -> int | None:
        """Of the producer or consumer; None where any of several may have written it."""
        if isinstance(self.session, ProducerSession):
            return None if self.session.line is None else self.session.line.handle
        owner = known_owner(self.session, self.frame)
        return None if owner is None else owner.handle


def registered(producers: Iterable[ProducerSession], consumers: Iterable[ConsumerSession]) -> list[Registered]:
    """All of them, in order."""
    sessions: list[ProducerSession | ConsumerSession] = [*producers, *consumers]
    both = [Registered(session) for session in sessions]
    return sorted(both, key=lambda one: one.frame.seq)
