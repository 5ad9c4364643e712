"""Resend: what a client owes a send whose connection dies before the receipt.

The client keeps sent units in a queue until their receipts come. When it has registered its producer again it sends the
whole queue from the head, as the same bytes, before anything new. (What receipts and time-outs do to the queue:
`receipts.py`, `timeouts.py`.)

A receipt written to the client around a cut may or may not have reached it. So a unit is *owed* a resend only when no
receipt was written for it at all, and it *must not* be sent again only when its completion reached the bench before the
bench wrote the PRODUCER_SUCCESS that allows resending.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import LEFT, Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation, ProducerSession
from assay_conformance.model.event import (
    Closed,
    Completion,
    ErrorClass,
    Event,
    Frame,
    Invoke,
    Outcome,
    Received,
)
from assay_conformance.model.requirement import RequirementId

NO_CONNECTION = (ErrorClass.TRANSPORT, ErrorClass.NOT_LEADER)
"""What a send may not fail with: a lost connection is the client's to repair."""

RESENDS = "resend_pending"
"""Capability of clients that send again what a lost connection left without a receipt; with others it fails."""

IN_FLIGHT_NS = 100 * MS
"""How long a completion may be under way from the client to the bench on a busy machine."""


def operations(check: Check, unit: Unit) -> Iterator[Operation]:
    """The sends inside a unit."""
    if unit.line.handle is not None:
        for number in unit.numbers:
            operation = check.tracker.send_of(unit.line.handle, number)
            if operation is not None:
                yield operation


def ended_ns(end: Completion | Received) -> int:
    """When the agent heard of it. A busy machine may bring it to the bench much later; that it came to the bench before
    the agent heard of it is an error of their clocks."""
    return end.t_ns if end.done_ns is None else min(end.done_ns, end.t_ns)


def done_before(check: Check, unit: Unit, seq: int) -> bool:
    """Some send inside had ended before event `seq`."""
    return any(operation.completion and operation.completion.seq < seq for operation in operations(check, unit))


