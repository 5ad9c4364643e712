"""Opening a producer or consumer while its broker is not ready, or cannot be reached.

A failure is followed by another attempt, unless the operation time-out leaves no room for one. To which producer or
consumer a lookup or a new connection belongs is unknown: it counts as an attempt of every open call that is pending.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from assay_conformance.checks.parts import ended_by_client, retry_letter_topic
from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Closed, ClosedBy, Completion, Event, Frame, Invoke, Opened, Outcome
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, ended_ns, ms
from assay_conformance.pulsar.timeline.requests import LOOKUPS

_NOT_READY = "ServiceNotReady"


class Attempt(NamedTuple):
    """A registration on a topic, and what came of it, where the topic had not admitted the producer or consumer before:
    after a lost connection the open call need not register there again."""

    frame: Frame
    topic: str
    failure: Event | None
    is_refused: bool
    waits: bool
    """The broker has put the producer into a queue, where it may wait without a limit."""


class Opening(NamedTuple):
    """An open_producer or open_consumer that met a failure, how it ended, and what it asked for in between."""

    invoke: Invoke
    end: Completion | None
    asked: tuple[Attempt, ...]
    failures: tuple[Event, ...]
    attempts: Sequence[int]
    """Numbers of all events that may be attempts of it."""
    assumed: frozenset[int]
    """Connections whose end is only assumed to be a failure: an open call that succeeded had another one."""

    def failure(self) -> Event | None:
        """Return the last failure that no attempt followed.

        What came after the call had ended, before the bench recorded that, is none.
        """
        last = self.failures[-1]
        is_none = self._is_followed(last, None) or (self.end is not None and last.t_ns > ended_ns(self.end))
        return None if is_none else last

    def overcome(self) -> set[type[Event]]:
        """Return the kinds of failures that an attempt followed, ahead of the next one."""
        pairs = zip_longest(self.failures, self.failures[1:])
        return {type(this) for this, later in pairs if self._is_followed(this, later)}

    def _is_followed(self, failure: Event, later: Event | None) -> bool:
        until, place = later or self.end, bisect_right(self.attempts, failure.seq)
        return place < len(self.attempts) and (until is None or self.attempts[place] < until.seq)


def openings(timeline: Timeline) -> Iterator[Opening]:
    """Yield all openings of the attempt that met a failure."""
    asked_by, alone = _asked(timeline), list(_unreachable(timeline))
    known = [*(one.frame for one in timeline.registrations), *(one.frame for one in timeline.requests(*LOOKUPS))]
    attempts = sorted(event.seq for event in (*known, *timeline.events.of(Opened)))
    for call, end in _calls(timeline):
        until = timeline.ended.seq + 1 if end is None else end.seq
        asked = [one for one in asked_by[call.handle or 0] if call.seq < one.frame.seq < until]
        met = [one.failure for one in asked if one.failure is not None and one.failure.seq < until]
        assumed = [closed for whose, closed in alone if whose is call]
        failures = {event.seq: event for event in (*met, *assumed)}
        if failures:
            in_order = tuple(failures[seq] for seq in sorted(failures))
            conns = frozenset(closed.conn for closed in assumed)
            yield Opening(call, end, tuple(asked), in_order, attempts, conns)


def _calls(timeline: Timeline) -> list[tuple[Invoke, Completion | None]]:
    calls = timeline.events.invokes(*OPENS)
    return [(call, timeline.end_of(call.op)) for call in calls if call.handle is not None]


def _asked(timeline: Timeline) -> dict[int, list[Attempt]]:
    """Return what was asked, by handle."""
    found: dict[int, list[Attempt]] = defaultdict(list)
    let_in: dict[tuple[int, str], int] = {}
    for one in timeline.registrations:
        handle, topic = _handle(timeline, one), str(one.frame.fields.get("topic", ""))
        if handle is None:
            continue
        closed = timeline.closed(one.frame.conn)
        came = one.answer or (closed if closed is not None and closed.by is not ClosedBy.CLIENT else None)
        if came is None or let_in.get((handle, topic), came.seq) < came.seq:
            found[handle].append(Attempt(one.frame, topic, None, is_refused=False, waits=False))
            continue
        is_error = isinstance(came, Frame) and came.command == "ERROR"
        is_failure = isinstance(came, Closed) or (is_error and came.fields.get("error") == _NOT_READY)
        waits = isinstance(came, Frame) and came.fields.get("producer_ready") is False
        failure = came if is_failure else None
        found[handle].append(Attempt(one.frame, topic, failure, is_refused=is_error and not is_failure, waits=waits))
        if not (is_error or is_failure or waits):
            let_in.setdefault((handle, topic), came.seq)
    return found


def _handle(timeline: Timeline, one: Registration) -> int | None:
    """Return the handle of a registration.

    One on a retry letter topic, which no step names, is of the only consumer that has it and is being opened.
    """
    if one.handle is not None or one.kind == "producer":
        return one.handle
    base, found = base_topic(one.session.topic), set[int]()
    for call, _ in _calls(timeline):
        consumer = timeline.consumer(call.handle)
        if consumer is not None and timeline.is_pending(call, one.frame):
            letters = retry_letter_topic(timeline.view, consumer)
            found.update([consumer.handle] if letters and timeline.local_name(letters) == base else [])
    return found.pop() if len(found) == 1 else None


def _unreachable(timeline: Timeline) -> Iterator[tuple[Invoke, Closed]]:
    """Yield connections that ended before their handshake, while one open call was pending, and none had ended."""
    calls = _calls(timeline)
    first = min((end.seq for _, end in calls if end is not None and not ended_by_client(end)), default=None)
    for closed in timeline.events.of(Closed):
        handshake = timeline.handshakes.on(closed.conn)
        if closed.by is ClosedBy.CLIENT or handshake is not None or (first is not None and first < closed.seq):
            continue
        pending = [call for call, _ in calls if timeline.is_pending(call, closed)]
        if len(pending) == 1:
            yield pending[0], closed


def judge_attempted_again(timeline: Timeline, opening: Opening, kind: type[Event], *others: type[Event]) -> Says:
    """Judge whether a failure of this kind is overcome, or one of the others."""
    end, failure = opening.end, opening.failure()
    if end is None or ended_by_client(end):
        return
    is_assumed = isinstance(failure, Closed) and failure.conn in opening.assumed
    if is_assumed if end.outcome is Outcome.OK else _is_refused(timeline, opening, end):
        return
    limit_ns = limit_of(timeline, opening)
    until_ns = opening.invoke.t_ns + limit_ns
    # The back-off doubles: in the second half of the time the next attempt may not fit any more.
    has_room = failure is not None and failure.t_ns + limit_ns // 2 < until_ns
    if failure is None or not isinstance(failure, kind) or not has_room or not _fits(timeline, failure, until_ns):
        if not opening.overcome().isdisjoint((kind, *others)):
            yield Exercised(end)
        return
    timeline.bounds.check_quiet("reconnect", failure.t_ns, end.t_ns, what="whether another attempt was made in time")
    what = f"the end of connection {failure.conn}" if isinstance(failure, Closed) else _NOT_READY
    yield breach(
        "gave-up" if timeline.bounds.is_before("reconnect", until_ns, end.t_ns) else "waited-in-vain",
        f"{end.verb} of handle {end.handle} met {what} at {ms(failure.t_ns)}; expected another attempt before "
        f"{ms(until_ns)}, its operation time-out; there was none, and it ended {end.outcome.value} at {ms(end.t_ns)}",
        *(failure, end),
    )


def _fits(timeline: Timeline, failure: Event, until_ns: int) -> bool:
    return timeline.bounds.is_past("reconnect", failure.t_ns, until_ns)


def limit_of(timeline: Timeline, opening: Opening) -> int:
    """Return the operation time-out of an open call, in ns."""
    return timeline.operation_timeout_ns(opening.invoke.handle, otherwise_ms=30_000)


def _is_refused(timeline: Timeline, opening: Opening, end: Completion) -> bool:
    """Return whether some topic, or a lookup of some topic, got a final error last.

    Opening several may fail because of one of them, whatever the others get.
    """
    refused = {one.topic: one.is_refused for one in opening.asked}
    failed: dict[str, bool] = {}
    for one in timeline.requests(*LOOKUPS):
        is_final = one.answer is not None and one.answer.seq < end.seq and _is_final(one.answer)
        if opening.invoke.seq < (one.answer or one.frame).seq and one.frame.seq < end.seq:
            failed[str(one.frame.fields.get("topic", ""))] = is_final
    return any((*refused.values(), *failed.values()))


def _is_final(answer: Frame) -> bool:
    return answer.fields.get("response") == "Failed" and answer.fields.get("error") != _NOT_READY
