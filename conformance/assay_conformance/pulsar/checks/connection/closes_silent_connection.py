"""connection.closes-silent-connection"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.plain.passed import Passed
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Closed, ClosedBy, Ended, Fired, Frame, Healed, Opened
from assay_conformance.model.fault import Direction
from assay_conformance.model.outside import Timeout
from assay_conformance.model.requirement import RequirementId

_TO_CLIENT = Direction.TO_CLIENT


@dataclass(slots=True)
class _Silence:
    """A connection since the last frame that was written to its client."""

    since_ns: int
    last: Opened | Frame | Fired
    pinged: Frame | None = None
    spoke: bool = False
    """Whether the client wrote something else since: then it was not idle, and need not ping."""


class ClosesSilentConnection(Check):
    """A client that receives nothing pings after one keep-alive interval and closes the connection after the second.

    Its timer counts whole intervals, so the bounds are one and two intervals plus the tolerance. What is written to the
    client does not count while a toxic lets nothing through to it.
    """

    requirement = RequirementId("connection.closes-silent-connection")
    skips_plain = True

    def start(self) -> None:
        self._silences: dict[int, _Silence] = {}
        self._blocked_by: Fired | None = None
        setting = self.view.setting("client", "keep_alive_ms")
        self._interval_ns = int(setting) * MS if setting else 0

    def concerned(self) -> bool:
        """Nothing can be judged in a history that is shorter than an interval."""
        history = self.tracker.history
        return bool(history) and 0 < self._interval_ns < history[-1].t_ns - history[0].t_ns

    @on(Frame)
    def frame(self, event: Frame) -> None:
        silence = self._silences.get(event.conn)
        if event.dir is _TO_CLIENT:
            if event.to_receiver and self._blocked_by is None and (silence is not None or event.command == "CONNECTED"):
                self._received(silence, event)
        elif silence is not None and event.from_sender:
            if event.command == "PING":
                silence.pinged = silence.pinged or event
            else:
                silence.spoke = True

    def _received(self, silence: _Silence | None, event: Frame) -> None:
        if silence is None:
            self._silences[event.conn] = _Silence(event.t_ns, event)
            return
        if event.t_ns - silence.since_ns > self._interval_ns:
            self._judge(event.conn, silence, event.t_ns, None)
        silence.since_ns, silence.last, silence.pinged, silence.spoke = event.t_ns, event, None, False

    @on(Passed)
    def passed(self, event: Passed) -> None:
        for conn, heard_ns in event.heard_ns.items() if self._blocked_by is None else ():
            silence = self._silences.get(conn)
            if silence is not None and heard_ns > silence.since_ns:
                silence.since_ns, silence.pinged, silence.spoke = heard_ns, None, False

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if self._blocks_to_client(event):
            self._blocked_by = event
            for conn in self._silences:
                self._silences[conn] = _Silence(event.t_ns, event)

    @on(Healed)
    def healed(self, event: Healed) -> None:
        if self._blocked_by is not None and self._blocked_by.fault == event.fault:
            self._blocked_by = None

    def _blocks_to_client(self, event: Fired) -> bool:
        """Whether it blocks only the direction to the client. Where both are blocked, the wire does not show that the
        client pings and closes, since TCP without acknowledgments soon sends nothing new."""
        faults = self.view.case.faults
        action = faults[event.fault].action if event.fault < len(faults) else None
        return isinstance(action, Timeout) and action.direction is Direction.TO_CLIENT

    @on(Closed)
    def closed(self, event: Closed) -> None:
        silence = self._silences.pop(event.conn, None)
        if silence is not None:
            self._judge(event.conn, silence, event.t_ns, event)

    @on(Ended)
    def ended(self, event: Ended) -> None:
        for conn, silence in self._silences.items():
            self._judge(conn, silence, event.t_ns, None)
        self._silences.clear()

    def _judge(self, conn: int, silence: _Silence, until_ns: int, closed: Closed | None) -> None:
        lasted_ns = until_ns - silence.since_ns
        if lasted_ns <= self._interval_ns:
            return
        left = closed is not None and closed.by is ClosedBy.CLIENT
        if left and lasted_ns <= 2 * self._interval_ns + TOLERANCES["keep-alive"].slack_ns:
            self.exercise(closed or silence.last)
        proof = (silence.last, *([closed] if closed else []))
        if self._late(silence, until_ns, 2):
            self.breach(
                "stayed",
                f"connection {conn}: nothing was written to the client after {ms(silence.since_ns)}; expected it to "
                f"close the connection within two keep-alive intervals of {self._interval_ns // MS} ms; it was still "
                f"open at {ms(until_ns)}",
                *proof,
            )
        if not silence.spoke:
            self._ping(conn, silence, until_ns, proof)

    def _ping(
        self, conn: int, silence: _Silence, until_ns: int, proof: tuple[Opened | Frame | Fired | Closed, ...]
    ) -> None:
        seen_ns = silence.pinged.t_ns if silence.pinged else until_ns
        if self._late(silence, seen_ns, 1):
            when = f"it came at {ms(seen_ns)}" if silence.pinged else f"none had come by {ms(until_ns)}"
            self.breach(
                "no-ping",
                f"connection {conn}: idle since {ms(silence.since_ns)}; expected a PING within "
                f"{self._interval_ns // MS} ms, one keep-alive interval; {when}",
                *proof,
                *([silence.pinged] if silence.pinged else []),
            )

    def _late(self, silence: _Silence, seen_ns: int, intervals: int) -> bool:
        due_ns = silence.since_ns + intervals * self._interval_ns
        tolerance = TOLERANCES["keep-alive"]
        if seen_ns <= due_ns + tolerance.slack_ns:
            return False
        # The client's own timers make it ping and close: a fault that silences the broker does not excuse it.
        quiet = self.tracker.load.quiet if isinstance(silence.last, Fired) else self.tracker.load.fair
        if quiet(silence.since_ns, seen_ns, tolerance):
            return True
        self.undecided("the machine was too busy to judge a keep-alive interval")
        return False