class UnreceiptedAgain(Check):
    """On each new session, once admitted, every owed unit is sent again.

    Proof that it was not: a later unit went out on that session, or the session lived on for longer than a reconnect
    may take. A send that timed out or whose producer was closed is owed nothing any more.
    """

    requirement = RequirementId("resend.pending-sends-resent")
    skips_plain = True

    def start(self) -> None:
        self._failed: list[tuple[Unit, int, Completion]] = []

    @on(Completion, "send")
    def completion(self, event: Completion) -> None:
        if event.error is None or event.error not in NO_CONNECTION or event.handle is None:
            return
        number = self.tracker.operations[event.op].invoke.number or 0
        unit = self.tracker.lines.by_message.get((event.handle, number))
        if unit is None or unit.answered or unit.line.closing is not None:
            return
        self._failed.append((unit, unit.session.conn, event))

    def finish(self) -> None:
        for unit, conn, failed in self._failed:
            self._failed_instead(unit, conn, failed)
        for line in self.tracker.lines.all:
            if line.handle in self.tracker.foresight.unsure:
                continue
            for place, session in enumerate(line.sessions[1:], 1):
                if session.ready is not None:
                    following = line.sessions[place + 1] if place + 1 < len(line.sessions) else None
                    self._judge(line, session, session.ready, following)

    def _failed_instead(self, unit: Unit, conn: int, failed: Completion) -> None:
        """Where something stands between the client and the link, the client may know of the end before the link."""
        closed = self.tracker.closed.get(conn)
        if closed is not None and closed.t_ns <= failed.t_ns + IN_FLIGHT_NS:
            self.breach(
                "failed-instead",
                f"{unit.line}: sequence id {unit.sequence_id} was sent at {ms(unit.first.t_ns)}, connection {conn} "
                f"ended at {ms(closed.t_ns)}, and the send failed at {ms(failed.t_ns)} ({failed.error}) instead of "
                "being sent again",
                unit.first,
                closed,
                failed,
            )

    def _judge(self, line: Line, session: ProducerSession, ready: Frame, following: ProducerSession | None) -> None:
        until_ns = self._until(session, following)
        for unit in line.units:
            if unit.first.seq > ready.seq:
                break
            receipted = unit.receipts and unit.receipts[0].seq < ready.seq
            if receipted or not self._owed(unit, ready):
                continue
            again = unit.sent_on(session)
            if again is not None:
                self.exercise(again)
            else:
                self._missing(unit, session, ready, until_ns)

    def _owed(self, unit: Unit, ready: Frame) -> bool:
        if any(answer.seq < ready.seq for answer in (*unit.receipts, *unit.errors)):
            return False
        closing = unit.line.closing
        return not (closing and closing.seq < ready.seq) and not done_before(self, unit, ready.seq)

    def _missing(self, unit: Unit, session: ProducerSession, ready: Frame, until_ns: int) -> None:
        known = list(operations(self, unit))
        ends = [operation.completion for operation in known if operation.completion is not None]
        if not known or any(end.error is ErrorClass.CLOSED for end in ends):
            return
        gave_up_ns = min((ended_ns(end) for end in ends if end.outcome is not Outcome.OK), default=until_ns)
        later = (behind.sent_on(session) for behind in unit.line.units[unit.index + 1 :])
        overtaking = next((frame for frame in later if frame is not None), None)
        if overtaking is not None and overtaking.t_ns + IN_FLIGHT_NS < gave_up_ns:
            self._breach(unit, session, ready, overtaking)
            return
        closing = unit.line.closing
        if closing is not None:
            gave_up_ns = min(gave_up_ns, closing.t_ns)
        timing = self.tracker.load.timing(ready.t_ns, ready.t_ns, min(until_ns, gave_up_ns), TOLERANCES["reconnect"])
        if timing is Timing.LATE:
            self._breach(unit, session, ready, *ends[:1])
        elif timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a resend was only late")

    def _breach(self, unit: Unit, session: ProducerSession, ready: Frame, *proof: Event) -> None:
        after = f"; {unit.line} went on there at {ms(proof[0].t_ns)}" if proof else ""
        self.breach(
            "not-sent-again",
            f"{unit.line}: {unit}, sent at {ms(unit.first.t_ns)}, has no receipt and was not sent again on connection "
            f"{session.conn}, where the producer was admitted at {ms(ready.t_ns)}{after}",
            unit.first,
            ready,
            *proof,
        )

    def _until(self, session: ProducerSession, following: ProducerSession | None) -> int:
        """When the session was over: its connection, the next session or the Case ended, or the broker closed it."""
        request = None if following is None else following.request
        endings = (self.tracker.closed.get(session.conn), session.sent_away, request)
        return min([self.tracker.end_ns, *(event.t_ns for event in endings if event is not None)])


class KeepsQueueOrder(Check):
    """On a new session units leave in queue order, from the head, and none that was acknowledged leaves again."""

    requirement = RequirementId("resend.keeps-queue-order")
    skips_plain = True

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if not self.tracker.lines.again or unit is None:
            return
        session = unit.session
        # Sent twice on one session, it was the broker who asked for it.
        if session.ready is not None and unit.sent_on(session) is event:
            self._judge(unit, session, session.ready, event)

    def _judge(self, unit: Unit, session: ProducerSession, ready: Frame, event: Frame) -> None:
        furthest = session.furthest
        self.exercise(event)
        if furthest is not None and unit.index < furthest[0].index:
            self.breach(
                "out-of-order",
                f"{unit.line}: {unit} was sent again on connection {session.conn} at {ms(event.t_ns)}, after "
                f"{furthest[0]} at {ms(furthest[1].t_ns)}, which stands behind it in the queue",
                unit.first,
                furthest[1],
                event,
            )
        done = [operation.completion for operation in operations(self, unit)]
        acknowledged = [end for end in done if end and end.outcome is Outcome.OK and end.seq < ready.seq]
        if acknowledged and len(acknowledged) == len(done):
            self.breach(
                "sent-after-receipt",
                f"{unit.line}: {unit} was acknowledged at {ms(acknowledged[0].t_ns)} and sent again on connection "
                f"{session.conn} at {ms(event.t_ns)}, where the producer was admitted at {ms(ready.t_ns)}",
                acknowledged[0],
                ready,
                event,
            )


