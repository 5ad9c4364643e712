"""throttling.no-backlog-not-throttled"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from assay_conformance.checks.base import ms
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import DispatchWindows

BACKLOGGED_ENTRIES = 1_000
"""managedLedgerCursorBackloggedThreshold: a subscription with more entries than this has a backlog."""


class NoBacklogNotThrottled(DispatchWindows):
    """On a broker that throttles only subscriptions with a backlog. When it checks for one is not specified: below the
    threshold from the beginning none is throttled, and above it each is."""

    requirement = RequirementId("throttling.no-backlog-not-throttled")
    exempts_caught_up = True

    def judges(self, limiter: Dispatches) -> bool:
        return super().judges(limiter) and limiter.rate.messages > 0

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        yield "messages", limiter.rate.messages, limiter.messages

    def judge(self, limiter: Dispatches) -> None:
        stored = sum(self.stored_entries[topic] for topic, _ in limiter.subscriptions)
        if stored <= BACKLOGGED_ENTRIES:
            self._judge_unthrottled(limiter)
            return
        throttled = max(0, stored - BACKLOGGED_ENTRIES)
        frames, messages = limiter.frames[:throttled], limiter.messages[:throttled]
        super().judge(replace(limiter, frames=frames, messages=messages, sizes=limiter.sizes[:throttled]))

    def _judge_unthrottled(self, limiter: Dispatches) -> None:
        until_ns = self.supplied_until(limiter)
        if until_ns is None:
            return
        for event in self.exercised_by(limiter, limiter.rate.messages, limiter.messages):
            self.exercise(event)
        pairs: list[tuple[Frame, Frame]] = list(pairwise(limiter.frames))
        for earlier, frame in pairs:
            if frame.t_ns <= until_ns and frame.t_ns - earlier.t_ns > TOLERANCES["answer"].slack_ns:
                self.report(
                    "throttled",
                    f"{limiter.what} never had a backlog of {BACKLOGGED_ENTRIES} entries, and had permits and "
                    f"messages; expected no throttling; nothing was sent from {ms(earlier.t_ns)} to {ms(frame.t_ns)}",
                    earlier,
                    frame,
                )
                return
