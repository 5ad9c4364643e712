"""What batches save: frames, bytes, and what they cost in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from assay_conformance.checks.base import Check, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Invoke, Outcome
from assay_conformance.pulsar.checks.batching._limits import Limits, limits_of, units_read_at_once

FRAMES_OVER = 1
"""A batch may have been open when the first message of a burst came, or its timer due."""

BYTES_OVER = 1.02
FEWEST_MESSAGES = 10
"""Of fewer, a message more or less in a batch says more than the settings do."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a producer's messages cost on the wire and in time."""

    handle: int
    limits: Limits
    load: tuple[object, ...]
    """What must be alike for two costs to be compared, and so must be the messages `sent`, each by what it weighs."""
    sent: tuple[tuple[str, ...], ...]
    units: tuple[Unit, ...]
    waited_ns: float
    """From a message's call to its end, on average."""

    @property
    def messages(self) -> int:
        return sum(len(unit.numbers) for unit in self.units)

    @property
    def bytes(self) -> int:
        return sum(unit.first.size for unit in self.units)

    @property
    def full(self) -> tuple[Unit, ...]:
        return tuple(unit for unit in self.units if len(unit.numbers) == self.limits.messages)


class Costs(Check):
    """Compares producers that were given alike messages, sent every one of them, and batch differently.

    Only what nobody flushed in between: flushes cut batches alike, whatever their limits are.
    """

    needs = (Trait.BATCH,)

    def start(self) -> None:
        self._flushed: dict[int, int] = {}
        """Producer handle -> how many messages it had been asked for at its first flush or synchronous send."""

    @on(Invoke, "flush", "send")
    def asked(self, event: Invoke) -> None:
        if event.handle is not None and (event.verb == "flush" or event.args.get("mode") == "sync"):
            self._flushed.setdefault(event.handle, len(self.tracker.sends.get(event.handle, ())))

    def finish(self) -> None:
        if len(self.tracker.lines.openings) < 2:
            return
        costs = [cost for handle in self.tracker.lines.openings for cost in self._cost(handle)]
        for smaller, larger in permutations(costs, 2):
            if (smaller.load, smaller.sent) == (larger.load, larger.sent):
                self.compare(smaller, larger)

    def compare(self, smaller: Cost, larger: Cost) -> None:
        """Called for both orders of every pair."""
        raise NotImplementedError

    def _cost(self, handle: int) -> Iterator[Cost]:
        lines, setting = self.tracker.lines, self.view.producer_setting
        limits, sends = limits_of(self.view, handle), self.tracker.sends.get(handle, [])
        unclear = lines.burst | lines.torn_sends | lines.forged_sends | lines.foresight.explicit
        if limits is None or handle in unclear or len(sends) < FEWEST_MESSAGES:
            return
        if self._flushed.get(handle, len(sends)) < len(sends):
            return
        ends = [send.completion for send in sends if send.completion is not None]
        waits = [(end.done_ns or end.t_ns) - end.called_ns for end in ends if end.called_ns is not None]
        if len(waits) < len(sends) or any(end.outcome is not Outcome.OK for end in ends):
            return
        sent = tuple(sorted(tuple(str(_of_message(send, name)) for name in _WEIGHING) for send in sends))
        load = (
            setting(handle, "compression") or "NONE",
            setting(handle, "batching_type"),
            len({unit.line.topic for unit in units_read_at_once(self, handle)}),
        )
        units = tuple(unit for unit in units_read_at_once(self, handle) if unit.numbers)
        yield Cost(handle, limits, load, sent, units, sum(waits) / len(waits))


_WEIGHING = ("size", "key", "properties", "event_time_ms")
"""What makes a message larger."""


def _of_message(send: Operation, name: str) -> object:
    return send.invoke.size if name == "size" else send.invoke.args.get(name)
