"""A producer that had been admitted, lost its connection, and is refused when it comes back."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck
from assay_conformance.checks.lines import Line
from assay_conformance.checks.refusals import was_read
from assay_conformance.checks.termination import left_pending, pending_at
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Completion, ErrorClass, Frame, Opened, Outcome
from assay_conformance.model.requirement import RequirementId

PASSING = frozenset({"ProducerBusy", "ServiceNotReady", "ProducerBlockedQuotaExceededError"})
"""What a broker says while it opens or unloads a topic, has not noticed yet that the former connection is gone, or asks
a producer to hold on because of a backlog."""

QUOTA_EXCEPTION = "ProducerBlockedQuotaExceededException"

LONGEST_FIRST_WAIT_MS = 7_000
"""pulsar-rs waits 5 s before each attempt, DotPulsar 3 s; who doubles waits from 100 ms on is back long before."""
FIRST_ATTEMPTS = 3

_OF_ITS_OWN = frozenset({ErrorClass.TIMEOUT, ErrorClass.CLOSED, ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL})
"""How a send may end while its producer waits to come back: its time is up, its producer is closed, or the client never
took it."""


@dataclass(slots=True)
class _Waiting:
    """A line since its last refusal; `tried`: it, or another of its client, has been looking since."""

    line: Line
    refused: Frame
    times: int
    tried: bool = False


class KeepsReturning(TimedCheck):
    """Behind a passing refusal something is tried again, and nothing that is pending fails over it.

    Whose a new connection or a look-up is, nobody knows: each counts as an attempt of everybody who waits.
    """

    requirement = RequirementId("resend.reconnect-retries-temporary-error")
    needs = ((Frame, "ERROR"),)

    def start(self) -> None:
        self._asked: dict[tuple[int, int], Line] = {}
        self._waiting: dict[int, _Waiting] = {}

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        line = None if session is None else session.line
        if line is None or not event.from_sender:
            return
        self._asked[event.conn, event.request_id or 0] = line
        waiting = self._waiting.get(id(line))
        if waiting is not None:
            self.exercise(event)
        self._tried()

    @on(Frame, "LOOKUP", "PARTITIONED_METADATA")
    def looked_up(self, event: Frame) -> None:
        if event.from_sender:
            self._tried()

    @on(Opened)
    def connecting(self, event: Opened) -> None:
        del event
        self._tried()

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        line = self._asked.pop((event.conn, event.request_id or 0), None)
        passing = event.to_receiver and event.fields.get("error") in PASSING
        if line is not None and passing and line.admitted and was_read(self, event, alone=True):
            before = self._waiting.get(id(line))
            self._waiting[id(line)] = _Waiting(line, event, 1 if before is None else before.times + 1)

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        line = self._asked.pop((event.conn, event.request_id or 0), None)
        if line is not None and event.to_receiver:
            self._waiting.pop(id(line), None)

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        if event.outcome in (Outcome.OK, Outcome.UNSUPPORTED) or event.error in _OF_ITS_OWN:
            return
        asked = self.tracker.operations.get(event.op)
        for waiting in self._waiting.values():
            line, refused = waiting.line, waiting.refused
            own = line.handle is not None and line.handle == event.handle and line.closing is None
            before = asked is not None and asked.invoke.seq < refused.seq
            if own and before and not waiting.tried and line.handle not in self.tracker.foresight.unsure:
                self.breach(
                    "failed-pending",
                    f"{line} was told {refused.fields['error']} at {ms(refused.t_ns)} when it came back, which passes; "
                    f"a send that was pending ended {event.outcome.value} ({event.error}) at {ms(event.t_ns)}",
                    refused,
                    event,
                )

    def finish(self) -> None:
        for waiting in self._waiting.values():
            line, refused = waiting.line, waiting.refused
            until_ns = self.tracker.end_ns if line.closing is None else line.closing.t_ns
            early = waiting.times <= FIRST_ATTEMPTS and not waiting.tried
            if early and until_ns - refused.t_ns > LONGEST_FIRST_WAIT_MS * MS:
                self.suspect(
                    "reconnect",
                    refused.t_ns,
                    until_ns,
                    "stayed-away",
                    f"{line} was told {refused.fields['error']} at {ms(refused.t_ns)} when it came back, which passes; "
                    f"by {ms(until_ns)} nothing had been tried again",
                    refused,
                )
        super().finish()

    def _tried(self) -> None:
        for waiting in self._waiting.values():
            waiting.tried = True


class QuotaFailsPending(TimedCheck):
    """Whether such a producer comes back is its client's: Java and C++ go on trying, Go does not."""

    requirement = RequirementId("resend.quota-exceeded-fails-pending")
    needs = ((Frame, "ERROR"),)

    def start(self) -> None:
        self._asked: dict[tuple[int, int], Line] = {}
        self._told: dict[int, tuple[Line, Frame]] = {}

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is not None and session.line is not None and event.from_sender:
            self._asked[event.conn, event.request_id or 0] = session.line

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        line = self._asked.pop((event.conn, event.request_id or 0), None)
        if line is not None and line.admitted and event.to_receiver and event.fields.get("error") == QUOTA_EXCEPTION:
            self._told.setdefault(id(line), (line, event))

    def finish(self) -> None:
        for line, event in self._told.values():
            known = line.handle is not None and line.handle not in self.tracker.foresight.unsure
            if known and was_read(self, event, alone=True):
                left_pending(self, line, event, "that its backlog is over its quota")
                self._kept(line, event)
        super().finish()

    def _kept(self, line: Line, event: Frame) -> None:
        """Its connection was lost: what ends well behind that word was sent again."""
        for unit, operation in pending_at(self, line, event):
            end = operation.completion
            if end is not None and end.outcome is Outcome.OK:
                self.breach(
                    "kept-pending",
                    f"{line} was told {QUOTA_EXCEPTION} at {ms(event.t_ns)}; {unit} had no receipt, and its send ended "
                    f"well at {ms(end.t_ns)}, expected an error at once",
                    event,
                    end,
                )
