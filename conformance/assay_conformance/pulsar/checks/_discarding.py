"""What a client owes for a message that it cannot read: that costs this message only.

It is not delivered, an ACK says why, its permit comes back, and the connection goes on. A permit that never comes
back shows when none is left: everything granted was used, the application took all that came, and no more is granted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from assay_conformance.checks.consumption import plain_acks
from assay_conformance.model.event import Event, Fired, Frame
from assay_conformance.pulsar.checks.robustness._ignored import put_in
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, each, ms
from assay_conformance.pulsar.timeline.permits import queue_of
from assay_conformance.pulsar.timeline.unreadable import Ending, Unreadable, UnreadableMessages


class Discarding(NamedTuple):
    """Messages to be discarded. `state`: one word for them, for codes and sentences; `how`: how they came, as the end
    of a sentence; `error_of`: the validation error that a MESSAGE calls for, "" for any or none of them; None if it can
    be decoded."""

    state: str
    how: str
    error_of: Callable[[Frame], str | None]


def judge_discarded(timeline: Timeline, clause: Discarding) -> Says:
    """Judge whether every such message is discarded, and nothing else is lost."""
    found = UnreadableMessages(timeline, clause.error_of)
    yield from each(found.messages, _judge_not_handed_over, clause)
    yield from each(found.messages, _judge_reported, clause)
    unanswered = (one for one in found.waited if one[0].answer is None)
    yield from each(unanswered, _judge_missing, timeline, clause)
    yield from each(_last_of_connections(found), _connection_goes_on, timeline, clause, found.frames)
    yield from each(found.endings, _permits_come_back, timeline, clause)


def judge_acknowledged(timeline: Timeline, clause: Discarding, found: UnreadableMessages) -> Says:
    """Judge only whether each is acknowledged, and the connection goes on."""
    yield from each(found.waited, _judge_acknowledged, timeline, clause)
    yield from each(_last_of_connections(found), _connection_goes_on, timeline, clause, found.frames)


def _judge_acknowledged(timeline: Timeline, clause: Discarding, waited: tuple[Unreadable, Event]) -> Says:
    message, _ = waited
    fitting = (ack for ack in message.acks if message.error in ("", ack.fields.get("validation_error")))
    answer = next(fitting, None)
    yield from _judge_missing(timeline, clause, waited) if answer is None else (Exercised(answer),)


def _judge_not_handed_over(clause: Discarding, message: Unreadable) -> Says:
    for received in message.taken:
        yield breach(
            f"{clause.state}-delivered",
            f"consumer {message.consumer.handle} received {message.entry} at {ms(received.t_ns)}, which had come at "
            f"{ms(message.frame.t_ns)} {clause.how}; expected it to be discarded",
            *(message.frame, received),
        )


def _judge_reported(clause: Discarding, message: Unreadable) -> Says:
    """Judge whether it is reported.

    What the application received is reported already, and it may acknowledge that.
    """
    answer = message.answer
    if answer is None:
        return
    named = answer.fields.get("validation_error")
    if named == message.error:
        yield Exercised(answer)
    elif not (plain_acks(answer) and message.was_taken):
        yield breach(
            "wrong-report",
            f"consumer {message.consumer.handle} got {message.entry} {clause.state} at {ms(message.frame.t_ns)}; "
            f"expected an ACK with validation_error {message.error}; the ACK at {ms(answer.t_ns)} has "
            f"{named or 'none'}",
            *(message.frame, answer),
        )


def _judge_missing(timeline: Timeline, clause: Discarding, waited: tuple[Unreadable, Event]) -> Says:
    """Judge one that was not answered."""
    (message, end), since_ns = waited, waited[0].frame.t_ns
    if message.may_be_answered(end) and timeline.bounds.is_missing("answer", since_ns, end.t_ns, what="an ACK"):
        expected = f"an ACK with validation_error {message.error}" if message.error else "an ACK"
        yield breach(
            "not-reported",
            f"consumer {message.consumer.handle} got {message.entry} {clause.how} at {ms(since_ns)}; expected "
            f"{expected}; none had left by {ms(end.t_ns)}",
            *(message.frame, end),
        )


def _last_of_connections(found: UnreadableMessages) -> Iterable[Unreadable]:
    return {message.frame.conn: message for message in found.messages}.values()


def _connection_goes_on(
    timeline: Timeline, clause: Discarding, alike: dict[int, list[Frame]], message: Unreadable
) -> Says:
    """Judge whether the connection goes on.

    After a fault of another kind a client may leave it for what is missing or late.
    """
    left = timeline.left_over_messages(message.frame, alike[message.frame.conn], or_died=True)
    if left is None:
        return
    fired = (one for one in timeline.events.of(Fired) if one.conn == left.conn and one.seq < left.seq)
    is_forged = any(frame.conn == left.conn for frame in put_in(timeline))
    if not is_forged and all(one.action == "corrupt" for one in fired):
        yield breach(
            "connection-closed",
            f"{message.entry} came over connection {left.conn} at {ms(message.frame.t_ns)} {clause.how}; expected the "
            f"client to go on without that message; it closed the connection at {ms(left.t_ns)}",
            *(message.frame, left),
        )


def _permits_come_back(timeline: Timeline, clause: Discarding, ending: Ending) -> Says:
    """Judge whether permits come back.

    Consumers of several topics or partitions share a queue among them in ways of their own: they are not judged.
    """
    message, end, usage = ending.last, ending.end, ending.usage
    granted = timeline.client_account(message.session).at(end).granted
    is_starved = 0 < granted <= usage.came <= usage.left_queue and message.may_be_answered(end)
    if not is_starved or not queue_of(timeline.view, message.session):
        return
    if timeline.bounds.is_overdue("answer", usage.last_ns, end.t_ns, what="a permit"):
        yield breach(
            "permit-not-returned",
            f"consumer {message.consumer.handle} had granted {granted} permits; {usage.came} messages used them "
            f"up by {ms(usage.last_ns)}, {clause.state} ones among them; expected the permits of those to be granted "
            f"again; it granted none until {ms(end.t_ns)}, with its queue empty",
            *(message.frame, end),
        )
