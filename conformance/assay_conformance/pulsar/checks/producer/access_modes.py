from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay_conformance.model.event import FORGED_OR_DOUBLED, Closed, Event, Frame
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    SHARED,
    Exercised,
    Says,
    ServedProducer,
    Timeline,
    breach,
    check,
    each,
    ms,
)

FENCES = "ExclusiveWithFencing"


@check("producer.access-modes")
def access_modes(timeline: Timeline) -> Says:
    """producer.access-modes: no producer is admitted beside one with exclusive access (PIP-68); one that waits is
    admitted when all others are gone; and one that is fenced sends no more.

    A producer is gone when either side has closed it, when its connection has ended, or when another one has fenced it:
    a broker need not report the last before it sends again.
    """
    for lives in _lives(timeline):
        yield from each(lives, _judge_beside, timeline, lives)
        yield from each(lives, _sends_though_fenced, timeline)
        yield from each(_freed(lives), _gets_its_topic, timeline)


@dataclass(slots=True, eq=False)
class _Life:
    """A producer at its broker, and what ended it there."""

    served: ServedProducer
    gone: Event | None
    fenced: Frame | None = None

    @property
    def admitted(self) -> Frame | None:
        """Let in, before it was gone."""
        admitted = self.served.admitted
        return admitted if admitted is not None and not self.is_gone(admitted) else None

    def is_gone(self, event: Event) -> bool:
        return self.gone is not None and self.gone.seq < event.seq

    def is_there(self, event: Event) -> bool:
        return self.admitted is not None and self.admitted.seq < event.seq and not self.is_gone(event)

    def is_there_behind(self, event: Event) -> bool:
        there = self.admitted is not None and self.admitted.seq <= event.seq
        return there and not (self.gone is not None and self.gone.seq <= event.seq)

    def waits_behind(self, event: Event) -> bool:
        waits, admitted = self.served.waits, self.admitted
        waiting = waits is not None and waits.seq < event.seq and (admitted is None or admitted.seq > event.seq)
        return waiting and (self.gone is None or self.gone.seq > event.seq)

    def __str__(self) -> str:
        return f"{self.served.mode} producer {self.served.request.producer_id} of connection {self.served.request.conn}"


def _lives(timeline: Timeline) -> Iterator[list[_Life]]:
    """Yield the producers of each topic that is not simply shared."""
    topics: dict[str, list[_Life]] = {}
    for one in timeline.served_producers:
        topics.setdefault(one.topic, []).append(_Life(one, one.first_end(one.refusal, one.replaced)))
    for lives in topics.values():
        if any(life.served.mode != SHARED or life.served.waits for life in lives):
            _fence(lives)
            yield lives


def _fence(lives: Sequence[_Life]) -> None:
    """End all other producers where one fences.

    They are ended before the broker looks whether the epoch of the one that fences has moved on: so they are, too,
    where it is refused for that.
    """
    fencing = [(answer, life) for life in lives if life.served.mode == FENCES for answer in life.served.answers]
    for answer, life in sorted(fencing, key=lambda pair: pair[0].seq):
        admits = answer is life.admitted
        if admits or (answer is life.served.refusal and answer.fields.get("error") == "ProducerFenced"):
            for other in lives:
                if other is not life and other.is_there(answer):
                    other.gone, other.fenced = answer, answer if admits else None


def _judge_beside(timeline: Timeline, lives: Sequence[_Life], life: _Life) -> Says:
    served, admitted = life.served, life.admitted
    for answer in (served.waits, admitted if served.mode == FENCES else None, served.refusal):
        others = [other for other in lives if other is not life and answer is not None and other.is_there(answer)]
        counts = answer is admitted or (others and (answer is served.waits or served.mode == "Exclusive"))
        if answer is not None and counts:
            yield Exercised(answer)
    for other in lives if admitted is not None and served.mode != FENCES else ():
        there = other.served.admitted
        if admitted is None or there is None or other is life or not other.is_there(admitted):
            continue
        if {served.mode, other.served.mode} == {SHARED} or other.served.request.fields.get(
            "producer_name"
        ) == served.name:
            continue
        # The end of a connection may be seen a moment after a broker has acted on it.
        if isinstance(other.gone, Closed) and other.gone.t_ns <= admitted.t_ns + IN_FLIGHT_NS:
            continue
        yield breach(
            "beside-another",
            f"{life} was admitted to {served.topic} at {ms(admitted.t_ns)}; expected it to be refused or to wait, "
            f"since {other} had been admitted at {ms(there.t_ns)}",
            *(there, admitted),
        )


def _sends_though_fenced(timeline: Timeline, life: _Life) -> Says:
    fenced, next_one = life.fenced, life.served.replaced
    for receipt in timeline.events.frames("SEND_RECEIPT") if fenced is not None else ():
        own = (receipt.conn, receipt.producer_id) == life.served.place and receipt.from_sender
        if fenced is None or not own or receipt.seq < fenced.seq or receipt.fate in FORGED_OR_DOUBLED:
            continue
        if receipt.t_ns > fenced.t_ns + IN_FLIGHT_NS and (next_one is None or receipt.seq < next_one.seq):
            yield breach(
                "fenced-still-sends",
                f"{life} was fenced on {life.served.topic} at {ms(fenced.t_ns)}; expected no receipt after that; its "
                f"sequence id {receipt.sequence_id} got one at {ms(receipt.t_ns)}",
                *(fenced, receipt),
            )


def _freed(lives: Sequence[_Life]) -> Iterator[tuple[_Life, Event]]:
    """Yield the first of those that wait for the topic, and the end of the last one there."""
    ends = {life.gone.seq: life.gone for life in lives if life.gone is not None and life.is_there(life.gone)}
    for _, end in sorted(ends.items()):
        waiting = next((life for life in lives if life.waits_behind(end)), None)
        if waiting is not None and not any(life.is_there_behind(end) for life in lives):
            yield waiting, end


def _gets_its_topic(timeline: Timeline, freed: tuple[_Life, Event]) -> Says:
    waiting, end = freed
    until_ns = timeline.bounds.until(waiting.gone)
    if waiting.admitted is None and timeline.bounds.is_surely_overdue("answer", end.t_ns, until_ns):
        yield breach(
            "kept-waiting",
            f"{waiting} waited for {waiting.served.topic}; its last other producer was gone at {ms(end.t_ns)}; "
            f"expected it to be admitted; it had not been by {ms(until_ns)}",
            *(waiting.served.request, end),
        )
