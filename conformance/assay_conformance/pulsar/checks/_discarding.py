"""What a client owes for a message that it cannot read: that costs this message only.

It is not delivered, an ACK says why, its permit comes back, and the connection goes on. A permit that never comes
back shows when none is left: everything granted was used, the application took all that came, and no more is granted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay_conformance.checks.consumption import plain_acks
from assay_conformance.model.event import Closed, Event, Fired, Frame
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, each, ms
from assay_conformance.pulsar.timeline.permits import queue_of
from assay_conformance.pulsar.timeline.unreadable import Ending, Unreadable, UnreadableMessages


class Discarding(NamedTuple):
    """Messages to be discarded. `state`: one word for them, for codes and sentences; `how`: how they came, as the end
    of a sentence; `error_of`: the validation error that a MESSAGE calls for, None if it can be decoded."""

    state: str
    how: str
    error_of: Callable[[Frame], str | None]


def judge_discarded(timeline: Timeline, clause: Discarding) -> Says:
    """Judge whether every such message is discarded, and nothing else is lost."""
    found = UnreadableMessages(timeline, clause.error_of)
    yield from each(found.messages, _judge_not_handed_over, clause)
    yield from each(found.messages, _judge_reported, clause)
    yield from each(found.waited, _judge_answered, timeline, clause)
    yield from each(found.endings, _connection_goes_on, timeline, clause, found.frames)
    yield from each(found.endings, _permits_come_back, timeline, clause)


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


def _judge_answered(timeline: Timeline, clause: Discarding, waited: tuple[Unreadable, Event]) -> Says:
    (message, end), since_ns = waited, waited[0].frame.t_ns
    if message.answer is not None or not message.may_be_answered(end):
        return
    if timeline.bounds.is_missing("answer", since_ns, end.t_ns, what="an ACK"):
        yield breach(
            "not-reported",
            f"consumer {message.consumer.handle} got {message.entry} {clause.state} at {ms(since_ns)}; expected an "
            f"ACK with validation_error {message.error}; none had left by {ms(end.t_ns)}",
            *(message.frame, end),
        )


def _connection_goes_on(timeline: Timeline, clause: Discarding, alike: dict[int, list[Frame]], ending: Ending) -> Says:
    """Judge whether the connection goes on.

    After a fault of another kind a client may leave it for what is missing or late.
    """
    message, end = ending.last, ending.end
    if not isinstance(end, Closed):
        return
    left = timeline.left_over_messages(message.frame, alike[end.conn], or_died=True)
    if left is None:
        return
    fired = (one for one in timeline.events.of(Fired) if one.conn == left.conn and one.seq < left.seq)
    if all(one.action == "corrupt" for one in fired):
        yield breach(
            "connection-closed",
            f"a {clause.state} message ({message.entry}) came over connection {left.conn} at "
            f"{ms(message.frame.t_ns)}; expected the client to go on without that message; it closed the connection "
            f"at {ms(left.t_ns)}",
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
