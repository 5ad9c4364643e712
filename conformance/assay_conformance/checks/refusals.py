"""What a client makes of a SEND_ERROR. (TopicTerminatedError: `termination.py`.)

| error                                         | what it means             | what is owed                      |
|-----------------------------------------------|---------------------------|-----------------------------------|
| PersistenceError, MetadataError, UnknownError | the broker cannot now     | the send again, registered anew   |
| ChecksumError                                 | spoilt on the way         | the send again, if its own is good |
| NotAllowedError                               | this one is not taken     | it fails, and nothing else does   |

Judged are messages sent alone: the error of a batch may name its last id, that of a chunk its message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.resend import IN_FLIGHT_NS, RESENDS, ended_ns, operations
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import ClosedBy, Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId

OWN_ENDS = (ErrorClass.TIMEOUT, ErrorClass.CLOSED)
"""How a send may end while the client does its duty: its time is up, or the application closed the producer."""


def was_read(check: Check, event: Frame, *, alone: bool) -> bool:
    """Whether the client certainly read what was written to it on a connection that then ended.

    It had time to, or it ended the connection itself and had no other reason: neither an error nor a receipt out of its
    turn had come there before, and `alone`, nothing else was wrong.
    """
    closed, other = check.tracker.closed.get(event.conn), check.tracker.may_be_left.get(event.conn)
    if closed is None or closed.t_ns - event.t_ns > IN_FLIGHT_NS:
        return True
    return closed.by is ClosedBy.CLIENT and alone and (other is None or event.seq <= other.seq)


class _RefusedSends(Check):
    """Collects refused sends whose producer is known: the error as it was written to the client, and the unit.

    Left out are those behind another error on their connection, or out of turn: a client may have left before them;
    and those behind the broker's own CLOSE_PRODUCER, which are for a producer that is no longer there.
    """

    needs = ((Frame, "SEND_ERROR"),)

    errors: ClassVar[frozenset[str]]

    def start(self) -> None:
        self._refused: list[tuple[Frame, Unit]] = []
        self._spoiled: set[int] = set()
        self._lost_ways: list[int] = []
        """Numbers of answers that a topic cannot be looked up."""

    @on(Frame, "LOOKUP_RESPONSE")
    def looked_up(self, event: Frame) -> None:
        if event.to_receiver and event.fields.get("error"):
            self._lost_ways.append(event.seq)

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        if not event.to_receiver:
            return
        lines = self.tracker.lines
        unit, first = lines.unit, event.conn not in self._spoiled
        self._spoiled.add(event.conn)
        session = self.tracker.producer_of(event)
        if session is None or session.sent_away is not None:
            return
        fits = first and unit is lines.head and not lines.stale and event.fields.get("error") in self.errors
        if fits and unit is not None and self._is_judged(unit):
            self._refused.append((event, unit))

    def _is_judged(self, unit: Unit) -> bool:
        """One message, no chunk, of a producer that is known."""
        chunk = unit.first.meta is not None and unit.first.meta.chunk_id is not None
        known = unit.line.handle is not None and unit.line.handle not in self.tracker.foresight.unsure
        return known and not chunk and len(unit.numbers) == 1

    def finish(self) -> None:
        for event, unit in self._refused:
            operation = next(operations(self, unit), None)
            if not was_read(self, event, alone=True):
                continue
            if operation is not None and (operation.completion is None or operation.completion.seq > event.seq):
                self.judge(event, unit, operation)

    def judge(self, event: Frame, unit: Unit, operation: Operation) -> None:
        """A send that had not ended when its error came."""
        raise NotImplementedError

    def lost_its_way(self, event: Frame, end: Completion) -> bool:
        """A topic could not be looked up between these two: what then failed, failed for that."""
        return any(event.seq < answer < end.seq for answer in self._lost_ways)

    def again(self, event: Frame, unit: Unit) -> Frame | None:
        """Its first SEND behind the error."""
        return next((frame for _, frame in unit.sends if frame.seq > event.seq), None)

    def until_ns(self, event: Frame, unit: Unit) -> int:
        """When the error's session was over, or the Case, or the producer."""
        closed, closing = self.tracker.closed.get(event.conn), unit.line.closing
        return min([self.tracker.end_ns, *([closed.t_ns] if closed else []), *([closing.t_ns] if closing else [])])

    def late(self, since_ns: int, until_ns: int, tolerance: str) -> bool:
        timing = self.tracker.load.timing(since_ns, since_ns, until_ns, TOLERANCES[tolerance])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a client only answered late")
        return timing is Timing.LATE


