"""Access modes: who may produce on a topic beside whom (PIP-68), as the broker's answers show it.

Gone is a producer that either side closed, whose connection ended, or whose topic another one took by fencing: a broker
need not tell the last of these before it sends again.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.model.event import FORGED_OR_DOUBLED, Closed, Event, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True, eq=False)
class _Producer:
    """One PRODUCER as the broker got it. `gone` is what ended it."""

    request: Frame
    topic: str
    mode: str
    answer: Frame | None = None
    waiting: bool = False
    gone: Event | None = None
    fenced: Frame | None = None

    @property
    def there(self) -> bool:
        return self.answer is not None and not self.waiting and self.gone is None

    def __str__(self) -> str:
        return f"{self.mode} producer {self.request.producer_id} of connection {self.request.conn}"


class AccessModes(Check):
    """Nobody beside one that has the topic for itself; who waits gets it when all are gone; who is fenced is out."""

    requirement = RequirementId("producer.access-modes")
    needs = (Trait.ACCESS_MODE,)

    def start(self) -> None:
        self._producers: dict[tuple[int, int], _Producer] = {}
        self._asked: dict[tuple[int, int], _Producer] = {}
        self._beside: list[tuple[_Producer, _Producer]] = []
        self._free: list[tuple[_Producer, Event]] = []
        """Who waits for a topic, and the end of the last one there."""

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if not event.to_receiver or event.fate in FORGED_OR_DOUBLED or event.producer_id is None:
            return
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        place = (event.conn, event.producer_id)
        before = self._producers.get(place)
        if before is not None and before.gone is None:
            self._goes(before, event)
        producer = _Producer(event, topic, str(event.fields.get("producer_access_mode", "Shared")))
        self._producers[place] = self._asked[event.conn, event.request_id or 0] = producer

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        producer = self._asked.get((event.conn, event.request_id or 0))
        if producer is None or not event.from_sender or event.fate in FORGED_OR_DOUBLED or producer.gone is not None:
            return
        if event.fields.get("producer_ready") is False:
            producer.waiting, producer.answer = True, event
            if self._others(producer):
                self.exercise(event)
            return
        others = self._others(producer)
        producer.waiting, producer.answer = False, event
        self._free = [(waiting, end) for waiting, end in self._free if waiting is not producer]
        if producer.mode == "ExclusiveWithFencing":
            for other in others:
                other.fenced = event
                self._goes(other, event)
            self.exercise(event)
            return
        same = event.fields.get("producer_name")
        self._beside.extend(
            (producer, other)
            for other in others
            if {producer.mode, other.mode} != {"Shared"} and other.request.fields.get("producer_name") != same
        )

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        producer = self._asked.pop((event.conn, event.request_id or 0), None)
        if producer is None or not event.from_sender or event.fate in FORGED_OR_DOUBLED:
            return
        if producer.mode == "Exclusive" and self._others(producer):
            self.exercise(event)
        if producer.mode == "ExclusiveWithFencing" and event.fields.get("error") == "ProducerFenced":
            # Others are thrown out before it is looked whether the epoch of the one that fences has moved on.
            for other in self._others(producer):
                self._goes(other, event)
        self._goes(producer, event)

    @on(Frame, "CLOSE_PRODUCER")
    def closed(self, event: Frame) -> None:
        producer = self._producers.get((event.conn, event.producer_id or 0))
        acts = event.to_receiver if event.dir is Direction.TO_BROKER else event.from_sender
        if producer is not None and acts and producer.gone is None:
            self._goes(producer, event)

    @on(Closed)
    def lost(self, event: Closed) -> None:
        for (conn, _), producer in self._producers.items():
            if conn == event.conn and producer.gone is None:
                self._goes(producer, event)

    @on(Frame, "SEND_RECEIPT")
    def receipted(self, event: Frame) -> None:
        producer = self._producers.get((event.conn, event.producer_id or 0))
        fenced = None if producer is None else producer.fenced
        if producer is None or fenced is None or not event.from_sender or event.fate in FORGED_OR_DOUBLED:
            return
        if event.t_ns > fenced.t_ns + IN_FLIGHT_NS:
            self.breach(
                "fenced-still-sends",
                f"{producer} was fenced out of {producer.topic} at {ms(fenced.t_ns)}, and sequence id "
                f"{event.sequence_id} of it got a receipt at {ms(event.t_ns)}",
                fenced,
                event,
            )

    def finish(self) -> None:
        for producer, other in self._beside:
            answer = producer.answer
            # The end of a connection may be seen a moment after a broker has acted on it.
            lost = other.gone if isinstance(other.gone, Closed) else None
            if answer is None or (lost is not None and lost.t_ns <= answer.t_ns + IN_FLIGHT_NS):
                continue
            self.breach(
                "beside-another",
                f"{producer} was admitted to {producer.topic} at {ms(answer.t_ns)}, while {other} was there since "
                f"{ms(other.answer.t_ns if other.answer else 0)}",
                *([other.answer] if other.answer else []),
                answer,
            )
        for waiting, end in self._free:
            until_ns = self.tracker.end_ns if waiting.gone is None else waiting.gone.t_ns
            timing = self.tracker.load.timing(end.t_ns, end.t_ns, until_ns, TOLERANCES["answer"])
            if timing is Timing.LATE:
                self.breach(
                    "kept-waiting",
                    f"{waiting} waited for {waiting.topic}; the last one there went at {ms(end.t_ns)}, and it had not "
                    f"been admitted by {ms(until_ns)}",
                    waiting.request,
                    end,
                )

    def _others(self, producer: _Producer) -> list[_Producer]:
        return [p for p in self._asked.values() if p is not producer and p.topic == producer.topic and p.there]

    def _goes(self, producer: _Producer, event: Event) -> None:
        """It is gone; whoever waits first for a topic that nobody has any more is to get it."""
        was_there = producer.there
        producer.gone = event
        waiting = [p for p in self._asked.values() if p.topic == producer.topic and p.waiting and p.gone is None]
        if was_there and waiting and not self._others(producer):
            self._free.append((waiting[0], event))