class SameUnit(Check):
    """A unit that is sent again on a new session is the same bytes, under the same ids, with the same messages."""

    requirement = RequirementId("resend.identical-bytes")
    skips_plain = True

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        lines = self.tracker.lines
        unit = lines.unit
        if not lines.again or unit is None or unit.sent_on(unit.session) is not event:
            return
        if not unit.numbers and unit.line.handle in lines.reuses_ids:
            return  # Messages too small to tell, under an id that others had: which of them it is, nobody knows.
        self.exercise(event)
        first = unit.first
        numbers = lines.numbers(event.members, unit.session.topic)
        if numbers != unit.numbers and numbers and unit.numbers:
            self._breach("cut-again", unit, event, f"messages {_span(unit.numbers)}", _span(numbers))
        elif event.sequence_id != first.sequence_id:
            self._breach("id-changed", unit, event, f"sequence id {first.sequence_id}", str(event.sequence_id))
        elif (event.highest_sequence_id or 0) != (first.highest_sequence_id or 0):
            highest = f"highest sequence id {first.highest_sequence_id}"
            self._breach("id-changed", unit, event, highest, str(event.highest_sequence_id))
        elif event.num_messages != first.num_messages:
            self._breach("cut-again", unit, event, f"{first.num_messages} messages", str(event.num_messages))
        elif event.unit != first.unit and None not in (event.unit, first.unit):
            self._breach("bytes-changed", unit, event, f"checksum {first.unit:#010x}", f"{event.unit:#010x}")

    def _breach(self, code: str, unit: Unit, event: Frame, expected: str, came: str) -> None:
        self.breach(
            code,
            f"{unit.line} sent {unit} again on connection {event.conn} at {ms(event.t_ns)} as something else: expected "
            f"{expected} as at {ms(unit.first.t_ns)}, got {came}",
            unit.first,
            event,
        )


def _span(numbers: tuple[int, ...]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


class WaitsForProducerSuccess(Check):
    """No SEND leaves before the PRODUCER_SUCCESS of its producer on that connection; sends asked for meanwhile wait."""

    requirement = RequirementId("resend.waits-for-producer-success")
    skips_plain = True

    def start(self) -> None:
        self._begun: set[ProducerSession | None] = set()
        """Sessions that were admitted before their first SEND."""

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session in self._begun:
            return
        if session is None:
            self.breach(
                "no-producer",
                f"a SEND (sequence id {event.sequence_id}) left on connection {event.conn} at {ms(event.t_ns)} for "
                f"producer id {event.producer_id}, which was never announced there",
                event,
            )
        elif session.ready is None:
            self.breach(
                "sent-too-early",
                f"producer {session.name or session.producer_id}: sequence id {event.sequence_id} left on connection "
                f"{event.conn} at {ms(event.t_ns)}; PRODUCER was sent at {ms(session.request.t_ns)} and not "
                "answered yet",
                session.request,
                event,
            )
        else:
            self._begun.add(session)
            if session.line is not None and session.line.sessions[0] is not session:
                self.exercise(event)

    @on(Completion, "send")
    def completion(self, event: Completion) -> None:
        """A send asked for while the producer was between two connections must not fail for that."""
        if event.error is None or event.error not in NO_CONNECTION or event.handle is None:
            return
        invoke = self.tracker.operations[event.op].invoke
        if (event.handle, invoke.number or 0) in self.tracker.lines.by_message:
            return
        line = next((line for line in self.tracker.lines.of_handle(event.handle) if line.admitted), None)
        if line is None or line.closing is not None:
            return
        lost = self.tracker.closed.get(line.sessions[-1].conn)
        if lost is not None and lost.seq < invoke.seq and not self._may_have_left(lost, invoke):
            self.breach(
                "failed-meanwhile",
                f"{line}: connection {lost.conn} ended at {ms(lost.t_ns)}; message {invoke.number}, asked for at "
                f"{ms(invoke.t_ns)}, failed at {ms(event.t_ns)} ({event.error}) instead of waiting for the next one",
                lost,
                invoke,
                event,
            )

    def _may_have_left(self, lost: Closed, invoke: Invoke) -> bool:
        """Whoever does not send again fails what left just before it noticed, and nobody saw that leave."""
        if RESENDS in self.view.facts.capabilities:
            return False
        return self.tracker.load.timing(lost.t_ns, lost.t_ns, invoke.t_ns, TOLERANCES["answer"]) is not Timing.LATE
