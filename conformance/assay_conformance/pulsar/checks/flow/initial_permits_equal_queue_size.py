"""Flow control: a consumer asks for as much as its queue holds, once it is one."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import ConsumerCheck, from_client, late
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import queue_of


class InitialPermitsEqualQueueSize(ConsumerCheck):
    """The first FLOW of a consumer comes behind the SUCCESS of its SUBSCRIBE and grants its whole queue.

    Consumers of several topics or partitions share a queue among them in ways of their own, and one without a queue
    asks message by message: of those only the order is judged.
    """

    requirement = RequirementId("flow.initial-permits-equal-queue-size")
    skips_plain = True

    def start(self) -> None:
        self._granted: set[int] = set()

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not from_client(event) or session.request.seq in self._granted:
            return
        self._granted.add(session.request.seq)
        if session.ready is None:
            self.breach(
                "before-success",
                f"consumer id {event.consumer_id} on connection {event.conn} granted {event.permits} permits at "
                f"{ms(event.t_ns)}, before the broker had answered its SUBSCRIBE of {ms(session.request.t_ns)}",
                session.request,
                event,
            )
            return
        size = self._queue_size(session)
        if size is None:
            return
        if event.permits == size:
            self.exercise(event)
        else:
            assert session.consumer is not None
            self.breach(
                "wrong-first-permits",
                f"consumer {session.consumer.handle} granted {event.permits} permits at {ms(event.t_ns)}, its first "
                f"after subscribing, expected its queue size, {size}",
                session.ready,
                event,
            )

    def over(self, session: ConsumerSession, event: Event) -> None:
        """A consumer that was let in and never granted anything waits for ever."""
        if session.ready is None or session.request.seq in self._granted or self._queue_size(session) is None:
            return
        self._granted.add(session.request.seq)
        assert session.consumer is not None
        ready_ns = session.ready.t_ns
        if late("answer", ready_ns, event.t_ns):
            self.suspect(
                "answer",
                ready_ns,
                event.t_ns,
                "no-permits",
                f"consumer {session.consumer.handle} was subscribed at {ms(ready_ns)} and had granted no permits by "
                f"{ms(event.t_ns)}",
                session.ready,
                event,
            )

    def _queue_size(self, session: ConsumerSession) -> int | None:
        """The queue size that the first FLOW of a consumer's first session must grant; None where none is told."""
        consumer = session.consumer
        if consumer is None or consumer.sessions[0] is not session:
            return None
        return queue_of(self.view, session)
