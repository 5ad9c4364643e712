from __future__ import annotations

from bisect import bisect_left

from assay_conformance.model.direction import Direction
from assay_conformance.model.event import FORGED_OR_DOUBLED, Event, Fired, Frame
from assay_conformance.model.fault import Cut, CutHow
from assay_conformance.pulsar.timeline import (
    MS,
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


@check("producer.name-unique-on-topic")
def name_unique_on_topic(timeline: Timeline) -> Says:
    """producer.name-unique-on-topic: at most one producer of a name is registered on a topic, and a name that is free
    is not refused.

    A producer is gone when either side has closed it, or when its connection has ended or was cut by a fault, half-open
    or not. A name is certainly free when the broker had answered its holder's CLOSE_PRODUCER before it was asked for,
    and when a connection of which nothing comes any more had its time to answer since another producer wanted the name.
    Topics that some producer wants for itself have rules of their own, and are not judged.
    """
    names = _Names(timeline)
    yield from each(timeline.served_producers, _judge_alone, timeline, names)
    yield from each(timeline.served_producers, _judge_rightly_refused, timeline, names)


class _Names:
    """Producers by topic and name: those that were admitted, those that registered, and since when it is not judged."""

    def __init__(self, timeline: Timeline) -> None:
        self._admitted: dict[tuple[str, str], list[tuple[int, ServedProducer]]] = {}
        self._asking: dict[tuple[str, str], list[Frame]] = {}
        self._exclusive: dict[str, int] = {}
        for one in timeline.served_producers:
            self._asking.setdefault((one.topic, _asked_name(one)), []).append(one.request)
            if one.successes:
                self._admitted.setdefault((one.topic, one.name), []).append((one.successes[0].seq, one))
            if one.mode != SHARED:
                self._exclusive.setdefault(one.topic, one.request.seq)
        for admitted in self._admitted.values():
            admitted.sort(key=lambda pair: pair[0])

    def holder(self, topic: str, name: str, at: Event) -> ServedProducer | None:
        """Return the last producer that was admitted under a name, gone or not."""
        admitted = self._admitted.get((topic, name), [])
        place = bisect_left(admitted, at.seq, key=lambda pair: pair[0])
        return admitted[place - 1][1] if place else None

    def wanted_ns(self, topic: str, name: str, since: Event | None, at: Event) -> int | None:
        """Return when a producer first asked for the name between two events."""
        asking = self._asking.get((topic, name), []) if since is not None else []
        return next((one.t_ns for one in asking if since is not None and since.seq < one.seq < at.seq), None)

    def are_judged(self, topic: str, at: Event) -> bool:
        """Return whether names are judged: no producer had requested exclusive access to the topic."""
        return self._exclusive.get(topic, at.seq) >= at.seq


def _asked_name(one: ServedProducer) -> str:
    return str(one.request.fields.get("producer_name", ""))


def _end(timeline: Timeline, one: ServedProducer) -> Event | None:
    """Return what ended a producer that was admitted."""
    since = next(iter(one.successes), one.request)
    fired = (cut for cut in timeline.events.of(Fired) if cut.action == "cut" and cut.conn == one.request.conn)
    return one.first_end(next((cut for cut in fired if cut.seq > since.seq), None))


def _silence(timeline: Timeline, holder: ServedProducer) -> Fired | None:
    """Return what ended it, where neither a frame nor the end of the connection reaches the broker any more."""
    end, faults = _end(timeline, holder), timeline.view.case.faults
    cut = faults[end.fault].action if isinstance(end, Fired) and end.fault < len(faults) else None
    silent = isinstance(cut, Cut) and cut.how is CutHow.BLACKHOLE and cut.direction is not Direction.TO_CLIENT
    return end if isinstance(end, Fired) and silent else None


def _judge_alone(timeline: Timeline, names: _Names, one: ServedProducer) -> Says:
    admitted = next(iter(one.successes), None)
    holder = None if admitted is None else names.holder(one.topic, one.name, admitted)
    if admitted is None or holder is None:
        return
    end = _end(timeline, holder)
    if (end is None or end.seq > admitted.seq) and holder.place != one.place and names.are_judged(one.topic, admitted):
        (conn, id), (other_conn, other_id) = one.place, holder.place
        yield breach(
            "two-of-a-name",
            f"producer {id} of connection {conn} was admitted as {one.name} on topic {one.topic} at "
            f"{ms(admitted.t_ns)}, while producer {other_id} of connection {other_conn} had that name, since "
            f"{ms(holder.successes[0].t_ns)}; expected ProducerBusy",
            *(holder.successes[0], admitted),
        )
    if names.wanted_ns(one.topic, one.name, _silence(timeline, holder), admitted) is not None:
        yield Exercised(admitted)


def _judge_rightly_refused(timeline: Timeline, names: _Names, one: ServedProducer) -> Says:
    refusal, name = one.refusal, _asked_name(one)
    if refusal is None or refusal.fields.get("error") != "ProducerBusy" or not names.are_judged(one.topic, refusal):
        return
    holder, before = names.holder(one.topic, name, refusal), names.holder(one.topic, name, one.request)
    if holder is None:
        return
    end, closed = _end(timeline, holder), None if before is None else _closed(timeline, before, one.request)
    silence = _silence(timeline, holder)
    doubted_ns = names.wanted_ns(one.topic, name, silence, refusal)
    if (end is None or end.seq > refusal.seq) and holder.place != one.place:
        yield Exercised(refusal)
    elif closed is not None:
        yield breach(
            "busy-though-free",
            f"producer {one.place[1]} of connection {one.place[0]} was refused the name {name} on topic {one.topic} "
            f"at {ms(refusal.t_ns)}; expected it to be admitted, since the producer that had the name was closed: the "
            f"broker had answered its CLOSE_PRODUCER at {ms(closed.t_ns)}, before this PRODUCER",
            *(closed, refusal),
        )
    elif silence is not None and doubted_ns is not None:
        answers_ns = timeline.topology.settings.liveness_check_ms * MS
        if refusal.t_ns - doubted_ns < answers_ns:
            yield Exercised(refusal)
            return
        yield breach(
            "busy-though-dead",
            f"a producer got ProducerBusy for the name {name} at {ms(refusal.t_ns)}; expected it to be admitted, "
            f"since the connection of the one that has the name was silent from {ms(silence.t_ns)} on, and had "
            f"{ms(answers_ns)} to answer from {ms(doubted_ns)} on, when another producer registered with the name",
            *(silence, refusal),
        )


def _closed(timeline: Timeline, holder: ServedProducer, before: Event) -> Frame | None:
    """Return the answer to the CLOSE_PRODUCER that ended it, where that came first.

    One that crossed the PRODUCER says nothing of what the broker knew when it decided.
    """
    close = _end(timeline, holder)
    if not isinstance(close, Frame) or close.request_id is None or not close.to_receiver:
        return None
    for frame in timeline.events.frames("SUCCESS"):
        answers = (frame.conn, frame.request_id) == (close.conn, close.request_id) and frame.from_sender
        if answers and close.seq < frame.seq < before.seq and frame.fate not in FORGED_OR_DOUBLED:
            return frame
    return None
