"""Resend and time-out: what a client owes a send whose connection dies before the receipt.

The client keeps sent units in a queue until their receipts come. When it has registered its producer again it sends the
whole queue from the head, as the same bytes, before anything new. A receipt fits the head or it does not: an older one
is ignored, a newer one means that one was lost, and the connection is no longer worth anything. What stays without a
receipt for the send time-out fails, once.

A receipt written to the client around a cut may or may not have reached it. So a unit is *owed* a resend only when no
receipt was written for it at all, and it *must not* be sent again only when its completion reached the bench before the
bench wrote the PRODUCER_SUCCESS that allows resending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation, ProducerSession
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    ClosedBy,
    Completion,
    Ended,
    ErrorClass,
    Event,
    Frame,
    Invoke,
    Outcome,
    Undecodable,
)
from assay_conformance.model.requirement import RequirementId

DEFAULT_SEND_TIMEOUT_MS = 30_000

NO_CONNECTION = (ErrorClass.TRANSPORT, ErrorClass.NOT_LEADER)
"""What a send may not fail with: a lost connection is the client's to repair."""

IN_FLIGHT_NS = 100 * MS
"""How long a completion may be under way from the client to the bench on a busy machine."""


def operations(check: Check, unit: Unit) -> Iterator[Operation]:
    """The sends inside a unit."""
    if unit.line.handle is not None:
        for number in unit.numbers:
            operation = check.tracker.send_of(unit.line.handle, number)
            if operation is not None:
                yield operation


def done_before(check: Check, unit: Unit, seq: int) -> bool:
    """Some send inside had ended before event `seq`."""
    return any(operation.completion and operation.completion.seq < seq for operation in operations(check, unit))


class UnreceiptedAgain(Check):
    """On each new session, once admitted, every owed unit is sent again.

    Proof that it was not: a later unit went out on that session, or the session lived on for longer than a reconnect
    may take. A send that timed out or whose producer was closed is owed nothing any more.
    """

    requirement = RequirementId("resend.unreceipted-again")

    def start(self) -> None:
        self._end_ns = 0

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self._end_ns = event.t_ns

    @on(Completion)
    def completion(self, event: Completion) -> None:
        if event.verb != "send" or event.error not in NO_CONNECTION or event.handle is None:
            return
        number = self.tracker.operations[event.op].invoke.number or 0
        unit = self.tracker.lines.by_message.get((event.handle, number))
        if unit is None or unit.answered or unit.line.closing is not None:
            return
        closed = self.tracker.closed.get(unit.session.conn)
        if closed is not None:
            self.breach(
                "failed-instead",
                f"{unit.line}: message {number} was sent at {ms(unit.first.t_ns)}, connection {closed.conn} ended at "
                f"{ms(closed.t_ns)}, and the send failed at {ms(event.t_ns)} ({event.error}) instead of being sent again",
                unit.first,
                closed,
                event,
            )

    def finish(self) -> None:
        for line in self.tracker.lines.all:
            for place, session in enumerate(line.sessions[1:], 1):
                if session.ready is not None:
                    following = line.sessions[place + 1] if place + 1 < len(line.sessions) else None
                    self._judge(line, session, session.ready, following)

    def _judge(self, line: Line, session: ProducerSession, ready: Frame, following: ProducerSession | None) -> None:
        until_ns = self._until(session, following)
        for unit in line.units:
            if unit.first.seq > ready.seq:
                break
            if not self._owed(unit, ready):
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
        gave_up_ns = min((end.t_ns for end in ends if end.outcome is not Outcome.OK), default=until_ns)
        later = (behind.sent_on(session) for behind in unit.line.units[unit.index + 1 :])
        overtaking = next((frame for frame in later if frame is not None), None)
        if overtaking is not None and overtaking.t_ns + IN_FLIGHT_NS < gave_up_ns:
            self._breach(unit, session, ready, overtaking)
            return
        closing = unit.line.closing
        if closing is not None:
            gave_up_ns = min(gave_up_ns, closing.t_ns)
        timing = self.tracker.load.timing(
            ready.t_ns, ready.t_ns, min(until_ns, gave_up_ns), TOLERANCES["reconnect"]
        )
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
        """When the session was over: its connection, the next session, or the Case ended."""
        closed = self.tracker.closed.get(session.conn)
        ends = [self._end_ns, *([closed.t_ns] if closed else []), *([following.request.t_ns] if following else [])]
        return min(ends)


