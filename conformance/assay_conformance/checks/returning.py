"""How a producer comes back to its broker.

(What it owes the sends it had under way then: `resend.py`. How one that was closed stays away: `staying_away.py`.)
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.leaving import BUSY, ends_reading, may_have_heard_nothing
from assay_conformance.checks.lines import Line
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.producing import FINAL_ERRORS
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import (
    FORGED_OR_DOUBLED,
    AgentEnded,
    Closed,
    ClosedBy,
    Event,
    Fired,
    Frame,
    Undecodable,
)
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.wire.service_urls import named_brokers


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

    requirement = RequirementId("resend.reconnects-after-close-producer")
    needs = (Trait.LET_GO,)

    def start(self) -> None:
        self._evictions: dict[int, _Eviction] = {}
        self._lookups: dict[str, list[Frame]] = {}
        """Topic -> LOOKUPs and the answers to them."""
        self._asked: dict[tuple[int, int | None], str] = {}
        """Connection and request -> topic of a lookup."""
        self._unanswered: dict[str, dict[tuple[int, int | None], Frame]] = {}
        """Topic -> lookups that wait for their answer, by connection and request."""
        self._refused: dict[str, Frame] = {}
        """Topic -> the last refusal of a lookup."""
        self._over: set[int] = set()
        """Producers that were told the end, by the event of their PRODUCER."""
        self._spoiled: set[int] = set()
        """Connections that there is another reason to leave."""

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self._spoiled.update(self.tracker.opened)

    @on(Undecodable)
    def undecodable(self, event: Undecodable) -> None:
        self._spoiled.add(event.conn)

    @on(Fired)
    def harmed(self, event: Fired) -> None:
        if event.conn is not None and ends_reading(self.view, event):
            self._spoiled.add(event.conn)

    @on(Frame)
    def frame(self, event: Frame) -> None:
        ends = event.command == "SEND_ERROR" or event.fields.get("error") in BUSY
        if event.fate in FORGED_OR_DOUBLED or ends or event.intact is False:
            self._spoiled.add(event.conn)

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is not None and event.to_receiver and event.fields.get("error") in FINAL_ERRORS:
            self._over.add(session.request.seq)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        if event.to_receiver and self.tracker.lines.is_out_of_turn:
            self._spoiled.add(event.conn)

    @on(Frame, "LOOKUP")
    def lookup(self, event: Frame) -> None:
        if event.from_sender:
            topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
            self._lookups.setdefault(topic, []).append(event)
            self._asked[event.conn, event.request_id] = topic
            self._unanswered.setdefault(topic, {})[event.conn, event.request_id] = event

    @on(Frame, "LOOKUP_RESPONSE")
    def found(self, event: Frame) -> None:
        topic = self._asked.get((event.conn, event.request_id))
        if topic is None or not event.to_receiver:
            return
        self._lookups[topic].append(event)
        self._unanswered[topic].pop((event.conn, event.request_id), None)
        if event.fields.get("error"):
            self._refused[topic] = event

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if event.dir is not Direction.TO_CLIENT or not event.to_receiver or session is None or session.ready is None:
            return
        line = session.line
        if session.request.seq in self._over:
            return
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
        ends = [self.tracker.end_ns, *([line.closing.t_ns] if line.closing else []), *([closed.t_ns] if closed else [])]
        until_ns = min(ends)
        since_ns = self._asked_in_vain_until(eviction, until_ns)
        if since_ns >= until_ns:
            return
        timing = self.tracker.load.timing(since_ns, since_ns, until_ns, TOLERANCES["reconnect"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a producer only came back late")
        elif timing is Timing.LATE:
            self._breach("not-back", eviction, f"it did not register again before {ms(until_ns)}")

    def _asked_in_vain_until(self, eviction: _Eviction, until_ns: int) -> int:
        """The client asks, as it should, and whoever swallows its question leaves the connection open: it waits for
        the answer as long as any operation may take, or until the connection ends. What was answered late keeps it from
        registering until then."""
        order = eviction.order
        asked = (lookup for lookup in self._unanswered.get(eviction.line.topic, {}).values() if lookup.seq > order.seq)
        ended = (self.tracker.closed.get(lookup.conn) for lookup in asked)
        heard = [one.t_ns for one in self._lookups.get(eviction.line.topic, ()) if one.command == "LOOKUP_RESPONSE"]
        return max([order.t_ns, *heard, *(until_ns if closed is None else closed.t_ns for closed in ended)])

    def _left(self, eviction: _Eviction, closed: Closed) -> bool:
        """The client closed the connection over it."""
        order, closing = eviction.order, eviction.line.closing
        soon = closed.seq > order.seq and closed.t_ns - order.t_ns <= TOLERANCES["answer"].slack_ns
        if not soon or closed.by is not ClosedBy.CLIENT or order.conn in self._spoiled:
            return False
        if closing is not None and closing.seq < closed.seq:
            return False
        if may_have_heard_nothing(self.view, closed):
            self.undecided(f"the machine was too busy to say why connection {order.conn} was left")
            return False
        self._breach("left-the-connection", eviction, f"the client closed the connection at {ms(closed.t_ns)}", closed)
        return True

    def _came_back(self, eviction: _Eviction, back: Frame) -> None:
        order = eviction.order
        # A lookup that was under way for another producer or consumer of the topic may serve this one as well.
        looked_up = any(order.seq < lookup.seq < back.seq for lookup in self._lookups.get(eviction.line.topic, ()))
        if looked_up or named_brokers(order.command, order.fields):
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
    """Each PRODUCER after one that the broker admitted carries a greater epoch; none carries a smaller one.

    The first carries 0, where nothing had gone wrong in the Case and it came at once: some clients count attempts that
    ended before their PRODUCER.
    """

    requirement = RequirementId("resend.producer-epoch-increases")
    skips_plain = True

    def start(self) -> None:
        self._closed: set[tuple[int, int]] = set()
        """Connection and id of producers that the client itself has closed."""
        self._calm = True
        """Nothing so far made a client try again."""

    @on(Fired)
    @on(Closed)
    @on(Frame, "ERROR")
    def disturbed(self, event: Event) -> None:
        del event
        self._calm = False

    @on(Frame, "CLOSE_PRODUCER")
    def closed(self, event: Frame) -> None:
        if event.dir is Direction.TO_CLIENT:
            self._calm = False
        elif event.from_sender:
            self._closed.add((event.conn, event.producer_id or 0))

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        line = None if session is None else session.line
        if not event.from_sender or line is None or line.handle is None:
            return
        if len(line.sessions) < 2:
            self._first(line, line.handle, event)
            return
        before = line.sessions[-2]
        if (before.conn, before.producer_id) in self._closed:
            return  # Another producer of the same name: one that a partition refused is opened anew.
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

    def _first(self, line: Line, handle: int, event: Frame) -> None:
        opening, epoch = self.tracker.lines.openings.get(handle), int(event.fields.get("epoch", 0))
        at_once = opening is not None and event.t_ns <= opening.t_ns + TOLERANCES["at-once"].slack_ns
        if epoch and at_once and self._calm:
            self.breach(
                "first-epoch-not-zero",
                f"{line}: its first PRODUCER, on connection {event.conn} at {ms(event.t_ns)}, carries epoch {epoch}, "
                "expected 0",
                event,
            )
