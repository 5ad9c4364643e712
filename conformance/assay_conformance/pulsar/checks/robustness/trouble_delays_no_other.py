from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from assay_conformance.history.events import OPENS
from assay_conformance.model.event import (
    Closed,
    ClosedBy,
    Completion,
    ErrorClass,
    Event,
    Fired,
    Frame,
    Invoke,
    Opened,
    Outcome,
)
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    TOLERANCES,
    Exercised,
    Says,
    Timeline,
    Trouble,
    Troubles,
    Turn,
    breach,
    check,
    each,
    ms,
    topics_of,
    turns,
)

_FORGES: Final = frozenset({"corrupt", "duplicate", "inject", "reorder", "rewrite", "truncate"})
"""Faults after which the connection itself is in trouble: other requirements say what a client owes then."""


class _Failed(NamedTuple):
    """An open call that failed after the client had closed the connection on which it waited for an answer."""

    end: Completion
    left: Closed
    trouble: Trouble


@check("robustness.trouble-delays-no-other")
def trouble_delays_no_other(timeline: Timeline) -> Says:
    """robustness.trouble-delays-no-other: while a producer or consumer is in trouble, others go on as if alone.

    Where client or broker may be late for reasons of their own there is no turn (`timeline.turns`). A handle that met
    an obstacle itself is not judged: other requirements say what it owes.
    """
    if len(timeline.openings) + sum(1 for _ in timeline.consumers) < 2:
        return
    troubles = Troubles(timeline)
    yield from each(_beside(timeline, troubles), _judge_in_time, timeline)
    yield from each(_failed(timeline, troubles), _judge_opened, timeline)


def _beside(timeline: Timeline, troubles: Troubles) -> Iterator[tuple[Turn, Trouble]]:
    """Yield turns of one handle, each with a trouble that another one was in meanwhile."""
    forged = (fired.seq for fired in timeline.events.of(Fired) if fired.action in _FORGES)
    until = min(forged, default=timeline.ended.seq)
    for turn in turns(timeline):
        if turn.came.seq > until:
            continue
        trouble = troubles.beside(turn.handle, turn.due_ns, turn.came_ns)
        if trouble is not None:
            yield turn, trouble


def _judge_in_time(timeline: Timeline, beside: tuple[Turn, Trouble]) -> Says:
    turn, trouble = beside
    if not timeline.bounds.is_past("answer", turn.due_ns, turn.came_ns):
        yield Exercised(turn.came)
    elif _is_well(timeline, turn) and timeline.bounds.is_overdue("answer", turn.due_ns, turn.came_ns, what="a turn"):
        yield breach(
            "held-up",
            f"handle {turn.handle}: {turn.what} from {ms(turn.due_ns)} on; expected that within "
            f"{TOLERANCES['answer'].slack_ms} ms, whatever happens to other handles; it took until "
            f"{ms(turn.came_ns)}, while {trouble}",
            *(turn.due, turn.came, trouble.event),
        )


def _is_well(timeline: Timeline, turn: Turn) -> bool:
    """Return whether nothing was in its way in that time, and no broker had refused it anything before."""
    opening = timeline.opening_of(turn.handle)
    if opening is None:
        return False
    topics, since_ns = topics_of(timeline, opening), turn.due_ns - IN_FLIGHT_NS
    before = timeline.obstacles.between(opening.t_ns, turn.came, turn.handle, topics)
    if any(one.is_error for one in before):
        return False
    meanwhile = timeline.obstacles.between(since_ns, turn.came, turn.handle, topics)
    # A request is without an answer when it leaves.
    return all(one.event is turn.came for one in meanwhile)


def _failed(timeline: Timeline, troubles: Troubles) -> Iterator[_Failed]:
    for end in timeline.ends(*OPENS):
        if end.outcome is Outcome.OK or end.error in (ErrorClass.TIMEOUT, ErrorClass.INVALID_CONFIG):
            continue
        call = timeline.call(end)
        left = _left_alone(timeline, call, end)
        trouble = None if left is None else troubles.beside(end.handle or 0, call.t_ns, end.t_ns)
        if left is not None and trouble is not None and not timeline.has_begun_to_end(end.seq):
            yield _Failed(end, left, trouble)


def _left_alone(timeline: Timeline, call: Invoke, end: Completion) -> Closed | None:
    """Return the end, by the client, of the connection on which the call waited for an answer, without another reason.

    A client may end its calls first.
    """
    opening = timeline.opening_of(call.handle)
    topics = frozenset[str]() if opening is None else topics_of(timeline, opening)
    left: Closed | None = None
    for one in timeline.obstacles.between(call.t_ns, end, call.handle or 0, topics):
        closed = one.event if isinstance(one.event, Closed) else _closed(timeline, one.event)
        is_left = closed is not None and closed.by is ClosedBy.CLIENT and closed.t_ns - end.t_ns < IN_FLIGHT_NS
        if not is_left or one.is_error:
            return None
        if isinstance(one.event, Frame):
            left = closed
    return left


def _closed(timeline: Timeline, event: Event) -> Closed | None:
    return timeline.closed(event.conn) if isinstance(event, Frame | Opened | Fired) else None


def _judge_opened(timeline: Timeline, failed: _Failed) -> Says:
    end, left, trouble = failed
    call = timeline.call(end)
    due_ns = call.t_ns + timeline.operation_timeout_ns(end.handle, otherwise_ms=30_000)
    if timeline.bounds.is_before("reconnect", due_ns, end.t_ns):
        yield breach(
            "failed-with-another",
            f"{end.verb} of handle {end.handle} waited for an answer on connection {left.conn}, which the client "
            f"closed at {ms(left.t_ns)} while {trouble}; expected it to be retried until its time-out; it failed "
            f"at {ms(end.t_ns)} with {end.error}",
            *(call, left, end, trouble.event),
        )
