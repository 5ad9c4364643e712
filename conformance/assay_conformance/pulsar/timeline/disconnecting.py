"""The timeline's relations about how connections ended, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from assay_conformance.checks.leaving import may_have_heard_nothing
from assay_conformance.history.events import in_order
from assay_conformance.history.occupancy import left_unused
from assay_conformance.judging.certainty import TooBusyError
from assay_conformance.model.event import Closed, ErrorClass, Event, Frame
from assay_conformance.pulsar.timeline.connections import Connection, Why, connections
from assay_conformance.pulsar.timeline.producers import Producer
from assay_conformance.pulsar.timeline.requesting import Requesting
from assay_conformance.pulsar.timeline.requests import LEFT_OVER
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS


class Disconnecting(Requesting):
    """The part of a timeline about ends of connections, and the reasons of clients to close them."""

    @cached_property
    def connections(self) -> dict[int, Connection]:
        """By number."""
        return connections(self.view, self.events, self.answers, self.bounds, self._timed_out())

    def _timed_out(self) -> Iterator[tuple[int, Event]]:
        """Yield by connection the sends that timed out there, and the requests that nothing answered in time.

        A request has as long as an operation may take, and its connection has ended since.
        """
        for end in self.failed_sends:
            unit = self.unit_of(end) if end.error is ErrorClass.TIMEOUT else None
            sent = [frame for _, frame in unit.sends if frame.seq < end.seq] if unit is not None else []
            yield from ((frame.conn, end) for frame in sent[-1:])
        limit_ns = self.operation_timeout_ns()
        for request in self.requests(*LEFT_OVER) if limit_ns and self.events.of(Closed) else ():
            frame, answer, closed = request.frame, request.answer, self.closed(request.frame.conn)
            until = closed if answer is None else answer
            if closed is not None and until is not None and frame.t_ns + limit_ns <= until.t_ns:
                yield frame.conn, frame

    def connection(self, number: int) -> Connection:
        """Return a connection, of which the history need not show the beginning."""
        return self.connections.get(number) or Connection(number)

    @cached_property
    def left_unused(self) -> frozenset[int]:
        """Connections that the client ended when they carried nothing."""
        return frozenset(closed.conn for closed in left_unused(self._tracker.history))

    @cached_property
    def disconnections(self) -> Sequence[Closed]:
        """Ends of all other connections: of those on which something was registered, or waited for."""
        return [closed for closed in self.events.of(Closed) if closed.conn not in self.left_unused]

    @cached_property
    def losses(self) -> list[Closed]:
        """Ends of connections that the broker, a fault or the end of the client's process caused, in order."""
        lost = (one.lost for one in self.connections.values())
        return in_order(one for one in lost if one is not None)

    def has_another_reason(self, frame: Frame, producer: Producer, *besides: Why) -> bool:
        """Return whether the end of this frame's connection proves nothing: something other than the client ended it
        soon, or the client closed it for a reason that may not be in `besides`.
        """
        if self.bounds.ended_soon_after(frame, self.connection(frame.conn).lost):
            return True
        left = self._left_after(frame, producer)
        reasons = self.connection(frame.conn).reasons_but(*besides) if left is not None else ()
        return left is not None and any(reason.event.seq < left.seq for reason in reasons)

    def left_over(self, frame: Frame, producer: Producer) -> Closed | None:
        """Return the end of the frame's connection where the client ended it soon, with the producer not closed.

        Raises `TooBusyError` if load of the machine may have made the client believe that its peer was gone.
        """
        left = self._left_after(frame, producer)
        return left if left is None else self._heard(left)

    def left_over_messages(self, last: Frame, alike: Iterable[Event], *, or_died: bool = False) -> Closed | None:
        """Return the end of a connection as `left_without_reason`, if it came soon after the frame `last`.

        `or_died`: the process may have ended with it.
        """
        is_soon = self.bounds.ended_soon_after(last, self.connection(last.conn).closed)
        return self.left_without_reason(last.conn, alike, or_died=or_died) if is_soon else None

    def left_without_reason(self, conn: int, alike: Iterable[Event] = (), *, or_died: bool = False) -> Closed | None:
        """Return the end of a connection that the client closed for no reason other than the frames (or faults)
        `alike`. The application had not begun to close anything; a message that it acknowledged is no reason. Raises
        `TooBusyError` if load of the machine may have made the client believe that its peer was gone.
        """
        connection, passed_over = self.connection(conn), {event.seq for event in alike}
        left = connection.ended_by_client if or_died else connection.left_by_client
        if left is None or conn in self.left_unused or self.has_begun_to_end(left.seq):
            return None
        reasons = (reason.event for reason in connection.reasons_but() if reason.event.seq < left.seq)
        if any(event.seq not in passed_over and not self._is_acknowledged(event, left) for event in reasons):
            return None
        return self._heard(left)

    def _is_acknowledged(self, message: Event, before: Event) -> bool:
        """Return whether this is a MESSAGE that the client took, or reported, on its connection, and went on."""
        if not isinstance(message, Frame) or message.command != "MESSAGE" or not message.ids:
            return False
        session, (id, *_) = self.consumer_sessions.of(message), message.ids
        acks = [] if session is None else self.consumer_sessions.frames(session, "ACK")
        written = (ack for ack in acks if ack.from_sender and message.seq < ack.seq < before.seq)
        return any(id.position == named.position for ack in written for named in ack.ids)

    def _heard(self, left: Closed) -> Closed:
        if may_have_heard_nothing(self.view, left):
            raise TooBusyError(f"the machine was too busy to say why connection {left.conn} was left")
        return left

    def _left_after(self, frame: Frame, producer: Producer) -> Closed | None:
        left = self.connection(frame.conn).left_by_client
        if left is None or producer.closing_before(left.seq):
            return None
        return left if self.bounds.ended_soon_after(frame, left) else None

    def was_read(self, frame: Frame) -> bool:
        """Return whether the client certainly read what was written to it on a connection that then ended.

        It had time to, or it ended the connection itself, and had no other reason to.
        """
        connection, closed = self.connection(frame.conn), self.closed(frame.conn)
        if closed is None or closed.t_ns - frame.t_ns > IN_FLIGHT_NS:
            return True
        return connection.left_by_client is not None and not connection.may_be_left_before(frame)

    def has_had_trouble(self, receipt: Frame, *kinds: Why) -> bool:
        """Return whether something of these kinds, or a receipt held back or repeated by a fault, came before."""
        first_moved = self._first_moved_receipt.get(receipt.conn, receipt)
        return first_moved.seq < receipt.seq or self.connection(receipt.conn).has_seen(receipt, *kinds)
