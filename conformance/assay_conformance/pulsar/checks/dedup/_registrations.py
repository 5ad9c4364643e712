"""Registrations of producers as a broker sees them: a repeated one is answered again, without a last sequence id."""

from __future__ import annotations

from assay_conformance.checks.base import Check, on
from assay_conformance.model.event import Fate, Frame
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID


class Registrations:
    """PRODUCER requests whose answers carry a last sequence id, and the producers that are registered."""

    def __init__(self) -> None:
        self._requests: dict[tuple[int, int], Frame] = {}
        self._registered: set[tuple[int, int]] = set()
        """(connection, producer id)."""

    def ask(self, event: Frame) -> None:
        """Take a PRODUCER."""
        if not event.to_receiver or event.request_id is None:
            return
        if _producer(event) not in self._registered and event.fate is not Fate.DUPLICATED:
            self._requests[event.conn, event.request_id] = event
        self._registered.add(_producer(event))

    def close(self, event: Frame) -> None:
        """Take a CLOSE_PRODUCER."""
        if event.at_broker:
            self._registered.discard(_producer(event))

    def refuse(self, event: Frame) -> None:
        """Take an ERROR: the next attempt is a first registration again."""
        request = self.answered(event)
        if request is not None:
            self._registered.discard(_producer(request))

    def answered(self, event: Frame) -> Frame | None:
        """Return the PRODUCER that this answers, once; None where the answer carries no last sequence id."""
        return self._requests.pop((event.conn, event.request_id or 0), None)


class LastIdCheck(Check):
    """Calls `last_id_reported` with each answer in which a broker names the last sequence id of a producer name."""

    def start(self) -> None:
        self._registrations = Registrations()

    @on(Frame, "PRODUCER")
    def producer_requested(self, event: Frame) -> None:
        self._registrations.ask(event)

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        self._registrations.close(event)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        self._registrations.refuse(event)

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        if not event.from_sender or event.fate is Fate.INJECTED or event.fields.get("producer_ready") is False:
            return
        request = self._registrations.answered(event)
        if request is not None:
            topic = self.tracker.local_topic(str(request.fields.get("topic")))
            last_id = int(event.fields.get("last_sequence_id", NO_SEQUENCE_ID))
            self.last_id_reported(topic, str(event.fields.get("producer_name")), last_id, event)

    def last_id_reported(self, topic: str, name: str, last_id: int, event: Frame) -> None:
        """`last_id`: NO_SEQUENCE_ID where the name has none."""


def _producer(event: Frame) -> tuple[int, int]:
    return event.conn, event.producer_id or 0
