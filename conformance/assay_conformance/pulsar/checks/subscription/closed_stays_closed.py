"""How a consumer that was closed stays away from its broker. (Producers: `resend.closed-stays-closed`.)"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import Completion, Ended, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class SubscriptionClosedStaysClosed(TimedCheck):
    """A consumer closed while it is away does not come back, and is not left at the broker.

    One whose SUBSCRIBE was under way may be admitted yet: then the broker must be told by CLOSE_CONSUMER, or by the end
    of the connection.
    """

    requirement = RequirementId("subscription.closed-stays-closed")
    skips_plain = True

    def start(self) -> None:
        self._closed: dict[int, Completion] = {}
        """Handle -> the word of the client that it is closed."""
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
        """Its last session there when it was closed, where that was not admitted, or no longer."""
        assert consumer.closing is not None
        before = [one for one in consumer.sessions if one.topic == topic and one.request.seq < consumer.closing.seq]
        if not before:
            return None
        last, seq = before[-1], consumer.closing.seq
        away = last.ready is None or last.ready.seq > seq or (last.ended is not None and last.ended.seq < seq)
        return last if away else None

    def _judge(self, consumer: OpenedConsumer, session: ConsumerSession, closed: Completion, end_ns: int) -> None:
        who = f"consumer {consumer.handle} on topic {session.topic}"
        back = next((one.request for one in self._subscribed if self._returns(consumer, session, closed, one)), None)
        if back is not None:
            self.breach(
                "came-back",
                f"{who} was closed at {ms(closed.t_ns)}, and subscribed again on connection {back.conn} at "
                f"{ms(back.t_ns)}",
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
                f"{who} was closed at {ms(closed.t_ns)} while its SUBSCRIBE was under way; the broker admitted it at "
                f"{ms(session.ready.t_ns)} and had not been told of the close at {ms(until_ns)}",
                session.request,
                session.ready,
                closed,
            )

    def _returns(
        self, consumer: OpenedConsumer, session: ConsumerSession, closed: Completion, other: ConsumerSession
    ) -> bool:
        """A SUBSCRIBE behind the close that only this consumer can have written: nobody else was there to do it."""
        request = other.request
        alike = (other.topic, other.subscription) == (session.topic, session.subscription)
        if not alike or other.consumer is not None or request.t_ns <= closed.t_ns + IN_FLIGHT_NS:
            return False
        return not any(
            self._may_be(other, one) for one in self.tracker.opened_consumers.values() if one is not consumer
        )

    def _may_be(self, session: ConsumerSession, consumer: OpenedConsumer) -> bool:
        """That consumer was open then, or being opened, for the same subscription."""
        gone = self._closed.get(consumer.handle)
        there = consumer.invoke.seq < session.request.seq and (gone is None or gone.seq > session.request.seq)
        return there and consumer.subscription == session.subscription
