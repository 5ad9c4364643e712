"""How a producer that was closed stays away from its broker."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line
from assay_conformance.checks.producing import left_pending
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import (
    Completion,
    Frame,
    Invoke,
    Outcome,
)
from assay_conformance.model.requirement import RequirementId


class ClosedStaysClosed(Check):
    """A producer closed while it is away does not come back, is not left at the broker, and leaves no send pending.

    One whose PRODUCER was under way may be admitted yet: then the broker must be told by CLOSE_PRODUCER, or by the end
    of the connection.
    """

    requirement = RequirementId("resend.closed-stays-closed")
    skips_plain = True

    def start(self) -> None:
        self._closed: dict[int, Completion] = {}
        self._told: set[int] = set()
        """Sessions closed by CLOSE_PRODUCER of either side."""
        self._away: set[int] = set()
        self._registrations: list[tuple[Frame, ProducerSession]] = []

    @on(Completion, "close")
    def closed(self, event: Completion) -> None:
        for handle, closing in self.tracker.lines.closings.items():
            if isinstance(closing, Invoke) and closing.op == event.op and event.outcome is Outcome.OK:
                self._closed.setdefault(handle, event)

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is not None and event.from_sender:
            self._told.add(session.request.seq)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if event.from_sender and session is not None:
            self._registrations.append((event, session))

    def finish(self) -> None:
        for line in self.tracker.lines.all:
            closed = None if line.handle is None else self._closed.get(line.handle)
            if closed is not None and line.admitted and line.handle not in self.tracker.foresight.unsure:
                self._judge(line, closed)

    def _judge(self, line: Line, closed: Completion) -> None:
        assert line.closing is not None
        before = [session for session in line.sessions if session.request.seq < line.closing.seq]
        back = next((frame for frame, session in self._registrations if self._returns(line, closed, session)), None)
        if back is not None:
            self.breach(
                "came-back",
                f"{line} was closed at {ms(closed.t_ns)}, and registered again on connection {back.conn} at "
                f"{ms(back.t_ns)}",
                closed,
                back,
            )
            return
        away = bool(before) and self._is_away(before[-1], line.closing.seq) and not self._came_back(line, closed)
        if away and not self._left_behind(line, before[-1], closed) and not self._left_pending(line, closed):
            self.exercise(closed)

    def _is_away(self, session: ProducerSession, seq: int) -> bool:
        """Not admitted, or no longer, at event `seq`."""
        ended = self.tracker.closed.get(session.conn)
        unready = session.ready is None or session.ready.seq > seq
        return unready or (ended is not None and ended.seq < seq)

    def _came_back(self, line: Line, closed: Completion) -> bool:
        """It was admitted before the client was called: a close waits for sends asked for before it that block."""
        assert line.closing is not None
        called_ns, asked = closed.called_ns or 0, line.closing.seq
        admitted = (session.ready for session in line.sessions if session.ready is not None)
        return any(ready.seq > asked and ready.t_ns < called_ns for ready in admitted)

    def _returns(self, line: Line, closed: Completion, session: ProducerSession) -> bool:
        """A PRODUCER behind the close that only this line can have written: under its name, and nobody else there."""
        request = session.request
        if request.t_ns <= closed.t_ns + IN_FLIGHT_NS or session.topic != line.topic:
            return False
        if session.line is line:
            return True
        owned = session.line is not None and session.line.handle is not None
        return not owned and request.fields.get("producer_name") == line.name and self._alone(line, request)

    def _alone(self, line: Line, request: Frame) -> bool:
        """No other producer of the Case was open on its topic then, being opened, or just closed and on its way."""
        full = self.tracker.lines.openings
        mine = full[line.handle or 0].args.get("topic")
        for handle, opening in full.items():
            gone = self._closed.get(handle)
            over = gone is not None and gone.t_ns + IN_FLIGHT_NS < request.t_ns
            if handle != line.handle and opening.seq < request.seq and opening.args.get("topic") == mine and not over:
                return False
        return True

    def _left_behind(self, line: Line, session: ProducerSession, closed: Completion) -> bool:
        if session.ready is None or session.request.seq in self._told:
            return False
        ended = self.tracker.closed.get(session.conn)
        since_ns = max(closed.t_ns, session.ready.t_ns)
        until_ns = min(self.tracker.end_ns, ended.t_ns) if ended else self.tracker.end_ns
        timing = self.tracker.load.timing(since_ns, since_ns, until_ns, TOLERANCES["answer"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether the broker was only told late")
        elif timing is Timing.LATE:
            self.breach(
                "left-behind",
                f"{line} was closed at {ms(closed.t_ns)} while its PRODUCER was under way; the broker admitted it at "
                f"{ms(session.ready.t_ns)} and had not been told of the close at {ms(until_ns)}",
                session.request,
                session.ready,
                closed,
            )
        return timing is not Timing.IN_TIME

    def _left_pending(self, line: Line, closed: Completion) -> bool:
        assert line.closing is not None
        pending = (
            send
            for send in self.tracker.sends.get(line.handle or 0, ())
            if send.completion is None and send.invoke.seq < line.closing.seq
        )
        return any(left_pending(self, str(line), send, closed) is not Timing.IN_TIME for send in pending)
