"""batching.partial-batch-needs-reason"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._closing import CLOSING_VERBS, Asked, called_ns, is_alone
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    asked_ns,
    in_one_frame,
    limits_of,
    units_read_at_once,
)
from assay_conformance.tuning import Closing

SLACK_NS = TOLERANCES["time-out-early"].slack_ns
CROSSING_NS = TOLERANCES["crossing"].slack_ns
UNEXPLAINED_SHARE = 20
"""One batch in so many may leave for no reason that shows."""

LEAST_BATCHES = 10
"""Of fewer, a single one proves nothing."""


@dataclass(frozen=True, slots=True)
class _Held:
    """How many messages, and bytes, sends have taken and not given back at any time."""

    called_ns: list[int]
    called_bytes: list[int]
    ended_ns: list[int]
    ended_bytes: list[int]

    @classmethod
    def of(cls, sends: Iterable[Operation]) -> _Held:
        calls, ends = [], []
        for send in sends:
            end, since_ns = send.completion, called_ns(send)
            if since_ns is not None:
                calls.append((since_ns, send.invoke.size or 0))
            if end is not None:
                ends.append((end.done_ns or end.t_ns, send.invoke.size or 0))
        calls.sort()
        ends.sort()
        return cls(*_columns(calls), *_columns(ends))

    def at(self, t_ns: int) -> tuple[int, int]:
        """(messages, bytes), counting those whose end is so near that it may not have shown."""
        called, ended = bisect_right(self.called_ns, t_ns), bisect_right(self.ended_ns, t_ns - SLACK_NS)
        return called - ended, self.called_bytes[called] - self.ended_bytes[ended]


def _columns(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [t_ns for t_ns, _ in rows], list(accumulate((size for _, size in rows), initial=0))


class PartialBatchNeedsReason(Check):
    """A batch that is not full leaves because of its delay, a flush, or a full queue or memory; or nothing else came.

    Each batch is explained by the first reason that fits. Reasons are generous: what may have been one is one, and so
    may the timer of the batch before it, which had fired already when it was stopped. Few batches may stay unexplained.
    """

    requirement = RequirementId("batching.partial-batch-needs-reason")
    # Not skips_plain: the share is of all batches.
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._closers: dict[int, list[int]] = {}

    @on(Invoke, *CLOSING_VERBS, "send")
    def asked(self, event: Invoke) -> None:
        closes = event.verb in CLOSING_VERBS or event.args.get("mode") == "sync"
        if closes and event.handle is not None:
            self._closers.setdefault(event.handle, []).append(event.op)

    def finish(self) -> None:
        for handle in self.tracker.lines.openings:
            limits = limits_of(self.view, handle)
            if limits is not None and self._judged(handle):
                self._producer(handle, in_one_frame(self.view, limits))

    def _judged(self, handle: int) -> bool:
        """Whose batches close for the reasons of a default batcher alone, and whose messages are all known."""
        lines = self.tracker.lines
        known = handle not in lines.burst | lines.torn_sends | lines.forged_sends | lines.foresight.explicit
        return known and self.view.producer_setting(handle, "batching_type") != "key_based"

    def _producer(self, handle: int, limits: Limits) -> None:
        sends = self.tracker.sends.get(handle, [])
        if any(is_alone(send) for send in sends):
            return
        held, all_held = _Held.of(sends), _Held.of(self._of_client(handle))
        asked = Asked.of(self.tracker.operations[op] for op in self._closers.get(handle, ()))
        following = self._following(handle)
        explained: list[Unit] = []
        unexplained: list[Unit] = []
        for unit in units_read_at_once(self.view, handle):
            since_ns = asked_ns(self.view, unit)
            if since_ns is None or not admitted_by(unit, since_ns):
                continue
            after = following.get(id(unit))
            reason = limits.reached_by(unit, after, headers=True)
            if reason is None and not asked.between(since_ns - SLACK_NS, unit.first.t_ns):
                reason = self._short(handle, held, all_held, unit) or self._over(limits, since_ns, unit, after)
                (explained if reason else unexplained).append(unit)
            if reason is not None and reason not in (Closing.COUNT, Closing.BYTES):
                self.exercise(unit.first)
        judged = len(explained) + len(unexplained)
        enough = len(unexplained) > 1 or judged >= LEAST_BATCHES
        if enough and len(unexplained) * UNEXPLAINED_SHARE > judged:
            self._told(limits, unexplained, len(explained))

    def _following(self, handle: int) -> dict[int, Unit]:
        lines = self.tracker.lines.of_handle(handle)
        return {id(one): after for line in lines for one, after in zip(line.units, line.units[1:], strict=False)}

    def _of_client(self, handle: int) -> Iterator[Operation]:
        openings = self.tracker.lines.openings
        client = openings[handle].args.get("client")
        for other, opening in openings.items():
            if opening.args.get("client") == client:
                yield from self.tracker.sends.get(other, ())

    def _short(self, handle: int, held: _Held, all_held: _Held, unit: Unit) -> Closing | None:
        """There was no room for another message."""
        queue = int(self.view.producer_setting(handle, "max_pending_messages") or 0)
        memory = int(self.view.client_setting(handle, "memory_limit_bytes") or 0)
        if 0 < queue <= held.at(unit.first.t_ns)[0]:
            return Closing.PERMITS
        return Closing.MEMORY if 0 < memory <= all_held.at(unit.first.t_ns)[1] else None

    def _over(self, limits: Limits, since_ns: int, unit: Unit, after: Unit | None) -> Closing | None:
        """Its time was up, or nothing came in its time that is not in it."""
        due_ns = since_ns + limits.delay_ms * MS - SLACK_NS
        next_ns = None if after is None else asked_ns(self.view, after)
        over = unit.first.t_ns >= due_ns or next_ns is None or next_ns >= due_ns
        return Closing.DELAY if over or self._by_timer_before(limits, unit) else None

    def _by_timer_before(self, limits: Limits, unit: Unit) -> bool:
        """The time of the batch in front was up just when this one left."""
        before = unit.line.units[unit.index - 1] if unit.index else None
        began_ns = None if before is None else asked_ns(self.view, before)
        return began_ns is not None and abs(unit.first.t_ns - began_ns - limits.delay_ms * MS) <= CROSSING_NS

    def _told(self, limits: Limits, unexplained: list[Unit], explained: int) -> None:
        one, *others = unexplained[:2]
        since_ns = asked_ns(self.view, one) or 0
        self.breach(
            "left-early",
            f"{one.line}: {len(unexplained)} of {len(unexplained) + explained} batches left for no reason, such as "
            f"{one} at {ms(one.first.t_ns)}: its first message was asked for at {ms(since_ns)}, it may hold "
            f"{limits.messages} messages and {limits.bytes} bytes and wait {limits.delay_ms} ms, nobody flushed it, "
            "and there was room for more",
            one.first,
            *(other.first for other in others),
        )
