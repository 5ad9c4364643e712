"""Receipts: what a client makes of one that does not fit the head of its queue.

A receipt fits the head or it does not. One for something older is late news and is ignored; one for something newer
means that the head's was lost, and the connection is no longer worth anything. Older and newer are told by sequence id,
so where the application chooses those itself, in whatever order, neither is judged.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.checks.leaving import LOOKUPS, is_busy, is_readable, may_have_heard_nothing
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.resend import IN_FLIGHT_NS, done_before, ended_ns, operations
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    ClosedBy,
    Completion,
    Fate,
    Fired,
    Frame,
    Outcome,
    Undecodable,
)
from assay_conformance.model.requirement import RequirementId

_ALTERED = Fate.ALTERED


class IgnoresStaleReceipt(Check):
    """A receipt for something older than the head of the queue changes nothing: no completion, no reconnect."""

    requirement = RequirementId("resend.ignores-stale-receipt")
    skips_plain = True

    def start(self) -> None:
        self._stale: list[tuple[Frame, Line]] = []
        self._spoiled: set[int] = set()
        """Connections on which something else happened that is a reason to leave."""
        self._ahead: dict[int, Frame] = {}
        """Producer handle -> the last receipt for something behind its head: to leave over, and another clause's."""
        self._answered: dict[int, set[int | None]] = {}
        """Connection -> handles of the producers that were sent a receipt over it."""

    @on(Undecodable)
    def undecodable(self, event: Undecodable) -> None:
        self._spoiled.add(event.conn)

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self._spoiled.update(self.tracker.opened)

    @on(Frame, "SEND_ERROR")
    def error(self, event: Frame) -> None:
        self._spoiled.add(event.conn)

    @on(Frame, *LOOKUPS, seen=CAME)
    def looked_up(self, event: Frame) -> None:
        if is_busy(event):
            self._spoiled.add(event.conn)

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None and event.action == "inject":
            self._spoiled.add(event.conn)

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        if not is_readable(event):
            self._spoiled.add(event.conn)

    @on(Frame, "SEND_RECEIPT", seen=CAME)
    def receipt(self, event: Frame) -> None:
        if event.fate is _ALTERED:
            self._spoiled.add(event.conn)
        lines = self.tracker.lines
        unit, head = lines.unit, lines.head
        if unit is not None:
            self._answered.setdefault(event.conn, set()).add(unit.line.handle)
            if unit.line.handle in lines.forged_sends:
                self._spoiled.add(event.conn)
        if unit is None or (unit is head and not lines.stale) or unit.line.handle in lines.foresight.explicit:
            return
        behind = head is None or (event.sequence_id or 0) < head.sequence_id
        if behind and (lines.stale or done_before(self, unit, event.seq)):
            self._stale.append((event, unit.line))
        elif head is not None:
            self._spoiled.add(event.conn)
            if not behind:
                self._ahead[unit.line.handle or 0] = event

    @on(Completion, "send")
    def completion(self, event: Completion) -> None:
        operation = self.tracker.operations[event.op]
        first = operation.completion
        if event.handle is None or (first is event and not self._stale):
            return
        number = operation.invoke.number or 0
        unit = self.tracker.lines.by_message.get((event.handle, number))
        if first is not None and first is not event:
            self.breach(
                "completed-twice",
                f"producer {event.handle}: message {number} completed at {ms(first.t_ns)} ({first.outcome}) "
                f"and again at {ms(event.t_ns)} ({event.outcome})",
                first,
                event,
                *(unit.receipts[-1:] if unit else ()),
            )
        elif self._stale and event.outcome is Outcome.OK and unit is not None and not unit.receipts:
            if event.handle in self.tracker.foresight.unsure | self.tracker.lines.unpaired:
                return
            stale, _ = self._stale[-1]
            if (ahead := self._ahead.get(event.handle)) is not None and ahead.seq > stale.seq:
                return
            self.breach(
                "completed-by-stale-receipt",
                f"{unit.line}: message {number} was reported as sent at {ms(event.t_ns)}; no receipt for {unit} was "
                f"written to the client, only one for sequence id {stale.sequence_id} at {ms(stale.t_ns)}",
                stale,
                unit.first,
                event,
            )

    def finish(self) -> None:
        for receipt, line in self._stale:
            closed = self.tracker.closed.get(receipt.conn)
            left = closed is not None and closed.by is ClosedBy.CLIENT
            soon = closed is not None and closed.t_ns - receipt.t_ns <= TOLERANCES["answer"].slack_ns
            asked = line.closing is not None and closed is not None and line.closing.seq < closed.seq
            # Nobody can say that a client was not asked to leave when it is not known whose producer it is, nor what is
            # stale, or lies ahead and is to be left over, where nobody knows which receipt is which SEND's.
            unclear = line.handle is None or not self._answered[receipt.conn].isdisjoint(self.tracker.lines.unpaired)
            if receipt.conn in self._spoiled or (soon and not left) or unclear:
                continue
            if closed is not None and soon and not asked and may_have_heard_nothing(self.view, closed):
                self.undecided(f"the machine was too busy to say why connection {closed.conn} was left")
                continue
            self.exercise(receipt)
            if closed is not None and soon and not asked:
                self.breach(
                    "left-the-connection",
                    f"{line}: the client closed connection {closed.conn} at {ms(closed.t_ns)}, after a stale "
                    f"receipt for sequence id {receipt.sequence_id} at {ms(receipt.t_ns)}, which it should ignore",
                    receipt,
                    closed,
                )


