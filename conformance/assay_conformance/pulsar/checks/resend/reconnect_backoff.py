from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.history.events import between
from assay_conformance.model.event import Closed, Event, Fired, Frame, Outcome
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Exercised,
    Producer,
    Registration,
    Says,
    Timeline,
    TooBusyError,
    breach,
    check,
    each,
    ms,
)

LEAST_ATTEMPTS = 3
"""Refused attempts in a row from which on the waits between them must have grown."""

LEAST_GROWTH = 2
"""By so much: the first and the third wait of a doubling backoff are four times apart, jitter aside."""


_WHETHER_THEY_GROW = "whether waits grow"

LONG_ENOUGH_NS = 7_000 * MS
"""For so many attempts: even waits that double from a second, ten times what the first one is to be, take no longer."""


@dataclass(slots=True)
class _Outage:
    """Refused PRODUCERs of a producer, one after the other, and those that followed. `let_in`: the PRODUCER_SUCCESS
    that ended it; `back`: the next PRODUCER after that."""

    producer: Producer
    refusals: list[Frame] = field(default_factory=list)
    attempts: list[Frame] = field(default_factory=list)
    let_in: Frame | None = None
    back: Frame | None = None


def _outages(timeline: Timeline) -> Iterator[_Outage]:
    """Yield the outages."""
    under_way: dict[Producer, _Outage] = {}
    admitted: set[Producer] = set()
    for one in timeline.producer_registrations:
        producer, answer = one.producer, one.answer
        if producer is None or _opens_again(timeline, one, producer in admitted):
            continue
        if one.session.admitted is not None:
            admitted.add(producer)
        outage = under_way.get(producer)
        if outage is not None and outage.let_in is not None:
            outage.back = one.frame
            del under_way[producer]
            outage = None
        elif outage is not None:
            outage.attempts.append(one.frame)
        if answer is not None and answer.command == "ERROR":
            if outage is None:
                outage = under_way[producer] = _Outage(producer)
                yield outage
            outage.refusals.append(answer)
        elif answer is not None and outage is not None:
            outage.let_in = answer


def _opens_again(timeline: Timeline, one: Registration, is_admitted: bool) -> bool:
    """Return whether it is opened once more, not on its way back.

    Behind an open call that failed, or of which this partition was no part yet, each send may open it (a lazy start),
    or each update of the partitions (Java client, PartitionedProducerImpl: onTopicsExtended).
    """
    call = timeline.opening_of(one.producer.handle if one.producer is not None else None)
    end = None if call is None else timeline.end_of(call.op)
    is_open = is_admitted and end is not None and end.outcome is Outcome.OK
    return call is None or (end is not None and end.seq < one.frame.seq and not is_open)


def _tries_too_seldom(timeline: Timeline) -> Says:
    """Judge an outage long enough for waits to grow, in which the client tried too seldom to show it."""
    for outage in list(_outages(timeline)):
        first, closing = outage.refusals[0], timeline.closing(timeline.handle(outage.producer))
        ends = (outage.let_in, closing, timeline.ended, between(timeline.losses, first, None).first)
        until = min((end for end in ends if end is not None), key=lambda end: end.seq)
        attempts = [one for one in outage.attempts if one.seq < until.seq]
        if len(attempts) >= LEAST_ATTEMPTS or until.t_ns - first.t_ns < LONG_ENOUGH_NS:
            continue
        timeline.bounds.check_fair("answer", first.t_ns, until.t_ns, what="how often a client tries")
        yield breach(
            "tries-too-seldom",
            f"{outage.producer} was refused at {ms(first.t_ns)} and tried again {len(attempts)} times by "
            f"{ms(until.t_ns)}; expected {LEAST_ATTEMPTS} attempts at least, with waits that grow from about 100 ms",
            *(first, *attempts[-1:]),
        )


@check("resend.reconnect-backoff", keeps_away=_tries_too_seldom)
def reconnect_backoff(timeline: Timeline) -> Says:
    """resend.reconnect-backoff: the back-off between refused attempts grows, and starts at its initial value again
    after a success.

    The first wait ends with the first LOOKUP or PRODUCER after the refusal, later ones with PRODUCER alone: what else
    is slow about an attempt must neither hide growth nor look like it.
    """
    outages = list(_outages(timeline))
    yield from each(outages, _waits_grow, timeline)
    yield from each(outages, _starts_small_again, timeline)


