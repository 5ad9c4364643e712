from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Ended
from assay_conformance.pulsar.checks._stays_closed import came_back, judge_left_behind
from assay_conformance.pulsar.timeline import (
    Consumer,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    check,
    closed_by_application,
    may_register,
)


class _Closed(NamedTuple):
    """A consumer that was closed without a connection on a topic, its last session there, and how the call ended."""

    consumer: Consumer
    session: ConsumerSession
    end: Completion

    def __str__(self) -> str:
        return f"consumer {self.consumer.handle} on topic {self.session.topic}"


def _closed(timeline: Timeline) -> Iterator[_Closed]:
    for consumer in timeline.consumers if timeline.events.of(Ended) else ():
        end = closed_by_application(timeline, consumer.handle, was_away=True)
        topics = {session.topic for session in consumer.sessions} - consumer.unsure if end is not None else set[str]()
        for topic in sorted(topics):
            session = _away(consumer, topic)
            if session is not None and end is not None:
                yield _Closed(consumer, session, end)


def _away(consumer: Consumer, topic: str) -> ConsumerSession | None:
    """Return its last session on the topic before the close, where that was not admitted or had ended."""
    closing = consumer.closing
    last = None if closing is None else consumer.last_on(topic, closing)
    return None if closing is None or last is None or last.is_there(closing) else last


@check("subscription.closed-stays-closed", of=_closed)
def closed_stays_closed(timeline: Timeline, closed: _Closed) -> Says:
    """subscription.closed-stays-closed: a consumer that is closed without a connection does not subscribe again, and
    does not stay attached at the broker. (Producers: `resend.closed-stays-closed`.) A client that refuses to close it
    then is held to the same: the application has closed it.

    Where its SUBSCRIBE was pending, the broker may still admit it: then CLOSE_CONSUMER or the end of the connection has
    to follow.
    """
    session, end, admitted = closed.session, closed.end, closed.session.admitted
    back = next((one.request for one in timeline.consumer_sessions.all if _returns(timeline, closed, one)), None)
    if back is not None:
        yield came_back(closed, end, back)
        return
    yield Exercised(end)
    if admitted is not None:
        yield from judge_left_behind(timeline, closed, end, session.request, admitted, session.ended)


def _returns(timeline: Timeline, closed: _Closed, other: ConsumerSession) -> bool:
    """Return whether this is a SUBSCRIBE after the close that no other consumer can have written."""
    session, request, name = closed.session, other.request, closed.session.subscription
    alike = (other.topic, other.subscription) == (session.topic, name)
    is_late = timeline.bounds.is_past("in-flight", closed.end.t_ns, request.t_ns)
    if other.consumer is not None or not alike or not is_late or not request.from_sender:
        return False
    others = (one for one in timeline.consumers if one is not closed.consumer and one.subscription == name)
    return not any(may_register(timeline, one.invoke, request) for one in others)