class KeepsQueueOrder(Check):
    """On a new session units leave in queue order, from the head, and none that was acknowledged leaves again."""

    requirement = RequirementId("resend.keeps-queue-order")

    def start(self) -> None:
        self._furthest: dict[int, tuple[ProducerSession, Unit, Frame]] = {}
        self._sent: set[tuple[int, int]] = set()

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or not event.from_sender:
            return
        session = unit.session
        if (id(session), id(unit)) in self._sent:
            return  # sent twice on one session: the broker asked for it
        self._sent.add((id(session), id(unit)))
        furthest = self._furthest.get(id(session))
        if self.tracker.lines.again and session.ready is not None:
            self._judge(unit, session, session.ready, event, furthest)
        if furthest is None or unit.index > furthest[1].index:
            self._furthest[id(session)] = (session, unit, event)

    def _judge(
        self,
        unit: Unit,
        session: ProducerSession,
        ready: Frame,
        event: Frame,
        furthest: tuple[ProducerSession, Unit, Frame] | None,
    ) -> None:
        self.exercise(event)
        if furthest is not None and unit.index < furthest[1].index:
            self.breach(
                "out-of-order",
                f"{unit.line}: {unit} was sent again on connection {session.conn} at {ms(event.t_ns)}, after "
                f"{furthest[1]} at {ms(furthest[2].t_ns)}, which stands behind it in the queue",
                unit.first,
                furthest[2],
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
    """A unit that is sent again is the same bytes, under the same ids, with the same messages inside."""

    requirement = RequirementId("resend.same-unit")

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        lines = self.tracker.lines
        unit = lines.unit
        if unit is None or not lines.again or not event.from_sender or unit.first is event:
            return
        self.exercise(event)
        first = unit.first
        numbers = lines.numbers(event.members)
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

    def start(self) -> None:
        self._begun: set[int] = set()

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        if not event.from_sender:
            return
        session = self.tracker.producer_of(event)
        if session is None:
            self.breach(
                "no-producer",
                f"a SEND (sequence id {event.sequence_id}) left on connection {event.conn} at {ms(event.t_ns)} for "
                f"producer id {event.producer_id}, which was never announced there",
                event,
            )
        elif session.ready is None or session.ready.fields.get("producer_ready") is False:
            self.breach(
                "sent-too-early",
                f"producer {session.name or session.producer_id}: sequence id {event.sequence_id} left on connection "
                f"{event.conn} at {ms(event.t_ns)}; PRODUCER was sent at {ms(session.request.t_ns)} and not answered yet",
                session.request,
                event,
            )
        elif id(session) not in self._begun:
            self._begun.add(id(session))
            if session.line is not None and session.line.sessions[0] is not session:
                self.exercise(event)

    @on(Completion)
    def completion(self, event: Completion) -> None:
        """A send asked for while the producer was between two connections must not fail for that."""
        if event.verb != "send" or event.error not in NO_CONNECTION or event.handle is None:
            return
        invoke = self.tracker.operations[event.op].invoke
        if (event.handle, invoke.number or 0) in self.tracker.lines.by_message:
            return
        line = next(self.tracker.lines.of_handle(event.handle), None)
        if line is None or line.closing is not None or not line.sessions:
            return
        lost = self.tracker.closed.get(line.sessions[-1].conn)
        if lost is not None and lost.seq < invoke.seq:
            self.breach(
                "failed-meanwhile",
                f"{line}: connection {lost.conn} ended at {ms(lost.t_ns)}; message {invoke.number}, asked for at "
                f"{ms(invoke.t_ns)}, failed at {ms(event.t_ns)} ({event.error}) instead of waiting for the next one",
                lost,
                invoke,
                event,
            )


@dataclass(slots=True)
class _Stale:
    receipt: Frame
    session: ProducerSession


class IgnoresStaleReceipt(Check):
    """A receipt for something older than the head of the queue changes nothing: no completion, no reconnect."""

    requirement = RequirementId("resend.ignores-stale-receipt")

    def start(self) -> None:
        self._stale: list[_Stale] = []
        self._queues = Queues()
        self._spoiled: set[int] = set()
        """Connections on which something else happened that is a reason to leave."""

    @on(Undecodable)
    def undecodable(self, event: Undecodable) -> None:
        self._spoiled.add(event.conn)

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self._spoiled.update(self.tracker.opened)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        self._queues.sent(self, event)

    @on(Frame, "SEND_ERROR")
    def error(self, event: Frame) -> None:
        self._spoiled.add(event.conn)
        self._queues.answered(self, event)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        if not event.to_receiver:
            return
        lines, session = self.tracker.lines, self.tracker.producer_of(event)
        unit = lines.unit
        if session is None or unit is None:
            return
        head = self._queues.head(self, session)
        timed_out = done_before(self, unit, event.seq)
        if (lines.stale or timed_out) and (head is None or (event.sequence_id or 0) < head.sequence_id):
            self._stale.append(_Stale(event, session))
        elif head is not None and unit is not head:
            self._spoiled.add(event.conn)
        self._queues.answered(self, event)

    @on(Completion)
    def completion(self, event: Completion) -> None:
        if event.verb != "send" or event.handle is None:
            return
        operation = self.tracker.operations[event.op]
        first = operation.completion
        number = operation.invoke.number or 0
        unit = self.tracker.lines.by_message.get((event.handle, number))
        if first is not None and first is not event:
            self.breach(
                "completed-twice",
                f"producer {event.handle}: message {number} completed at {ms(first.t_ns)} ({first.outcome}) and again at "
                f"{ms(event.t_ns)} ({event.outcome})",
                first,
                event,
                *(unit.receipts[-1:] if unit else ()),
            )
        elif event.outcome is Outcome.OK and unit is not None and not unit.receipts and self._stale:
            stale = self._stale[-1].receipt
            self.breach(
                "completed-by-stale-receipt",
                f"{unit.line}: message {number} was reported as sent at {ms(event.t_ns)}; no receipt for {unit} was "
                f"written to the client, only one for sequence id {stale.sequence_id} at {ms(stale.t_ns)}",
                stale,
                unit.first,
                event,
            )

    def finish(self) -> None:
        for stale in self._stale:
            receipt, line = stale.receipt, stale.session.line
            closed = self.tracker.closed.get(receipt.conn)
            left = closed is not None and closed.by is ClosedBy.CLIENT
            soon = closed is not None and closed.t_ns - receipt.t_ns <= TOLERANCES["answer"].slack_ns
            asked = line is not None and line.closing is not None and closed and line.closing.seq < closed.seq
            if receipt.conn in self._spoiled or (soon and not left):
                continue
            self.exercise(receipt)
            if closed is not None and soon and not asked:
                self.breach(
                    "left-the-connection",
                    f"{line}: the client closed connection {closed.conn} at {ms(closed.t_ns)}, after a stale receipt for "
                    f"sequence id {receipt.sequence_id} at {ms(receipt.t_ns)}, which it should ignore",
                    receipt,
                    closed,
                )


class Queues:
    """Per session, the client's queue as far as the wire shows it: units sent there and not answered there."""

    def __init__(self) -> None:
        self._queues: dict[int, tuple[ProducerSession, deque[Unit]]] = {}

    def sent(self, check: Check, event: Frame) -> None:
        unit = check.tracker.lines.unit
        if unit is not None and event.from_sender:
            self._queue(unit.session).append(unit)

    def answered(self, check: Check, event: Frame) -> None:
        session, unit = check.tracker.producer_of(event), check.tracker.lines.unit
        if session is None or unit is None or not event.to_receiver or check.tracker.lines.stale:
            return
        queue = self._queue(session)
        if queue and queue[0] is unit:
            queue.popleft()
        elif unit in queue:
            queue.remove(unit)

    def head(self, check: Check, session: ProducerSession) -> Unit | None:
        """The oldest unit that still waits: one whose sends have failed is no longer in the client's queue."""
        queue = self._queue(session)
        while queue and _given_up(check, queue[0]):
            queue.popleft()
        return queue[0] if queue else None

    def _queue(self, session: ProducerSession) -> deque[Unit]:
        return self._queues.setdefault(id(session), (session, deque()))[1]


def _given_up(check: Check, unit: Unit) -> bool:
    return any(
        operation.completion is not None and operation.completion.outcome is not Outcome.OK
        for operation in operations(check, unit)
    )


@dataclass(slots=True)
class _Ahead:
    receipt: Frame
    unit: Unit
    head: Unit
    session: ProducerSession


class LeavesOnReceiptAhead(Check):
    """A receipt for something behind the head means that the head's was lost: the client closes the connection.

    That it then sends from the head is the matter of the two clauses on resending.
    """

    requirement = RequirementId("resend.leaves-on-receipt-ahead")

    def start(self) -> None:
        self._queues = Queues()
        self._ahead: dict[int, _Ahead] = {}
        self._end_ns = 0

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self._end_ns = event.t_ns

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        self._queues.sent(self, event)

    @on(Frame, "SEND_ERROR")
    def error(self, event: Frame) -> None:
        self._queues.answered(self, event)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        if not event.to_receiver:
            return
        lines, session = self.tracker.lines, self.tracker.producer_of(event)
        if session is not None and lines.unit is not None and not lines.stale and event.conn not in self._ahead:
            head = self._queues.head(self, session)
            if head is not None and (event.sequence_id or 0) > head.sequence_id and lines.unit.index > head.index:
                self._ahead[event.conn] = _Ahead(event, lines.unit, head, session)
        self._queues.answered(self, event)

    def finish(self) -> None:
        for ahead in self._ahead.values():
            self._judge(ahead)

    def _judge(self, ahead: _Ahead) -> None:
        receipt, line = ahead.receipt, ahead.unit.line
        given_up = (operation.completion for operation in operations(self, ahead.head))
        if any(
            end is not None and end.outcome is not Outcome.OK and end.t_ns < receipt.t_ns + IN_FLIGHT_NS
            for end in given_up
        ):
            return
        closed = self.tracker.closed.get(receipt.conn)
        tolerance = TOLERANCES["answer"]
        until_ns = self._until(ahead, closed)
        if until_ns <= receipt.t_ns + tolerance.slack_ns:
            if closed is not None and closed.by is ClosedBy.CLIENT and closed.t_ns == until_ns:
                self.exercise(receipt)
            return
        if self.tracker.load.timing(receipt.t_ns, receipt.t_ns, until_ns, tolerance) is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether the client only left late")
            return
        self.exercise(receipt)
        self.breach(
            "stayed",
            f"{line}: a receipt for {ahead.unit} came at {ms(receipt.t_ns)} while {ahead.head} waited at the head of the "
            f"queue; the client should close connection {receipt.conn} and still used it at {ms(until_ns)}",
            ahead.head.first,
            receipt,
            *([closed] if closed else []),
        )

    def _until(self, ahead: _Ahead, closed: Closed | None) -> int:
        """When the connection ended, or was given up for another reason."""
        line = ahead.unit.line
        ends = [self._end_ns]
        if closed is not None:
            ends.append(closed.t_ns)
        if line.closing is not None:
            ends.append(line.closing.t_ns)
        ends.extend(session.request.t_ns for session in line.sessions if session.request.seq > ahead.receipt.seq)
        return min(ends)


class SendTimeout(Check):
    """A send without a receipt fails with a time-out, at its send time-out and not before.

    One timer may take the whole queue with it when the head expires (Java and C++ do): the young ones die early, but
    never before the oldest is due. A blocking send starts its clock when the queue lets it in, which nobody sees.
    """

    requirement = RequirementId("resend.send-timeout")

    def start(self) -> None:
        self._end_ns = 0

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self._end_ns = event.t_ns

    def finish(self) -> None:
        for handle, sends in self.tracker.sends.items():
            timeout_ms = self.view.producer_setting(handle, "send_timeout_ms")
            blocking = self.view.producer_setting(handle, "block_if_queue_full")
            if timeout_ms != 0 and not blocking:
                self._judge(handle, sends, int(timeout_ms or DEFAULT_SEND_TIMEOUT_MS) * MS)

    def _judge(self, handle: int, sends: list[Operation], timeout_ns: int) -> None:
        expired_ns: int | None = None
        closing = self.tracker.lines.closings.get(handle)
        for send in sends:
            end = send.completion
            called_ns = (end.called_ns if end else None) or send.invoke.t_ns
            due_ns = called_ns + timeout_ns
            if self._receipted_in_time(handle, send, due_ns) or self._otherwise_ended(end, closing, due_ns):
                continue
            if end is not None and end.error is ErrorClass.TIMEOUT:
                seen_ns = end.done_ns or end.t_ns
                if seen_ns < due_ns - TOLERANCES["time-out-early"].slack_ns:
                    if expired_ns is None or seen_ns - expired_ns > IN_FLIGHT_NS:
                        self._early(handle, send, end, due_ns)
                    continue
                expired_ns = seen_ns
            self._late(handle, send, called_ns, due_ns)

    def _late(self, handle: int, send: Operation, called_ns: int, due_ns: int) -> None:
        end = send.completion
        seen_ns = self._end_ns if end is None else (end.done_ns or end.t_ns)
        timing = self.tracker.load.timing(called_ns, due_ns, seen_ns, TOLERANCES["send-timeout"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge a send time-out")
        elif timing is Timing.LATE:
            if end is None:
                code, came = "never", "it had not ended when the Case did"
            else:
                code, came = "late", f"it ended at {ms(seen_ns)} ({end.error or end.outcome})"
            self.breach(
                code,
                f"producer {handle}: message {send.invoke.number}, sent at {ms(called_ns)}, got no receipt; it was due to "
                f"time out at {ms(due_ns)}, and {came}",
                *self._evidence(handle, send, end),
            )
        elif end is not None and end.error is ErrorClass.TIMEOUT:
            self.exercise(end)

    def _early(self, handle: int, send: Operation, end: Completion, due_ns: int) -> None:
        self.breach(
            "early",
            f"producer {handle}: message {send.invoke.number} timed out at {ms(end.done_ns or end.t_ns)}, but was due at "
            f"{ms(due_ns)}, and no older one had expired",
            *self._evidence(handle, send, end),
        )

    def _evidence(self, handle: int, send: Operation, end: Completion | None) -> Iterator[Event]:
        yield send.invoke
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is not None:
            yield unit.first
        if end is not None:
            yield end

    def _receipted_in_time(self, handle: int, send: Operation, due_ns: int) -> bool:
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is None:
            return False
        return any(
            answer.t_ns <= due_ns + TOLERANCES["send-timeout"].slack_ns for answer in (*unit.receipts, *unit.errors)
        )

    def _otherwise_ended(self, end: Completion | None, closing: Invoke | None, due_ns: int) -> bool:
        """Ended for another reason, or its producer was closed before its time came."""
        if closing is not None and closing.t_ns <= due_ns + TOLERANCES["send-timeout"].slack_ns:
            return True
        if end is None or end.error is ErrorClass.TIMEOUT:
            return False
        return (end.done_ns or end.t_ns) <= due_ns
