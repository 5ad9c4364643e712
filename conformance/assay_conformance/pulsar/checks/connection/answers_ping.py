"""connection.answers-ping"""

from __future__ import annotations

from collections import deque

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.model.event import Closed, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

NO_PONG = "no-pong"
"""The code for a PING that gets no answer at all: such a client answers nothing."""


class AnswersPing(Check):
    """Each PING written to the client is answered by a PONG at once: no timer is involved.

    Not judged where a publish rate stops the broker from reading, since it is then unknown when PONG was written.
    """

    requirement = RequirementId("connection.answers-ping")
    needs = ((Frame, "PING"),)

    def start(self) -> None:
        self._waiting: dict[int, deque[Frame]] = {}
        self._read_at_once = self.view.is_read_at_once()

    @on(Frame, "PING")
    def ping(self, event: Frame) -> None:
        if event.dir is Direction.TO_CLIENT and event.to_receiver and self._read_at_once:
            self._waiting.setdefault(event.conn, deque()).append(event)

    @on(Frame, "PONG")
    def pong(self, event: Frame) -> None:
        waiting = self._waiting.get(event.conn)
        if event.dir is not Direction.TO_BROKER or not event.from_sender or not waiting:
            return
        ping = waiting.popleft()
        self.exercise(ping)
        self._judge(ping, event.t_ns, "late", f"it came at {ms(event.t_ns)}", event)

    def finish(self) -> None:
        for conn, waiting in self._waiting.items():
            closed = self.tracker.closed.get(conn)
            until_ns = min([self.tracker.end_ns, *([closed.t_ns] if closed else [])])
            for ping in waiting:
                self._judge(ping, until_ns, NO_PONG, f"none had come at {ms(until_ns)}", *([closed] if closed else []))

    def _judge(self, ping: Frame, seen_ns: int, code: str, came: str, *proof: Frame | Closed) -> None:
        tolerance = TOLERANCES["answer"]
        timing = self.tracker.load.timing(ping.t_ns, ping.t_ns, seen_ns, tolerance)
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge how soon a PING was answered")
        elif timing is Timing.LATE:
            self.breach(
                code,
                f"connection {ping.conn}: PING was written to the client at {ms(ping.t_ns)}; expected PONG within "
                f"{tolerance.slack_ms} ms; {came}",
                ping,
                *proof,
            )
