"""A second seek while one is under way: one of them would end at a place nobody asked for."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class OneAtATime(Check):
    """Of two seeks of one consumer the second does not end well, where it reached the client before the first ended.

    Those to messages of different partitions are two consumers' to a client, and each may be taken.
    """

    requirement = RequirementId("seek.one-at-a-time")
    needs = ((Invoke, "seek"),)

    def start(self) -> None:
        self._pending: dict[int, Invoke] = {}
        self._second: dict[int, Invoke] = {}
        self._taken: dict[int, Completion] = {}
        """Second seeks that ended well, ahead of the first."""

    @on(Invoke, "seek")
    def called(self, event: Invoke) -> None:
        handle = event.handle or 0
        if handle in self._pending:
            if _partition(self._pending[handle]) == _partition(event):
                self._second[event.op] = self._pending[handle]
        else:
            self._pending[handle] = event

    @on(Completion, "seek")
    def ended(self, event: Completion) -> None:
        first = self._second.get(event.op)
        pending = self._pending.get(event.handle or 0)
        if pending is not None and pending.op == event.op:
            del self._pending[event.handle or 0]
        if first is None:
            return
        if event.outcome is not Outcome.OK:
            self.exercise(event)
        else:
            self._judge(first, event)

    def _judge(self, first: Invoke, event: Completion) -> None:
        ended = self.tracker.operations[first.op].completion
        called_ns = event.called_ns
        # The first may have ended before the second was called, and was not heard of in time.
        if ended and (called_ns is None or ended_ns(ended) < called_ns + TOLERANCES["crossing"].slack_ns):
            return
        self.breach(
            "taken-beside-another",
            f"consumer {event.handle} was told at {ms(first.t_ns)} to seek, and, before that had ended, to seek "
            f"elsewhere; the second call ended well at {ms(event.t_ns)}, expected it to be refused",
            first,
            event,
        )


def _partition(seek: Invoke) -> int | None:
    """That of the message that is sought; None where a time is."""
    id = seek.args.get("message_id")
    return None if id is None else int(id[2])
