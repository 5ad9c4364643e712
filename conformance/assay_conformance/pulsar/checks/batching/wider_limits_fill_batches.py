"""batching.wider-limits-fill-batches"""

from __future__ import annotations

import math
from itertools import pairwise

from assay_conformance.checks.base import on
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Fired
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._costs import BYTES_OVER, FRAMES_OVER, Cost, Costs
from assay_conformance.pulsar.checks.batching._limits import Limits, asked_ns

FEWEST_GAPS = 3


class WiderLimitsFillBatches(Costs):
    """Of two producers under one load, the one whose every limit is as wide or wider has larger batches, writes no more
    frames and no more bytes, and its messages wait no longer than by its publish delay. Told, and counted neither way.

    Judged where the longer delay had something to gather: batches that left by the shorter one close to each other.
    Where something went wrong on the way, or a producer had to come again, waits are not compared.
    """

    requirement = RequirementId("batching.wider-limits-fill-batches")

    def start(self) -> None:
        super().start()
        self._disturbed = False

    @on(Fired)
    def fired(self, event: Fired) -> None:
        del event
        self._disturbed = True

    def compare(self, smaller: Cost, larger: Cost) -> None:
        if not _wider(larger.limits, smaller.limits) or not self._close_to_each_other(smaller, larger.limits):
            return
        self.exercise(larger.units[0].first)
        if len(larger.units) == len(smaller.units):
            self.breach(
                "no-larger-batches",
                f"producer {larger.handle} put {larger.messages} messages into {len(larger.units)} batches with a "
                f"delay of {larger.limits.delay_ms} ms, and producer {smaller.handle} did so with "
                f"{smaller.limits.delay_ms} ms",
                smaller.units[0].first,
                larger.units[0].first,
            )
        allowed_ns = larger.limits.delay_ms * MS + TOLERANCES["batch-delay"].slack_ns
        told = {
            "more-frames": (len(larger.units), len(smaller.units) + FRAMES_OVER, "frames"),
            "more-bytes": (larger.bytes, int(smaller.bytes * BYTES_OVER), "bytes"),
            "longer-waits": (
                round(larger.waited_ns / MS),
                round((smaller.waited_ns + allowed_ns) / MS),
                "ms on average",
            ),
        }
        if self._disturbed or any(len(unit.line.sessions) > 1 for cost in (smaller, larger) for unit in cost.units):
            del told["longer-waits"]
        for code, (came, most, unit) in told.items():
            if came > most:
                self.breach(
                    code,
                    f"producer {larger.handle}, whose limits are wider, took {came} {unit} for {larger.messages} "
                    f"messages; by producer {smaller.handle}, at most {most} were expected",
                    smaller.units[0].first,
                    larger.units[0].first,
                )

    def _close_to_each_other(self, smaller: Cost, limits: Limits) -> bool:
        """Batches left by the shorter delay, and their next message came while the longer one would have waited."""
        if limits.delay_ms <= smaller.limits.delay_ms:
            return False
        waits_ns = limits.delay_ms * MS // 2
        gaps = 0
        for unit, after in pairwise(smaller.units):
            asked, next_ns = asked_ns(self, unit), asked_ns(self, after)
            if asked is not None and next_ns is not None and not smaller.limits.reached_by(unit, after, headers=True):
                gaps += next_ns - asked < waits_ns
        return gaps >= FEWEST_GAPS


def _wider(one: Limits, other: Limits) -> bool:
    pairs = ((one.messages, other.messages), (one.bytes, other.bytes), (one.delay_ms, other.delay_ms))
    return one != other and all((mine or math.inf) >= (theirs or math.inf) for mine, theirs in pairs)
