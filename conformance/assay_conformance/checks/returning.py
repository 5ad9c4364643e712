"""How a producer comes back to its broker, and how one that was closed stays away.

(What it owes the sends it had under way then: `resend.py`.)
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line
from assay_conformance.checks.producing import left_pending
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    ClosedBy,
    Completion,
    Ended,
    Event,
    Fate,
    Frame,
    Outcome,
    Undecodable,
)
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

_FORGED = (Fate.ALTERED, Fate.INJECTED, Fate.DUPLICATED)


@dataclass(frozen=True, slots=True)
class _Eviction:
    order: Frame
    session: ProducerSession
    line: Line


class ComesBackAfterClose(Check):
    """The broker's CLOSE_PRODUCER sends a producer back to lookup and PRODUCER, and costs nobody the connection.

    Where it names another broker no lookup is owed. A connection on which something else went wrong may be left. A
    lookup that is refused may be the end of it: which errors are final is a matter of their own.
    """

    requirement = RequirementId("resend.comes-back-after-close-producer")

    def start(self) -> None:
        self._evictions: dict[int, _Eviction] = {}
        self._lookups: dict[str, list[Frame]] = {}
        """Topic -> LOOKUPs and the answers to them."""
        self._asked: dict[tuple[int, int | None], str] = {}
        """Connection and request -> topic of a lookup."""
        self._refused: dict[str, Frame] = {}
        """Topic -> the last refusal of a lookup."""
        self._spoiled: set[int] = set()
        """Connections that there is another reason to leave."""
        self._end_ns = 0

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self._end_ns = event.t_ns

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self._spoiled.update(self.tracker.opened)

    @on(Undecodable)
    def undecodable(self, event: Undecodable) -> None:
        self._spoiled.add(event.conn)

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if event.fate in _FORGED or event.command == "SEND_ERROR" or event.intact is False:
            self._spoiled.add(event.conn)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        lines = self.tracker.lines
        if event.to_receiver and (lines.stale or lines.unit is not lines.head):
            self._spoiled.add(event.conn)

    @on(Frame, "LOOKUP")
    def lookup(self, event: Frame) -> None:
        if event.from_sender:
            topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
            self._lookups.setdefault(topic, []).append(event)
            self._asked[event.conn, event.request_id] = topic

    @on(Frame, "LOOKUP_RESPONSE")
    def found(self, event: Frame) -> None:
        topic = self._asked.get((event.conn, event.request_id))
        if topic is None or not event.to_receiver:
            return
        self._lookups[topic].append(event)
        if event.fields.get("error"):
            self._refused[topic] = event

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if event.dir is not Direction.TO_CLIENT or not event.to_receiver or session is None or session.ready is None:
            return
        line = session.line
        if line is not None and line.handle is not None and line.handle not in self.tracker.foresight.unsure:
            self._evictions.setdefault(session.request.seq, _Eviction(event, session, line))

    def finish(self) -> None:
        for eviction in self._evictions.values():
            closing = eviction.line.closing
            if closing is None or closing.seq > eviction.order.seq:
                self._judge(eviction)

    def _judge(self, eviction: _Eviction) -> None:
        order, line = eviction.order, eviction.line
        closed = self.tracker.closed.get(order.conn)
        if closed is not None and self._left(eviction, closed):
            return
        following = (session.request for session in line.sessions if session.request.seq > order.seq)
        back = next(following, None)
        if back is not None:
            self._came_back(eviction, back)
            return
        refused = self._refused.get(line.topic)
        if refused is not None and refused.seq > order.seq:
            return
        ends = [self._end_ns, *([line.closing.t_ns] if line.closing else []), *([closed.t_ns] if closed else [])]
        timing = self.tracker.load.timing(order.t_ns, order.t_ns, min(ends), TOLERANCES["reconnect"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a producer only came back late")
        elif timing is Timing.LATE:
            self._breach("not-back", eviction, f"it did not register again before {ms(min(ends))}")

    def _left(self, eviction: _Eviction, closed: Closed) -> bool:
        """The client closed the connection over it."""
        order, closing = eviction.order, eviction.line.closing
        soon = closed.seq > order.seq and closed.t_ns - order.t_ns <= TOLERANCES["answer"].slack_ns
        if not soon or closed.by is not ClosedBy.CLIENT or order.conn in self._spoiled:
            return False
        if closing is not None and closing.seq < closed.seq:
            return False
        self._breach("left-the-connection", eviction, f"the client closed the connection at {ms(closed.t_ns)}", closed)
        return True

    def _came_back(self, eviction: _Eviction, back: Frame) -> None:
        order = eviction.order
        # A lookup that was under way for another producer or consumer of the topic may serve this one as well.
        looked_up = any(order.seq < lookup.seq < back.seq for lookup in self._lookups.get(eviction.line.topic, ()))
        if looked_up or order.fields.get("assignedBrokerServiceUrl"):
            self.exercise(back)
        else:
            self._breach("no-lookup", eviction, f"PRODUCER followed at {ms(back.t_ns)} without a LOOKUP", back)

    def _breach(self, code: str, eviction: _Eviction, came: str, *proof: Event) -> None:
        order = eviction.order
        sentence = (
            f"{eviction.line}: the broker closed it on connection {order.conn} at {ms(order.t_ns)}; a LOOKUP and "
            f"another PRODUCER were expected, with the connection kept; {came}"
        )
        self.breach(code, sentence, order, *proof)


class EpochGrows(Check):
    """Each PRODUCER after one that the broker admitted carries a greater epoch; none carries a smaller one."""

    requirement = RequirementId("resend.epoch-grows")

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        line = None if session is None else session.line
        if not event.from_sender or line is None or line.handle is None or len(line.sessions) < 2:
            return
        before = line.sessions[-2]
        epoch, earlier = (int(frame.fields.get("epoch", 0)) for frame in (event, before.request))
        admitted = before.ready is not None
        if admitted:
            self.exercise(event)
        if epoch < earlier or (admitted and epoch == earlier):
            expected = f"more than {earlier}" if admitted else f"{earlier} or more"
            self.breach(
                "epoch-does-not-grow",
                f"{line}: its PRODUCER on connection {event.conn} at {ms(event.t_ns)} carries epoch {epoch}; after the "
                f"one at {ms(before.request.t_ns)} {expected} was expected",
                before.request,
                event,
            )


class ClosedStaysClosed(Check):
    """A producer closed while it is away does not come back, is not left at the broker, and leaves no send pending.

    One whose PRODUCER was under way may be admitted yet: then the broker must be told by CLOSE_PRODUCER, or by the end
    of the connection.
    """

    requirement = RequirementId("resend.closed-stays-closed")

    def start(self) -> None:
        self._closed: dict[int, Completion] = {}
        self._told: set[int] = set()
        """Sessions closed by CLOSE_PRODUCER of either side."""
        self._away: set[int] = set()
        self._registrations: list[tuple[Frame, ProducerSession]] = []
        self._end_ns = 0

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self._end_ns = event.t_ns

    @on(Completion, "close")
    def closed(self, event: Completion) -> None:
        for handle, closing in self.tracker.lines.closings.items():
            if closing.op == event.op and event.outcome is Outcome.OK:
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
        away = bool(before) and self._is_away(before[-1], line.closing.seq)
        if away and not self._left_behind(line, before[-1], closed) and not self._left_pending(line, closed):
            self.exercise(closed)

    def _is_away(self, session: ProducerSession, seq: int) -> bool:
        """Not admitted, or no longer, at event `seq`."""
        ended = self.tracker.closed.get(session.conn)
        unready = session.ready is None or session.ready.seq > seq
        return unready or (ended is not None and ended.seq < seq)

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
        """No other producer of the Case was open on its topic, or being opened, then."""
        full = self.tracker.lines.openings
        mine = full[line.handle or 0].args.get("topic")
        for handle, opening in full.items():
            gone = self._closed.get(handle)
            over = gone is not None and gone.seq < request.seq
            if handle != line.handle and opening.seq < request.seq and opening.args.get("topic") == mine and not over:
                return False
        return True

    def _left_behind(self, line: Line, session: ProducerSession, closed: Completion) -> bool:
        if session.ready is None or session.request.seq in self._told:
            return False
        ended = self.tracker.closed.get(session.conn)
        since_ns = max(closed.t_ns, session.ready.t_ns)
        until_ns = min(self._end_ns, ended.t_ns) if ended else self._end_ns
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
        return any(left_pending(self, str(line), send, closed, self._end_ns) is not Timing.IN_TIME for send in pending)
