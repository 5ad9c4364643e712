"""Registrations of both kinds: every PRODUCER and SUBSCRIBE, its producer or consumer, and what was answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay_conformance.history.events import grouped
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, known_owner
from assay_conformance.pulsar.timeline.producers import Producer, ProducerSession
from assay_conformance.pulsar.timeline.requests import Answers

Owner = Producer | Consumer


def whose(session: ProducerSession | ConsumerSession | None, at: Event) -> Owner | None:
    """Return the producer or consumer of a session at an event; None if that is not known."""
    if isinstance(session, ProducerSession):
        return session.line
    return None if session is None else known_owner(session, at)


class Registration(NamedTuple):
    """A PRODUCER or SUBSCRIBE: the session that it asks for, what was answered first, and the ERROR that refuses it, if
    one does."""

    session: ProducerSession | ConsumerSession
    answer: Frame | None = None
    refusal: Frame | None = None

    @property
    def frame(self) -> Frame:
        """The PRODUCER or SUBSCRIBE."""
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
    def owner(self) -> Owner | None:
        """Whose it is; None where any of several may have written it."""
        return whose(self.session, self.frame)

    @property
    def producer(self) -> Producer | None:
        """Its owner, where that is a producer."""
        return self.session.line if isinstance(self.session, ProducerSession) else None

    @property
    def handle(self) -> int | None:
        """Of its owner."""
        owner = self.owner
        return None if owner is None else owner.handle

    @property
    def error(self) -> str | None:
        """What it was refused with."""
        return None if self.refusal is None else self.refusal.fields.get("error")


def registrations(
    producers: Iterable[ProducerSession], consumers: Iterable[ConsumerSession], answers: Answers
) -> list[Registration]:
    """Return all registrations, in order."""
    found = []
    sessions: list[ProducerSession | ConsumerSession] = [*producers, *consumers]
    for session in sessions:
        errors = (one for one in answers.all_to(session.request) if one.command == "ERROR")
        found.append(Registration(session, answers.to(session.request), next(errors, None)))
    return sorted(found, key=lambda one: one.frame.seq)


def by_owner(registrations: Iterable[Registration]) -> Iterator[tuple[Owner, list[Registration]]]:
    """Yield what each producer and consumer that is known registered, topic by topic, in order."""
    known = [(owner, one) for one in registrations if (owner := one.owner) is not None]
    for found in grouped(known, lambda one: (id(one[0]), one[1].session.topic)).values():
        yield found[0][0], [one for _, one in found]
