"""Calls that unsubscribe a consumer, each with what it has to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Frame, Invoke, Outcome
from assay_conformance.pulsar.timeline import Consumer, ConsumerSession, Timeline


class Unsubscribed(NamedTuple):
    """One call with its end. `sessions`: where the consumer was subscribed when it was called."""

    consumer: Consumer
    call: Invoke
    end: Completion
    sessions: tuple[ConsumerSession, ...]

    @property
    def succeeded(self) -> bool:
        """Whether the client reported that the subscription is gone."""
        return self.end.outcome is Outcome.OK


def unsubscribed(timeline: Timeline) -> Iterator[Unsubscribed]:
    """Every unsubscribe that ended, of a consumer that was open and had not begun to end, in order."""
    for end in timeline.ends("unsubscribe"):
        call, consumer = timeline.call(end), timeline.consumer(end.handle)
        if consumer is not None and not timeline.closing_before(consumer, call):
            topics = dict.fromkeys(session.topic for session in consumer.sessions)
            found = (timeline.session_at(consumer, topic, call) for topic in topics)
            yield Unsubscribed(consumer, call, end, tuple(one for one in found if one and _is_there(one, call)))


def _is_there(session: ConsumerSession, call: Invoke) -> bool:
    return session.admitted is not None and session.admitted.seq < call.seq


def answered(timeline: Timeline, session: ConsumerSession) -> tuple[Frame | None, Frame | None]:
    """The first UNSUBSCRIBE of a session, and its answer as it was written to the client."""
    asked = (one for one in timeline.requests("UNSUBSCRIBE") if timeline.consumer_sessions.of(one.frame) is session)
    first = next(asked, None)
    return (None, None) if first is None else (first.frame, first.answer)
