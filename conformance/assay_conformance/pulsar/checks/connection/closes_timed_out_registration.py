from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest

from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, check, ms


def _unanswered(timeline: Timeline) -> Iterator[tuple[Registration, Frame | None]]:
    """Yield registrations without an answer, each with what came first of its id there: a close, or another one."""
    registered = {one.frame.seq: one for one in timeline.registrations}
    by_id: dict[tuple[int, str, int | None], list[Frame]] = defaultdict(list)
    for one in registered.values():
        by_id[one.frame.conn, one.kind, one.id].append(one.frame)
    for frame in timeline.events.frames("CLOSE_PRODUCER"):
        by_id[frame.conn, "producer", frame.producer_id].append(frame)
    for frame in timeline.events.frames("CLOSE_CONSUMER"):
        by_id[frame.conn, "consumer", frame.consumer_id].append(frame)
    for frames in by_id.values():
        frames.sort(key=lambda frame: frame.seq)
        for frame, next in zip_longest(frames, frames[1:]):
            asked = registered.get(frame.seq)
            if asked is not None and (asked.answer is None or (next is not None and next.seq <= asked.answer.seq)):
                yield asked, next


@check("connection.closes-timed-out-registration", of=_unanswered)
def closes_timed_out_registration(timeline: Timeline, unanswered: tuple[Registration, Frame | None]) -> Says:
    """connection.closes-timed-out-registration: before an id is registered again on a connection where its registration
    has no answer, it is closed there. The same holds once the open call has failed with a time-out, at the latest when
    the registration's own time-out is over, since one open call may need several registrations.

    What the broker has closed the client need not, and a connection that the client leaves closes all on it.
    """
    (one, next), request = unanswered, unanswered[0].frame
    if next is None:
        yield from _judge_not_left_behind(timeline, one)
    elif next.command == request.command:
        yield breach(
            "asked-again",
            f"{one.kind} id {one.id} was registered on connection {next.conn} at {ms(request.t_ns)} and got no answer; "
            f"expected a close of it before the next registration, which left at {ms(next.t_ns)}",
            *(request, next),
        )
    elif next.dir is Direction.TO_BROKER and next.from_sender:
        yield Exercised(next)


def _judge_not_left_behind(timeline: Timeline, one: Registration) -> Says:
    request, gave_up = one.frame, _gave_up(timeline, one)
    if gave_up is None:
        yield from _leaves_with_its_connection(timeline, one)
        return
    due_ns = max(gave_up.t_ns, request.t_ns + timeline.operation_timeout_ns(one.handle))
    until_ns = timeline.bounds.until(timeline.closed(request.conn))
    if timeline.bounds.is_missing("answer", due_ns, until_ns, what="a close"):
        yield breach(
            "left-behind",
            f"opening {one.kind} {one.handle} failed with a time-out at {ms(gave_up.t_ns)}; expected {one.kind} id "
            f"{one.id} to be closed on connection {request.conn}, since the broker may have registered it; it was not "
            f"by {ms(until_ns)}",
            *(request, gave_up),
        )


def _leaves_with_its_connection(timeline: Timeline, one: Registration) -> Says:
    """Judge a client that registers on another connection, and leaves the one without an answer."""
    left, request = timeline.connection(one.frame.conn).left_by_client, one.frame
    later = (two.frame for two in timeline.registrations if two.handle == one.handle and two.frame.seq > request.seq)
    if left is not None and one.handle is not None and any(frame.conn != request.conn for frame in later):
        yield Exercised(left)


def _gave_up(timeline: Timeline, one: Registration) -> Completion | None:
    """Return the time-out of its open call."""
    ends = timeline.events.completions(f"open_{one.kind}") if one.handle is not None else ()
    failed = (end for end in ends if end.handle == one.handle and end.seq > one.frame.seq)
    return next((end for end in failed if end.outcome is not Outcome.OK and end.error is ErrorClass.TIMEOUT), None)
