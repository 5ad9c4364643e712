"""Registrations of both kinds: every PRODUCER and SUBSCRIBE, and its producer or consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay_conformance.history.events import grouped
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, known_owner
from assay_conformance.pulsar.timeline.producers import Producer, ProducerSession


def whose(session: ProducerSession | ConsumerSession | None, at: Event) -> Producer | Consumer | None:
    """Return the producer or consumer of a session at an event; None if that is not known."""
    if isinstance(session, ProducerSession):
        return session.line
    return None if session is None else known_owner(session, at)


class Registered(NamedTuple):
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
        owner = whose(self.session, self.frame)
        return None if owner is None else owner.handle


def registered(producers: Iterable[ProducerSession], consumers: Iterable[ConsumerSession]) -> list[Registered]:
    """Return all registrations, in order."""
    sessions: list[ProducerSession | ConsumerSession] = [*producers, *consumers]
    both = [Registered(session) for session in sessions]
    return sorted(both, key=lambda one: one.frame.seq)


Course = tuple[Producer | Consumer, list[Registered]]
"""A producer or consumer, and its registrations with one topic, in order."""


def registration_courses(registrations: Iterable[Registered]) -> Iterator[Course]:
    """Yield what each producer and consumer that is known registered, topic by topic."""
    owned = ((whose(one.session, one.frame), one) for one in registrations)
    known = [(owner, one) for owner, one in owned if owner is not None and owner.handle is not None]
    for course in grouped(known, lambda one: (id(one[0]), one[1].session.topic)).values():
        yield course[0][0], [one for _, one in course]
