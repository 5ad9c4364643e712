"""A terminated topic: it takes nothing any more, and a client that has heard of it stops trying."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.refusals import OWN_ENDS, was_read
from assay_conformance.checks.resend import ended_ns, operations
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


class TerminatedFailsAll(Check):
    """From the broker's first word that the topic is terminated, pending sends fail soon and say so, and the producer
    stays away.

    That word may be a SEND_ERROR, whereupon a client may register once more to hear it again, or the answer to
    PRODUCER.
    """

    requirement = RequirementId("resend.terminated-fails-all")
    needs = (frozenset({(Frame, "ERROR"), (Frame, "SEND_ERROR")}),)

    def start(self) -> None:
        self._asked: dict[tuple[int, int], Line] = {}
        self._told: dict[int, tuple[Line, Frame, bool]] = {}
        """Line -> the first word, and whether nothing had been wrong on its connection before."""
        self._refused: dict[int, Frame] = {}
        self._spoiled: set[int] = set()
        """Connections on which something came before that a client may have left for."""

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        if event.to_receiver and self.tracker.lines.is_out_of_turn:
            self._spoiled.add(event.conn)

    @on(Frame, "SEND_ERROR")
    def send_refused(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not _says_terminated(event):
            self._spoiled.add(event.conn)
        if event.conn in self._spoiled:
            return
        if session is not None and session.line is not None and _says_terminated(event):
            self._told.setdefault(id(session.line), (session.line, event, True))

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        line = None if session is None else session.line
        if not event.from_sender or line is None:
            return
        self._asked[event.conn, event.request_id or 0] = line
        refused = self._refused.get(id(line))
        if refused is None or line.handle is None:
            return
        if was_read(self, refused, alone=refused.conn not in self._spoiled):
            self.breach(
                "comes-back",
                f"{line}: its PRODUCER was refused at {ms(refused.t_ns)} because the topic is terminated, and it "
                f"registered again on connection {event.conn} at {ms(event.t_ns)}",
                refused,
                event,
            )

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        line = self._asked.pop((event.conn, event.request_id or 0), None)
        if line is not None and line.admitted and _says_terminated(event):
            self._told.setdefault(id(line), (line, event, event.conn not in self._spoiled))
            self._refused[id(line)] = event

    def finish(self) -> None:
        for line, event, alone in self._told.values():
            known = line.handle is not None and line.handle not in self.tracker.foresight.unsure
            if known and was_read(self, event, alone=alone):
                left_pending(self, line, event, "that the topic is terminated", ErrorClass.TERMINATED)


def pending_at(check: Check, line: Line, event: Frame) -> list[tuple[Unit, Operation]]:
    """The sends that were written before, and had no receipt."""
    return [
        (unit, operation)
        for unit in line.units
        if unit.first.seq < event.seq and not any(receipt.seq < event.seq for receipt in unit.receipts)
        for operation in operations(check, unit)
        if operation.completion is None or operation.completion.seq > event.seq
    ]


def left_pending(check: Check, line: Line, event: Frame, word: str, expected: ErrorClass | None = None) -> None:
    """Judge whether what was pending when the broker said `word` in `event` failed soon, and with what is expected."""
    closing_ns = check.tracker.end_ns if line.closing is None else line.closing.t_ns
    for unit, operation in pending_at(check, line, event):
        end = operation.completion
        until_ns = min(closing_ns, ended_ns(end) if end else check.tracker.end_ns)
        timing = check.tracker.load.timing(event.t_ns, event.t_ns, until_ns, TOLERANCES["reconnect"])
        if timing is Timing.UNDECIDED:
            check.undecided("the machine was too busy to say whether sends only failed late")
        elif timing is Timing.LATE:
            check.breach(
                "left-pending",
                f"{line}: the broker said at {ms(event.t_ns)} {word}; {unit} had no receipt and its send had not "
                f"failed by {ms(until_ns)}",
                unit.first,
                event,
                *([end] if end else []),
            )
        elif end is not None and end.outcome is not Outcome.OK:
            if expected is not None and is_vague(end, event, expected):
                check.breach(
                    "wrong-error",
                    f"{line}: the broker said at {ms(event.t_ns)} {word}; {unit} had no receipt, and its send failed "
                    f"at {ms(end.t_ns)} with {end.error} ({end.text}), expected {expected}",
                    event,
                    end,
                )
            check.exercise(end)


def is_vague(end: Completion, event: Frame, expected: ErrorClass) -> bool:
    """It failed behind the broker's word, and for no reason of its own, with another class of error."""
    other = end.outcome is not Outcome.OK and end.error is not None and end.error is not expected
    return other and end.error not in OWN_ENDS and ended_ns(end) >= event.t_ns


def _says_terminated(event: Frame) -> bool:
    return event.to_receiver and event.fields.get("error") == "TopicTerminatedError"