def _waits_grow(timeline: Timeline, outage: _Outage) -> Says:
    if len(outage.attempts) < LEAST_ATTEMPTS:
        return
    first, attempt = outage.refusals[0], outage.attempts[LEAST_ATTEMPTS - 1]
    # Waits for another connection are none between refusals.
    if between(timeline.losses, first, attempt) or _may_be_cut_short(timeline, outage, attempt):
        return
    waits_ns = [_wait_ns(timeline, outage, place) for place in range(LEAST_ATTEMPTS)]
    if waits_ns[-1] >= LEAST_GROWTH * waits_ns[0]:
        yield Exercised(attempt)
        return
    timeline.bounds.check_fair("answer", first.t_ns, attempt.t_ns, what=_WHETHER_THEY_GROW)
    _check_first_wait(timeline, outage, waits_ns)
    times = sum(refusal.seq < attempt.seq for refusal in outage.refusals)
    yield breach(
        "does-not-grow",
        f"{outage.producer} was refused {times} times from {ms(first.t_ns)} on and tried again after "
        f"{', '.join(ms(wait_ns) for wait_ns in waits_ns)}; expected waits that grow",
        *(first, attempt),
    )


def _check_first_wait(timeline: Timeline, outage: _Outage, waits_ns: list[int]) -> None:
    """Raise `TooBusyError` where the machine may have made the first wait, the shortest, so long that others do not
    seem to grow."""
    since_ns = outage.refusals[0].t_ns
    own_ns = timeline.bounds.own_ns(since_ns, since_ns + waits_ns[0])
    if waits_ns[-1] >= LEAST_GROWTH * own_ns:
        raise TooBusyError(f"the machine was too busy to say {_WHETHER_THEY_GROW}")


def _wait_ns(timeline: Timeline, outage: _Outage, place: int) -> int:
    """Return the wait from the last refusal before an attempt to that."""
    attempt, first = outage.attempts[place], outage.refusals[0]
    refused = next(refusal for refusal in reversed(outage.refusals) if refusal.seq < attempt.seq)
    lookups = (one for one in timeline.events.frames("LOOKUP") if first.seq < one.seq < attempt.seq)
    ours = (one for one in lookups if timeline.local_topic(one) == outage.producer.topic)
    return (attempt if place else next(ours, attempt)).t_ns - refused.t_ns


def _may_be_cut_short(timeline: Timeline, outage: _Outage, attempt: Frame) -> bool:
    """Return whether it may be cut short: Java and C++ shorten one wait to attempt just before the send time-out."""
    producer = outage.producer
    timeout_ms = timeline.view.producer_setting(timeline.handle(producer), "send_timeout_ms")
    admitted = [one.admitted for one in producer.sessions if one.admitted and one.admitted.seq < attempt.seq]
    since = admitted[-1] if admitted else timeline.opening(producer)
    return since is not None and 0 < int(timeout_ms or 0) * MS < 2 * (attempt.t_ns - since.t_ns)


def _starts_small_again(timeline: Timeline, outage: _Outage) -> Says:
    """Judge the first attempt after an outage that was over."""
    ready, back = outage.let_in, outage.back
    if ready is None or back is None or len(outage.refusals) < LEAST_ATTEMPTS:
        return
    lost = timeline.connection(ready.conn).lost
    if lost is None or lost.seq > back.seq or not _was_heard(timeline, ready, lost):
        return
    harms = (*timeline.events.of(Fired), *timeline.disconnections)
    if any(lost.seq < harm.seq < back.seq for harm in harms):
        return  # Something else went wrong in between.
    late = breach(
        "does-not-reset",
        f"{outage.producer} was admitted at {ms(ready.t_ns)} after an outage and lost its connection at "
        f"{ms(lost.t_ns)}; it registered again at {ms(back.t_ns)}, expected within "
        f"{TOLERANCES['reconnect'].slack_ms} ms",
        *(ready, lost, back),
    )
    yield from timeline.bounds.response("reconnect", _wanted(timeline, outage, lost), back, late, what="a reconnect")


def _wanted(timeline: Timeline, outage: _Outage, lost: Closed) -> Event:
    """Return when the producer was to come back.

    Some clients do when it is used next, and it has something to send.
    """
    back = outage.back
    sends = [one for one in timeline.sends_of(outage.producer.handle) if back is not None and one.invoke.seq < back.seq]
    before = (one for one in sends if one.invoke.seq < lost.seq)
    if any(one.is_pending(lost) for one in before):
        return lost
    return next((one.invoke for one in sends if one.invoke.seq > lost.seq), lost)


def _was_heard(timeline: Timeline, ready: Frame, lost: Closed) -> bool:
    """Return whether the client certainly read it: what was written just before a connection's end may not be read."""
    sends = (one for one in timeline.events.frames("SEND") if one.conn == ready.conn and one.seq > ready.seq)
    return timeline.bounds.is_past("in-flight", ready.t_ns, lost.t_ns) or any(sends)
