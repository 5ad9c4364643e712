"""A second seek while one is pending: one of them would end at a position that was not requested."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class OneAtATime(Check):
    """Of two seeks of one consumer the second fails, where it reached the client before the first ended.

    Seeks to messages of different partitions are for different consumers inside the client, and both may succeed.
    """

    requirement = RequirementId("seek.one-at-a-time")
    needs = ((Invoke, "seek"),)

    def start(self) -> None:
        self._pending: dict[int, Invoke] = {}
        self._second: dict[int, Invoke] = {}
        self._taken: dict[int, Completion] = {}
        """Second seeks that succeeded before the first ended."""

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
        # The first may have ended before the second was called, and its end was recorded late.
        if ended and (called_ns is None or ended_ns(ended) < called_ns + TOLERANCES["crossing"].slack_ns):
            return
        self.breach(
            "taken-beside-another",
            f"consumer {event.handle} was to seek at {ms(first.t_ns)}, and to seek elsewhere before that had ended; "
            f"expected the second call to fail; it succeeded at {ms(event.t_ns)}",
            first,
            event,
        )


def _partition(seek: Invoke) -> int | None:
    """Return the partition of the target message; None for a time."""
    id = seek.args.get("message_id")
    return None if id is None else int(id[2])
