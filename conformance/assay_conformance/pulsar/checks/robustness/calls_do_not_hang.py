"""Liveness: whatever was asked of the client ends, and the agent is there to say so.

A hang is one finding here, and none of the requirements whose Case it cut short.
"""

from __future__ import annotations

from assay_conformance.checks.base import Check, on
from assay_conformance.checks.consumption import late
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import AgentEnded, Completion, Fate, Fired, Frame, Garbled, Overdue
from assay_conformance.model.requirement import RequirementId

NEVER_ENDED = "operation-never-ended"
AGENT_LOST = "agent-lost"
AGENT_GARBLED = "agent-contradicts-protocol"


class CallsDoNotHang(Check):
    """Every operation completes before its deadline; the agent neither dies before the Case does nor talks nonsense.

    A deadline that passed on a machine that did not let the client run proves nothing, and nothing is known of a
    process that was given up because it was kept from running. One that a fault of the Case has killed owes nothing.
    Nor does a send without a time-out when frames were taken out of a stream that went on, or are held back: nobody
    will answer it, or not yet. The client's time begins when it is called: a call waits behind others that block.
    """

    requirement = RequirementId("robustness.calls-do-not-hang")
    skips_plain = True

    def start(self) -> None:
        self._overdue: list[Overdue] = []
        self._held_up = ""
        self._dropped = False
        self._garbled = False

    @on(Completion)
    def ended(self, event: Completion) -> None:
        self.exercise(event)

    @on(Overdue)
    def deadline_passed(self, event: Overdue) -> None:
        waits_for_ever = event.verb == "send" and self.view.producer_setting(event.handle or 0, "send_timeout_ms") == 0
        if not (waits_for_ever and (self._dropped or self._holds_back(event))):
            self._overdue.append(event)

    def _holds_back(self, overdue: Overdue) -> bool:
        """Whether a fault keeps frames that were written by then, or has only just let go of them."""
        held: set[tuple[int, int]] = set()
        for event in self.tracker.history:
            if event.seq > overdue.seq:
                break
            if isinstance(event, Frame) and event.fate is Fate.HELD:
                held.add((event.conn, event.frame))
            elif isinstance(event, Frame) and event.fate is Fate.RELEASED and late("answer", event.t_ns, overdue.t_ns):
                held.discard((event.conn, event.frame))
        return bool(held)

    @on(Fired)
    def fired(self, event: Fired) -> None:
        self._dropped = self._dropped or event.action == "drop"

    @on(AgentEnded)
    def lost(self, event: AgentEnded) -> None:
        if event.killed:
            return
        if event.held_up_ms:
            self._held_up = event.reason
        else:
            self.breach(AGENT_LOST, event.reason, event)

    @on(Garbled)
    def contradicted(self, event: Garbled) -> None:
        if not self._garbled:
            self._garbled = True
            self.breach(AGENT_GARBLED, event.reason, event)

    def finish(self) -> None:
        """A lost agent ends nothing any more, so what was under way then is no finding of its own."""
        if self.findings:
            return
        if self._held_up:
            self.undecided(self._held_up)
            return
        stuck = [overdue for overdue in self._overdue if not self._ended_in_time(overdue)]
        for overdue in stuck:
            if self.tracker.load.left_time_for(overdue):
                self.breach(NEVER_ENDED, _stuck(overdue), overdue)
                return
        if stuck:
            self.undecided(f"the machine was too busy to judge it: {_stuck(stuck[0])}")

    def _ended_in_time(self, overdue: Overdue) -> bool:
        """Counted from the call, and by itself: what the close of its handle or client has ended had not."""
        end = self.tracker.operations[overdue.op].completion
        if end is None or end.called_ns is None:
            return False
        done_ns = end.done_ns or end.t_ns
        return done_ns - end.called_ns < overdue.deadline_ms * MS and not any(
            close.completion is None or (close.completion.called_ns or 0) < done_ns
            for close in self._closes(overdue)
            if close.invoke.seq < end.seq
        )

    def _closes(self, overdue: Overdue) -> list[Operation]:
        operations = self.tracker.operations.values()
        clients = {other.invoke.handle for other in operations if other.invoke.verb == "open_client"}
        closed = {overdue.handle, *clients}
        closes = (other for other in operations if other.invoke.verb == "close" and other.invoke.op != overdue.op)
        return [close for close in closes if close.invoke.handle in closed]


def _stuck(overdue: Overdue) -> str:
    return f"{overdue.verb} (operation {overdue.op}) had not ended {overdue.deadline_ms} ms after it was asked for"
