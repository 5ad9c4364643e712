"""A consumer that was closed does not subscribe again. (Producers: `resend.closed-stays-closed`.)"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import Completion, Ended, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class SubscriptionClosedStaysClosed(TimedCheck):
    """A consumer that is closed without a connection does not subscribe again, and does not stay attached at the
    broker.

    Where its SUBSCRIBE was pending, the broker may still admit it: then CLOSE_CONSUMER or the end of the connection has
    to follow.
    """

    requirement = RequirementId("subscription.closed-stays-closed")
    skips_plain = True

    def start(self) -> None:
        self._closed: dict[int, Completion] = {}
        """Handle -> the successful end of its close call."""
        self._subscribed: list[ConsumerSession] = []

    @on(Completion, "close")
    def closed(self, event: Completion) -> None:
        for consumer in self.tracker.opened_consumers.values():
            closing = consumer.closing
            if isinstance(closing, Invoke) and closing.op == event.op and event.outcome is Outcome.OK:
                self._closed.setdefault(consumer.handle, event)

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.from_sender and session is not None:
            self._subscribed.append(session)

    @on(Ended)
    def ended(self, event: Ended) -> None:
        for handle, closed in self._closed.items():
            consumer = self.tracker.opened_consumers[handle]
            for topic in {session.topic for session in consumer.sessions} - consumer.unsure:
                session = self._left(consumer, topic)
                if session is not None:
                    self._judge(consumer, session, closed, event.t_ns)

    def _left(self, consumer: OpenedConsumer, topic: str) -> ConsumerSession | None:
        """Return its last session on the topic before the close, where that was not admitted or had ended."""
        assert consumer.closing is not None
        before = [one for one in consumer.sessions if one.topic == topic and one.request.seq < consumer.closing.seq]
        if not before:
            return None
        last, seq = before[-1], consumer.closing.seq
        away = last.ready is None or last.ready.seq > seq or (last.ended is not None and last.ended.seq < seq)
        return last if away else None

    def _judge(self, consumer: OpenedConsumer, session: ConsumerSession, closed: Completion, end_ns: int) -> None:
        subject = f"consumer {consumer.handle} on topic {session.topic}"
        back = next((one.request for one in self._subscribed if self._returns(consumer, session, closed, one)), None)
        if back is not None:
            self.breach(
                "came-back",
                f"{subject} was closed at {ms(closed.t_ns)}; expected no SUBSCRIBE after that; it subscribed again on "
                f"connection {back.conn} at {ms(back.t_ns)}",
                closed,
                back,
            )
            return
        self.exercise(closed)
        if session.ready is None:
            return
        since_ns = max(closed.t_ns, session.ready.t_ns)
        until_ns = end_ns if session.ended is None else session.ended.t_ns
        if late("answer", since_ns, until_ns):
            self.overdue(
                "answer",
                since_ns,
                until_ns,
                "left-behind",
                f"{subject} was closed at {ms(closed.t_ns)} while its SUBSCRIBE was pending, and the broker admitted "
                f"it at {ms(session.ready.t_ns)}; expected CLOSE_CONSUMER or the end of the connection; neither had "
                f"come by {ms(until_ns)}",
                session.request,
                session.ready,
                closed,
            )

    def _returns(
        self, consumer: OpenedConsumer, session: ConsumerSession, closed: Completion, other: ConsumerSession
    ) -> bool:
        """Whether this is a SUBSCRIBE after the close that no other consumer can have written."""
        request = other.request
        alike = (other.topic, other.subscription) == (session.topic, session.subscription)
        if not alike or other.consumer is not None or request.t_ns <= closed.t_ns + IN_FLIGHT_NS:
            return False
        return not any(
            self._may_be(other, one) for one in self.tracker.opened_consumers.values() if one is not consumer
        )

    def _may_be(self, session: ConsumerSession, consumer: OpenedConsumer) -> bool:
        """Whether that consumer was open, or being opened, for the same subscription at the time."""
        gone = self._closed.get(consumer.handle)
        there = consumer.invoke.seq < session.request.seq and (gone is None or gone.seq > session.request.seq)
        return there and consumer.subscription == session.subscription
