"""What the length of a window costs: producers under one load that differ in it alone.

A load is one only where both are asked for each message at about the same time, and whatever goes wrong does so for
both of them.
"""

from __future__ import annotations

from itertools import pairwise

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.case import Config
from assay_conformance.model.event import Completion, Fired, Outcome
from assay_conformance.model.fault import OnFrame
from assay_conformance.model.requirement import RequirementId

_FREQUENCY = "batching_partition_switch_frequency"


class ShortBatchingWindowStallsLess(TimedCheck):
    """The longest wait of each, from the call to its end. Where no send of the longer windows had to wait for
    others, nothing is shown."""

    requirement = RequirementId("routing.short-batching-window-stalls-less")
    skips_plain = True

    def start(self) -> None:
        self._one_sided = False
        """Something went wrong with single frames, of one producer or the other."""

    @on(Fired)
    def fired(self, event: Fired) -> None:
        faults = self.view.case.faults
        trigger = faults[event.fault].trigger if event.fault < len(faults) else None
        self._one_sided |= not isinstance(trigger, OnFrame) or trigger.times != 0

    def finish(self) -> None:
        groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
        for handle, sends in self.tracker.sends.items():
            own: Config = dict(self.tracker.lines.openings[handle].args.get("config") or {})
            frequency = self.view.producer_setting(handle, _FREQUENCY)
            in_turn = self.view.producer_setting(handle, "routing") == "round_robin"
            if frequency and in_turn and self.view.producer_setting(handle, "batching") is True and _all_went(sends):
                own.pop(_FREQUENCY, None)
                load = (len(sends), self.tracker.lines.openings[handle].args.get("topic"), *sorted(own.items()))
                groups.setdefault(load, []).append((int(frequency), handle))
        for group in groups.values() if not self._one_sided else ():
            for (_, shorter), (_, longer) in pairwise(sorted(group)):
                if self._side_by_side(shorter, longer):
                    self._compare(shorter, longer)
        super().finish()

    def _compare(self, shorter: int, longer: int) -> None:
        (wait_ns, slow), (other_ns, other) = self._slowest(shorter), self._slowest(longer)
        if late("notice", other_ns, wait_ns):
            self.suspect(
                "notice",
                slow.t_ns - wait_ns,
                slow.t_ns,
                "stalls-more",
                f"a send of producer {shorter} waited {wait_ns // MS} ms, until {ms(slow.t_ns)}, for its receipt; none "
                f"of producer {longer}, whose windows are longer, waited more than {other_ns // MS} ms",
                slow,
                other,
            )
        elif late("notice", min(map(_wait_ns, self.tracker.sends[longer])), other_ns):
            self.exercise(other)

    def _side_by_side(self, one: int, other: int) -> bool:
        pairs = zip(self.tracker.sends[one], self.tracker.sends[other], strict=True)
        apart_ns = max(abs(mine.invoke.t_ns - theirs.invoke.t_ns) for mine, theirs in pairs)
        return apart_ns <= TOLERANCES["notice"].slack_ns

    def _slowest(self, handle: int) -> tuple[int, Completion]:
        waits = [(_wait_ns(send), send.completion) for send in self.tracker.sends[handle] if send.completion]
        return max(waits, key=lambda wait: wait[0])


def _all_went(sends: list[Operation]) -> bool:
    return all(send.outcome is Outcome.OK and send.invoke.args.get("key") is None for send in sends)


def _wait_ns(send: Operation) -> int:
    return 0 if send.completion is None else send.completion.t_ns - send.invoke.t_ns
