"""Registrations of producers as a broker hears them: what is asked for again is answered as it was, without an id."""

from __future__ import annotations

from assay_conformance.checks.base import Check, on
from assay_conformance.model.event import Fate, Frame
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID


class Registrations:
    """The PRODUCERs whose answers tell a last sequence id, and who is there already."""

    def __init__(self) -> None:
        self._asked: dict[tuple[int, int], Frame] = {}
        self._there: set[tuple[int, int]] = set()
        """Producers on a connection."""

    def ask(self, event: Frame) -> None:
        """A PRODUCER."""
        if not event.to_receiver or event.request_id is None:
            return
        if _producer(event) not in self._there and event.fate is not Fate.DUPLICATED:
            self._asked[event.conn, event.request_id] = event
        self._there.add(_producer(event))

    def close(self, event: Frame) -> None:
        """A CLOSE_PRODUCER."""
        if event.at_broker:
            self._there.discard(_producer(event))

    def refuse(self, event: Frame) -> None:
        """An ERROR: who comes again comes for the first time."""
        request = self.answered(event)
        if request is not None:
            self._there.discard(_producer(request))

    def answered(self, event: Frame) -> Frame | None:
        """The PRODUCER that this is the answer to, once; None where its answer tells nothing."""
        return self._asked.pop((event.conn, event.request_id or 0), None)


class LastIdCheck(Check):
    """Is `told` each answer of a broker that says which sequence id was the last of a producer's name."""

    def start(self) -> None:
        self._registrations = Registrations()

    @on(Frame, "PRODUCER")
    def asked(self, event: Frame) -> None:
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
            self.told(topic, str(event.fields.get("producer_name")), last_id, event)

    def told(self, topic: str, name: str, last_id: int, event: Frame) -> None:
        """`last_id`: NO_SEQUENCE_ID where there is none."""


def _producer(event: Frame) -> tuple[int, int]:
    return event.conn, event.producer_id or 0
