from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Says, Timeline, breach, check, ms

_REQUESTS: Final = ("ACK", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "SEEK", "GET_LAST_MESSAGE_ID", "CONSUMER_STATS")
"""What asks the broker for something about a consumer. FLOW is none of them: until the close is answered messages may
reach a client, and Java's returns the permits of those that it drops."""


class _Gone(NamedTuple):
    """A consumer that is no longer at its broker from a frame on: its CLOSE_CONSUMER, or the answer to its
    UNSUBSCRIBE. `until`: the ERROR that refused to close it."""

    session: ConsumerSession
    frame: Frame
    until: Frame | None

    def is_over(self, at: Frame) -> bool:
        """Return whether the consumer may be there again."""
        return self.until is not None and self.until.seq < at.seq


def _gone(timeline: Timeline) -> Iterator[_Gone]:
    for request in timeline.requests("CLOSE_CONSUMER", "UNSUBSCRIBE"):
        frame, answer = request.frame, request.answer
        session = timeline.consumer_sessions.of(frame) if frame.dir is Direction.TO_BROKER else None
        if session is None or session.ended is not frame or not session.was_admitted(frame):
            continue
        if frame.command == "CLOSE_CONSUMER":
            yield _Gone(session, frame, answer if request.error else None)
        elif answer is not None and not request.error:
            yield _Gone(session, answer, None)


@check("subscription.nothing-after-close", of=_gone)
def nothing_after_close(timeline: Timeline, gone: _Gone) -> Says:
    """subscription.nothing-after-close: behind the CLOSE_CONSUMER of a consumer, or the SUCCESS of its UNSUBSCRIBE,
    its client requests nothing more about it on that connection. (Producers: `producer.close-ends-pending-sends`.)

    What another thread of the application asked for at the same time may be under way.
    """
    session, since, _ = gone
    if timeline.bounds.is_past("in-flight", since.t_ns, timeline.bounds.until(timeline.closed(session.conn))):
        yield Exercised(since)
    later = (one for one in timeline.consumer_sessions.frames(session, *_REQUESTS) if one.seq > since.seq)
    for frame in later:
        is_own = frame.from_sender and not gone.is_over(frame)
        if is_own and timeline.bounds.is_overdue("in-flight", since.t_ns, frame.t_ns, what="a command"):
            what = "was closed" if since.command == "CLOSE_CONSUMER" else "had unsubscribed"
            yield breach(
                "asked-after-close",
                f"a consumer of topic {session.topic} {what} on connection {session.conn} at {ms(since.t_ns)}; "
                f"expected nothing more about it there; {frame.command} left at {ms(frame.t_ns)}",
                *(since, frame),
            )
            return
