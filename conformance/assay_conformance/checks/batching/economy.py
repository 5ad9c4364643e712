"""What batches save: frames, bytes, and what they cost in time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise, permutations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.batching.limits import (
    Limits,
    admitted_by,
    asked_ns,
    in_one_frame,
    limits_of,
    units_read_at_once,
)
from assay_conformance.checks.batching.reasons import called_ns, is_alone
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Fired, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.tuning import Room, closing

FRAMES_OVER = 1
"""A batch may have been open when the first message of a burst came, or its timer due."""

BYTES_OVER = 1.02
FEWEST_GAPS = 3
FEWEST_MESSAGES = 10
"""Of fewer, a message more or less in a batch says more than the settings do."""


class FramesByBatchSize(Check):
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
            units = [unit for unit in units_read_at_once(self, handle) if unit.numbers]
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


class _Costs(Check):
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


class LargerBatchesCostLess(_Costs):
    """Of two producers that batch alike messages, the one with more of them in a batch writes fewer bytes for each.

    Only full batches are compared, of messages that are all alike; what is written again is not counted.
    """

    requirement = RequirementId("batching.larger-batches-save-bytes")

    def compare(self, smaller: Cost, larger: Cost) -> None:
        few, many = smaller.limits.messages, larger.limits.messages
        if not 0 < few < many or not smaller.full or not larger.full or len(set(larger.sent)) > 1:
            return
        of_few, of_many = (sum(unit.first.size for unit in cost.full) / len(cost.full) for cost in (smaller, larger))
        if of_many / many <= of_few / few * BYTES_OVER:
            self.exercise(larger.full[0].first)
            return
        self.breach(
            "more-bytes-a-message",
            f"producer {larger.handle} wrote {of_many / many:.1f} bytes a message in batches of {many}, and producer "
            f"{smaller.handle} {of_few / few:.1f} in batches of {few}; alike messages were expected to cost no more "
            "in larger batches",
            smaller.full[0].first,
            larger.full[0].first,
        )


class WiderLimitsSave(_Costs):
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
