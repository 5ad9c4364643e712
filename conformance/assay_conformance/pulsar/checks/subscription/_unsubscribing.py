"""Calls that unsubscribe a consumer, each with what it has to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Frame, Invoke, Outcome
from assay_conformance.pulsar.timeline import Consumer, ConsumerSession, Timeline


class Unsubscribed(NamedTuple):
    """One call with its end. `sessions`: where the consumer was subscribed when it was called; `everywhere`: these are
    all of its topics. A client may refuse to unsubscribe from some of them alone."""

    consumer: Consumer
    call: Invoke
    end: Completion
    sessions: tuple[ConsumerSession, ...]
    everywhere: bool

    @property
    def succeeded(self) -> bool:
        """Whether the client reported that the subscription is gone."""
        return self.end.outcome is Outcome.OK


def unsubscribed(timeline: Timeline) -> Iterator[Unsubscribed]:
    """Yield every unsubscribe that ended, of a consumer that was open and had not begun to end, in order."""
    opened = timeline.succeeded("open_consumer")
    for end in timeline.ends("unsubscribe"):
        call, consumer = timeline.call(end), timeline.consumer(end.handle)
        if consumer is not None and consumer.handle in opened and not timeline.closing_before(consumer, call):
            found = timeline.sessions_at(consumer, call).values()
            there = tuple(one for one in found if one and one.was_admitted(call))
            yield Unsubscribed(consumer, call, end, there, len(there) == len(found))


def may_be_unread(timeline: Timeline, one: Unsubscribed) -> bool:
    """Return whether a connection of it ended so soon that an answer may have been lost with it."""
    answers = (answered(timeline, session)[1] for session in one.sessions)
    return not all(answer is None or timeline.had_time_to_read(answer, by=timeline.ended) for answer in answers)


def answered(timeline: Timeline, session: ConsumerSession) -> tuple[Frame | None, Frame | None]:
    """Return the first UNSUBSCRIBE of a session, and its answer as it was written to the client."""
    asked = (one for one in timeline.requests("UNSUBSCRIBE") if timeline.consumer_sessions.of(one.frame) is session)
    first = next(asked, None)
    return (None, None) if first is None else (first.frame, first.answer)
