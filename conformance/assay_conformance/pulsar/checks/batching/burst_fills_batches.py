"""batching.burst-fills-batches"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._closing import called_ns, is_alone
from assay_conformance.pulsar.checks.batching._costs import FRAMES_OVER
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    in_one_frame,
    limits_of,
    units_read_at_once,
)
from assay_conformance.tuning import Room, closing


class BurstFillsBatches(Check):
    """Messages that come faster than the delay lets a batch go leave in as few frames as full batches take.

    A burst is what a producer was asked to send between two flushes, in less than half its delay, all of one size.
    """

    requirement = RequirementId("batching.burst-fills-batches")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._flushes: dict[int, int] = {}
        self._bursts: dict[int, dict[int, int]] = {}

    @on(Invoke, "flush", "send")
    def asked(self, event: Invoke) -> None:
        if event.handle is None:
            return
        if event.verb == "flush" or event.args.get("mode") == "sync":
            self._flushes[event.handle] = self._flushes.get(event.handle, 0) + 1
        if event.verb == "send":
            self._bursts.setdefault(event.handle, {})[event.number or 0] = self._flushes.get(event.handle, 0)

    def finish(self) -> None:
        lines = self.tracker.lines
        unclear = lines.burst | lines.torn_sends | lines.forged_sends | lines.foresight.explicit
        for handle, burst_of in self._bursts.items():
            limits = limits_of(self.view, handle)
            keyed = self.view.producer_setting(handle, "batching_type") == "key_based"
            if limits is None or handle in unclear or keyed or self._may_be_short(handle):
                continue
            units = [unit for unit in units_read_at_once(self.view, handle) if unit.numbers]
            for sends in _bursts(self.tracker.sends.get(handle, ()), burst_of):
                self._burst(in_one_frame(self.view, limits), sends, units)

    def _may_be_short(self, handle: int) -> bool:
        """Its queue or its client's memory may have filled."""
        queue = int(self.view.producer_setting(handle, "max_pending_messages") or 0)
        memory = int(self.view.client_setting(handle, "memory_limit_bytes") or 0)
        sends = self.tracker.sends
        asked_bytes = sum(send.invoke.size or 0 for its in sends.values() for send in its)
        return 0 < queue < len(sends.get(handle, ())) or 0 < memory < asked_bytes

    def _burst(self, limits: Limits, sends: list[Operation], units: list[Unit]) -> None:
        calls = [t_ns for send in sends if (t_ns := called_ns(send)) is not None]
        sizes = {send.invoke.size or 0 for send in sends}
        if len(calls) < len(sends) or len(sizes) > 1 or any(is_alone(send) for send in sends):
            return
        if max(calls) - min(calls) >= limits.delay_ms * MS // 2:
            return
        room = Room(limits.messages or math.inf, limits.bytes or math.inf, limits.delay_ms)
        most = int(closing(room, max(sizes.pop(), 1))[1])
        first, last = sends[0].invoke.number or 0, sends[-1].invoke.number or 0
        inside = [one for one in units if first <= one.numbers[0] and one.numbers[-1] <= last]
        for _, of_line in groupby(sorted(inside, key=lambda one: (one.line.topic, one.index)), lambda one: one.line):
            self._line(list(of_line), limits, most, min(calls))

    def _line(self, units: list[Unit], limits: Limits, most: int, since_ns: int) -> None:
        messages = sum(len(unit.numbers) for unit in units)
        fewest = math.ceil(messages / most)
        if fewest < 2 or not admitted_by(units[0], since_ns):
            return
        not_full = sum(not limits.reached_by(unit, after, headers=True) for unit, after in pairwise(units))
        if len(units) <= fewest + FRAMES_OVER or not not_full:
            self.exercise(units[-1].first)
            return
        self.breach(
            "too-many-frames",
            f"{units[0].line}: {messages} messages, all asked for by {ms(since_ns)}, left in {len(units)} frames; full "
            f"batches of {most} are {fewest}",
            units[0].first,
            units[-1].first,
        )


def _bursts(sends: Iterable[Operation], burst_of: Mapping[int, int]) -> Iterator[list[Operation]]:
    return (list(group) for _, group in groupby(sends, lambda send: burst_of.get(send.invoke.number or 0)))