class _SendsAgain(_RefusedSends):
    def judge(self, event: Frame, unit: Unit, operation: Operation) -> None:
        again, end = self.again(event, unit), operation.completion
        if again is None and self._lost_with_its_connection(event, end):
            return
        if end is not None and end.outcome is not Outcome.OK and (again is None or end.seq < again.seq):
            if end.error not in OWN_ENDS and not self._shut_out(event, unit, end):
                came = f"its send failed at {ms(end.t_ns)} ({end.error}: {end.text})"
                self._breach("failed", event, unit, came, end)
            elif again is None and (passed := self._passed_over(event, unit, end)) is not None:
                came = f"a later one left in its place at {ms(passed.t_ns)}"
                self._breach("left-out", event, unit, came, passed, end)
        elif again is not None:
            self.exercise(again)
        elif end is None and self._idle(event, unit):
            self._breach("not-sent-again", event, unit, "nothing came of it")

    def _lost_with_its_connection(self, event: Frame, end: Completion | None) -> bool:
        """Whoever does not send again what a lost connection left owes the answer to the error on whole ones alone."""
        if end is None or RESENDS in self.view.facts.capabilities:
            return False
        lost = self.tracker.closed.values()
        return any(event.seq < one.seq < end.seq and one.by is not ClosedBy.CLIENT for one in lost)

    def _shut_out(self, event: Frame, unit: Unit, end: Completion) -> bool:
        """The producer asked for its broker, or to be let in again, and was refused: its sends end with that error."""
        return self.lost_its_way(event, end) or any(
            session.request.seq > event.seq and session.ready is None for session in unit.line.sessions
        )

    def _idle(self, event: Frame, unit: Unit) -> bool:
        """Neither the connection was left over it nor the producer registered anew: the client just went on."""
        if any(session.request.seq > event.seq for session in unit.line.sessions):
            return False
        return self.late(event.t_ns, self.until_ns(event, unit), "reconnect")

    def _passed_over(self, event: Frame, unit: Unit, end: Completion) -> Frame | None:
        """What stands behind it in the queue and left on a later session, while its own send was still to end."""
        closing = unit.line.closing
        until_ns = ended_ns(end) if closing is None else min(ended_ns(end), closing.t_ns)
        sessions = [session for session in unit.line.sessions if session.request.seq > event.seq]
        behind = unit.line.units[unit.index + 1 :]
        left = (frame for session in sessions for later in behind if (frame := later.sent_on(session)) is not None)
        return next((frame for frame in left if frame.t_ns + IN_FLIGHT_NS < until_ns), None)

    def _breach(self, code: str, event: Frame, unit: Unit, came: str, *proof: Frame | Completion) -> None:
        self.breach(
            code,
            f"{unit.line}: {unit}, sent at {ms(unit.first.t_ns)}, was answered {event.fields.get('error')} at "
            f"{ms(event.t_ns)}; it was expected to be sent again, and {came}",
            unit.first,
            event,
            *proof,
        )


class RetriesTransientError(_SendsAgain):
    """An error of the broker's store or metadata is no news for the application: the send goes out again."""

    requirement = RequirementId("resend.retries-transient-error")
    errors: ClassVar = frozenset({"PersistenceError", "MetadataError", "UnknownError"})


class ResendsSpoiltOnTheWay(_SendsAgain):
    """A checksum error for bytes that left the client whole is the way's fault, not the message's."""

    requirement = RequirementId("resend.checksum-error-resent")
    errors: ClassVar = frozenset({"ChecksumError"})

    def judge(self, event: Frame, unit: Unit, operation: Operation) -> None:
        if unit.first.intact:
            super().judge(event, unit, operation)


class NotAllowedFailsOne(_RefusedSends):
    """That send fails at once, is not sent again, and takes none of its neighbours along."""

    requirement = RequirementId("resend.not-allowed-fails-one")
    errors: ClassVar = frozenset({"NotAllowedError"})

    def start(self) -> None:
        super().start()
        self._sent_again: set[Unit] = set()

    def judge(self, event: Frame, unit: Unit, operation: Operation) -> None:
        again, end = self.again(event, unit), operation.completion
        if unit in self._sent_again:
            return
        if again is not None:
            self._sent_again.add(unit)
            came = f"it was sent again on connection {again.conn} at {ms(again.t_ns)}"
            self._breach("sent-again", event, unit, came, again)
            return
        ends_ns = self.until_ns(event, unit) if end is None else ended_ns(end)
        if end is None or end.error is ErrorClass.TIMEOUT:
            if self.late(event.t_ns, ends_ns, "answer"):
                self._breach(
                    "not-failed", event, unit, f"its send had not failed by {ms(ends_ns)}", *([end] if end else [])
                )
            return
        if end.outcome is Outcome.OK:
            return
        other = next(self._taken_along(event, unit, end), None)
        if other is not None:
            number = self.tracker.operations[other.op].invoke.number
            came = f"message {number} failed as well at {ms(other.t_ns)} ({other.error})"
            self._breach("took-others-along", event, unit, came, end, other)
        else:
            self.exercise(event)

    def _taken_along(self, event: Frame, unit: Unit, end: Completion) -> Iterator[Completion]:
        """Sends of that producer that nobody refused, nor the producer, and that ended with it, or not by their
        receipts."""
        for send in self.tracker.sends.get(unit.line.handle or 0, ()):
            other = send.completion
            theirs = self.tracker.lines.by_message.get((unit.line.handle or 0, send.invoke.number or 0))
            if other is None or other is end or theirs is None or theirs.errors or other.seq < event.seq:
                continue
            if any(event.seq < session.request.seq < other.seq for session in unit.line.sessions):
                continue
            if self.lost_its_way(event, other):
                continue
            soon = other.t_ns - event.t_ns <= TOLERANCES["answer"].slack_ns
            same = other.error is end.error and other.text == end.text and other.error not in OWN_ENDS
            if (same and soon) or self._unheard(event, theirs, other):
                yield other

    def _unheard(self, event: Frame, unit: Unit, end: Completion) -> bool:
        """It timed out long after its receipt had come behind that error, on a connection that lived on."""
        receipt = next((receipt for receipt in unit.receipts if receipt.seq > event.seq), None)
        if end.error is not ErrorClass.TIMEOUT or receipt is None or receipt.conn != event.conn:
            return False
        closed = self.tracker.closed.get(receipt.conn)
        until_ns = ended_ns(end) if closed is None else min(ended_ns(end), closed.t_ns)
        return self.late(receipt.t_ns, until_ns, "answer")

    def _breach(self, code: str, event: Frame, unit: Unit, came: str, *proof: Frame | Completion) -> None:
        self.breach(
            code,
            f"{unit.line}: {unit} was refused at {ms(event.t_ns)} (NotAllowedError); that send was expected to fail, "
            f"and no other; {came}",
            event,
            *proof,
        )
