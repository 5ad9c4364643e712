"""The timeline's relations about requests and registrations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from assay_conformance.checks.base import View
from assay_conformance.history.events import grouped
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline.answering import Answering
from assay_conformance.pulsar.timeline.consumers import ConsumerSession
from assay_conformance.pulsar.timeline.letters import Letters
from assay_conformance.pulsar.timeline.producers import Producer, ProducerSession
from assay_conformance.pulsar.timeline.registering import Registration, registrations
from assay_conformance.pulsar.timeline.requests import Request, requests


class Requesting(Answering):
    """The part of a timeline about requests, and the registrations of producers."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._requests: dict[tuple[str, ...], list[Request]] = {}

    def requests(self, *commands: str) -> list[Request]:
        """Return what clients wrote of these commands, with the answers."""
        found = self._requests.get(commands)
        if found is None:
            found = self._requests[commands] = requests(self.events, self.answers_to_requests, *commands)
        return found

    @cached_property
    def registrations(self) -> list[Registration]:
        """Every PRODUCER and SUBSCRIBE, in order."""
        return registrations(self.producer_sessions, self.consumer_sessions.all, self._answers_to_registrations)

    @cached_property
    def producer_registrations(self) -> list[Registration]:
        """Every PRODUCER, in order."""
        return [one for one in self.registrations if one.kind == "producer"]

    def registrations_of(self, producer: Producer) -> Sequence[Registration]:
        """Return every PRODUCER of one."""
        return self._registrations_by_producer.get(id(producer), ())

    @cached_property
    def _registrations_by_producer(self) -> dict[int, list[Registration]]:
        return grouped(self.producer_registrations, lambda one: id(one.producer))

    def had_been_admitted(self, registration: Registration) -> bool:
        """Return whether its producer had been admitted before, on another session, when it was refused."""
        line, refusal = registration.producer, registration.refusal
        if line is None or refusal is None:
            return False
        return any(one.was_admitted(refusal) for one in line.sessions)

    def local_topic(self, frame: Frame) -> str:
        """Return the topic that a frame names, by its name in the Case."""
        return self.local_name(str(frame.fields.get("topic", "")))

    def registered(self, frame: Frame) -> ProducerSession | ConsumerSession | None:
        """Return the producer or consumer on its connection that a frame is about."""
        return self.session_of(frame) or self.consumer_sessions.of(frame)

    def local_name(self, full: str) -> str:
        """Return a topic by its name in the Case."""
        return self._tracker.local_topic(full)

    @cached_property
    def letters(self) -> Letters:
        """Copies that clients sent to retry and dead letter topics."""
        requests = self.requests("LOOKUP", "PARTITIONED_METADATA", "PRODUCER")
        return Letters(self.view, self.events, self.answers, requests)