@dataclass(slots=True)
class _Ahead:
    receipt: Frame
    unit: Unit
    head: Unit


class LeavesOnReceiptAhead(Check):
    """A receipt for something behind the head means that the head's was lost: the client closes the connection.

    That it then sends from the head is the matter of the two clauses on resending. Where the messages of the head are
    not known, nor whether they timed out, nothing is judged; nor where one id was given to two messages, since the
    receipt that looks like the first one's may have been the head's.
    """

    requirement = RequirementId("resend.receipt-ahead-closes-connection")
    skips_plain = True

    def start(self) -> None:
        self._ahead: dict[int, _Ahead] = {}

    @on(Frame, "SEND_RECEIPT", seen=CAME)
    def receipt(self, event: Frame) -> None:
        lines = self.tracker.lines
        unit, head = lines.unit, lines.head
        if unit is head or unit is None or head is None or lines.stale or event.conn in self._ahead:
            return
        if unit.line.handle in lines.foresight.explicit or not head.numbers or unit.session.sent_away is not None:
            return
        if (event.sequence_id or 0) > head.sequence_id and unit.index > head.index:
            self._ahead[event.conn] = _Ahead(event, unit, head)

    def finish(self) -> None:
        for ahead in self._ahead.values():
            if ahead.unit.line.handle not in self.tracker.lines.unpaired:
                self._judge(ahead)

    def _judge(self, ahead: _Ahead) -> None:
        receipt, line = ahead.receipt, ahead.unit.line
        given_up = (operation.completion for operation in operations(self, ahead.head))
        if any(
            end is not None and end.outcome is not Outcome.OK and ended_ns(end) < receipt.t_ns + IN_FLIGHT_NS
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
        if not self.view.is_read_at_once():
            return  # A broker that has stopped reading learns late of who has left.
        if self.tracker.load.timing(receipt.t_ns, receipt.t_ns, until_ns, tolerance) is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether the client only left late")
            return
        self.exercise(receipt)
        self.breach(
            "stayed",
            f"{line}: a receipt for {ahead.unit} came at {ms(receipt.t_ns)} while {ahead.head} waited at the "
            "head of the "
            f"queue; the client should close connection {receipt.conn} and still used it at {ms(until_ns)}",
            ahead.head.first,
            receipt,
            *([closed] if closed else []),
        )

    def _until(self, ahead: _Ahead, closed: Closed | None) -> int:
        """When the connection ended, or was given up for another reason."""
        line = ahead.unit.line
        ends = [self.tracker.end_ns]
        if closed is not None:
            ends.append(closed.t_ns)
        if line.closing is not None:
            ends.append(line.closing.t_ns)
        ends.extend(session.request.t_ns for session in line.sessions if session.request.seq > ahead.receipt.seq)
        return min(ends)
