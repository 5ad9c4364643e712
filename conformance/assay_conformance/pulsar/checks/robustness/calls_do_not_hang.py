"""Liveness: every operation of the client ends, and the agent is alive to report it.

A hang is one finding of this requirement, and none of the requirements whose Case it stopped.
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
    """Every operation completes before its deadline; the agent neither ends before the Case nor breaks its protocol.

    A deadline that passed while the machine did not let the client run proves nothing, nor does the end of a process
    that was given up because it could not run. A process that a fault of the Case killed is not judged. Nor is a send
    without a time-out when frames of its connection were dropped or are held: it gets no answer, or not yet. The
    deadline counts from the start of the client's call: a call may wait for others that block.
    """

    requirement = RequirementId("robustness.calls-do-not-hang")
    skips_plain = True

    def start(self) -> None:
        self._overdue: list[Overdue] = []
        self._starved_reason = ""
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
        """Whether a fault holds frames that were written by then, or has released them only just before."""
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
    def agent_ended(self, event: AgentEnded) -> None:
        if event.killed:
            return
        if event.held_up_ms:
            self._starved_reason = event.reason
        else:
            self.breach(AGENT_LOST, event.reason, event)

    @on(Garbled)
    def agent_garbled(self, event: Garbled) -> None:
        if not self._garbled:
            self._garbled = True
            self.breach(AGENT_GARBLED, event.reason, event)

    def finish(self) -> None:
        """Nothing ends any more after an agent was lost, so operations that were pending then are not reported."""
        if self.findings:
            return
        if self._starved_reason:
            self.undecided(self._starved_reason)
            return
        stuck = [overdue for overdue in self._overdue if not self._ended_in_time(overdue)]
        for overdue in stuck:
            if self.tracker.load.left_time_for(overdue):
                self.breach(NEVER_ENDED, _describe(overdue), overdue)
                return
        if stuck:
            self.undecided(f"the machine was too busy to judge a deadline: {_describe(stuck[0])}")

    def _ended_in_time(self, overdue: Overdue) -> bool:
        """Whether it ended in time, counted from the call, and not because its handle or client was closed."""
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


def _describe(overdue: Overdue) -> str:
    return (
        f"{overdue.verb} (operation {overdue.op}) had not ended {overdue.deadline_ms} ms after it was called; expected "
        "it to end by then"
    )
