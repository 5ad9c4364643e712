"""resend.reconnect-retries-temporary-error"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Opened, Outcome
from assay_conformance.pulsar.timeline import (
    MS,
    PASSING_ERRORS,
    Exercised,
    Producer,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)

LONGEST_FIRST_WAIT_MS = 7_000
"""pulsar-rs waits 5 s before each attempt, DotPulsar 3 s; a client that doubles waits from 100 ms on is back before."""

FIRST_ATTEMPTS = 3

_OF_ITS_OWN = frozenset({ErrorClass.TIMEOUT, ErrorClass.CLOSED, ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL})
"""How a send may end while its producer waits to come back: its time is up, its producer is closed, or the client never
took it."""


@check("resend.reconnect-retries-temporary-error")
def reconnect_retries_temporary_error(timeline: Timeline) -> Says:
    """resend.reconnect-retries-temporary-error: after a refusal with a temporary error the client tries again, and no
    pending send fails because of it.

    Which producer a new connection or a LOOKUP is for is not known: each counts as an attempt of every producer that
    waits.
    """
    waits = list(_waits(timeline))
    yield from each(waits, _tries_again, timeline)
    yield from each(timeline.failed_sends if waits else (), _fails_over_it, timeline, waits)


@dataclass(frozen=True, slots=True)
class _Wait:
    """A producer from a passing refusal on, to the next one or to its being admitted (`over`). `times`: how many there
    were since it was admitted, this one included; `attempts`: of any producer meanwhile."""

    producer: Producer
    refused: Frame
    times: int
    attempts: list[Event]
    over: Event | None


def _waits(timeline: Timeline) -> Iterator[_Wait]:
    refused: dict[Producer, list[Frame]] = {}
    for one in timeline.registrations:
        passes = one.error in PASSING_ERRORS and timeline.had_been_admitted(one)
        if one.producer is not None and one.refusal is not None and passes and timeline.was_read(one.refusal):
            refused.setdefault(one.producer, []).append(one.refusal)
    attempts = _attempts(timeline) if refused else []
    for producer, refusals in refused.items():
        admitted = [one.admitted for one in producer.sessions if one.admitted is not None]
        times = 0
        for place, word in enumerate(refusals):
            before = refusals[place - 1] if place else None
            let_in_since = before is None or any(before.seq < one.seq < word.seq for one in admitted)
            times = 1 if let_in_since else times + 1
            ends = [one for one in (*admitted, *refusals[place + 1 : place + 2]) if one.seq > word.seq]
            over = min(ends, key=lambda one: one.seq, default=None)
            inside = [one for one in attempts if word.seq < one.seq and (over is None or one.seq < over.seq)]
            yield _Wait(producer, word, times, inside, over)


def _attempts(timeline: Timeline) -> list[Event]:
    frames = timeline.events.frames("PRODUCER", "LOOKUP", "PARTITIONED_METADATA")
    attempts: list[Event] = [frame for frame in frames if frame.from_sender]
    return sorted((*attempts, *timeline.events.of(Opened)), key=lambda event: event.seq)


def _tries_again(timeline: Timeline, wait: _Wait) -> Says:
    for session in wait.producer.sessions:
        if session.request in wait.attempts:
            yield Exercised(session.request)
    since_ns, until_ns = wait.refused.t_ns, timeline.bounds.until(wait.producer.closing)
    is_early = wait.over is None and wait.times <= FIRST_ATTEMPTS and not wait.attempts
    due_ns = since_ns + LONGEST_FIRST_WAIT_MS * MS
    if is_early and until_ns > due_ns:
        timeline.bounds.check_fair("reconnect", since_ns, until_ns, what="whether a producer only tried again late")
        yield breach(
            "stayed-away",
            f"{wait.producer} got {wait.refused.fields['error']}, a temporary error, at {ms(since_ns)} when it "
            f"reconnected; expected another attempt; there was none by {ms(until_ns)}",
            wait.refused,
        )


def _fails_over_it(timeline: Timeline, waits: list[_Wait], failed: Completion) -> Says:
    if failed.outcome is Outcome.UNSUPPORTED or failed.error in _OF_ITS_OWN:
        return
    call = timeline.call(failed)
    for wait in waits:
        producer, refused = wait.producer, wait.refused
        is_waiting = refused.seq < failed.seq and (wait.over is None or failed.seq < wait.over.seq)
        tried = any(attempt.seq < failed.seq for attempt in wait.attempts[:1])
        is_theirs = producer.handle == failed.handle and not producer.closing_before(failed.seq)
        if is_theirs and is_waiting and not tried and call.seq < refused.seq:
            timeline.owner(producer)
            yield breach(
                "failed-pending",
                f"{producer} got {refused.fields['error']}, a temporary error, at {ms(refused.t_ns)} when it "
                f"reconnected; expected no pending send to fail because of it; one ended {failed.outcome.value} "
                f"({failed.error}) at {ms(failed.t_ns)}",
                *(refused, failed),
            )
