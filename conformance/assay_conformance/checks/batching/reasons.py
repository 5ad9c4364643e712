"""Why a batch left: what it was waiting for came, or nothing did that it should have waited for."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, takewhile

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.batching.limits import (
    Limits,
    admitted_by,
    asked_ns,
    in_one_frame,
    limits_of,
    units_read_at_once,
)
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.tuning import Closing

SLACK_NS = TOLERANCES["time-out-early"].slack_ns
CROSSING_NS = TOLERANCES["crossing"].slack_ns
UNEXPLAINED_SHARE = 20
"""One batch in so many may leave for no reason that shows."""

LEAST_BATCHES = 10
"""Of fewer, a single one proves nothing."""

CLOSING_VERBS = ("flush", "close")


def called_ns(send: Operation | None) -> int | None:
    """When the application's call was made, by its agent's own stamp."""
    return None if send is None or send.completion is None else send.completion.called_ns


class HalfBuilds(Check):
    """With batches of half a queue, one is built and leaves while the one before it waits for its receipt.

    Judged of batches that are full by count, and had room in the queue when their last message was asked for, where
    brokers read what is written as it comes.
    """

    requirement = RequirementId("batching.fills-while-previous-pending")
    skips_plain = True

    def finish(self) -> None:
        for handle in self.tracker.lines.openings:
            limits, queue = limits_of(self.view, handle), self.view.producer_setting(handle, "max_pending_messages")
            if limits is not None and queue and 0 < 2 * limits.messages <= int(queue):
                for line in self.tracker.lines.of_handle(handle):
                    if self.view.is_read_at_once(line.topic):
                        self._line(line, limits, int(queue))

    def _line(self, line: Line, limits: Limits, queue: int) -> None:
        for unit, before in zip(line.units[1:], line.units, strict=False):
            full_ns = called_ns(self.tracker.send_of(line.handle or 0, unit.numbers[-1])) if unit.numbers else None
            if len(unit.numbers) != limits.messages or full_ns is None or not admitted_by(unit, full_ns):
                continue
            waiting = _waiting(line.units[: unit.index], full_ns)
            if _unanswered(before, full_ns) and waiting + len(unit.numbers) <= queue:
                self._judge(unit, before, full_ns)

    def _judge(self, unit: Unit, before: Unit, full_ns: int) -> None:
        timing = self.tracker.load.timing(full_ns, full_ns, unit.first.t_ns, TOLERANCES["batch-delay"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a batch waited for a receipt")
        elif timing is Timing.IN_TIME:
            self.exercise(unit.first)
        elif before.receipts and before.receipts[0].seq < unit.first.seq:
            self.breach(
                "waited-for-receipt",
                f"{unit.line}: the batch of messages {unit.numbers[0]} to {unit.numbers[-1]} was full at {ms(full_ns)} "
                f"and left at {ms(unit.first.t_ns)}, behind the receipt for {before} of "
                f"{ms(before.receipts[0].t_ns)}; there was room in the queue",
                before.receipts[0],
                unit.first,
            )


def _waiting(units: list[Unit], by_ns: int) -> int:
    """Messages of the last of these units that nobody had answered. Receipts come in order, and errors ahead of
    them."""
    since_receipt = takewhile(lambda one: all(receipt.t_ns > by_ns for receipt in one.receipts), reversed(units))
    return sum(len(one.numbers) for one in since_receipt if _unanswered(one, by_ns))


def _unanswered(unit: Unit, by_ns: int) -> bool:
    """Whether it had left by then is not asked: its frame may be on its way while the application calls on."""
    return all(answer.t_ns > by_ns for answer in (*unit.receipts, *unit.errors))


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


@dataclass(frozen=True, slots=True)
class Asked:
    """When somebody asked for the open batch to leave, and how long that may have waited for its turn."""

    began_ns: list[int]
    latest_end_ns: list[float]

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Asked:
        began, ends = [], []
        for operation in operations:
            end = operation.completion
            began.append(operation.invoke.t_ns)
            ends.append(math.inf if end is None else end.done_ns or end.t_ns)
        return cls(began, list(accumulate(ends, max)))

    def between(self, since_ns: int, by_ns: int) -> bool:
        place = bisect_right(self.began_ns, by_ns)
        return place > 0 and self.latest_end_ns[place - 1] >= since_ns


class LeavesForAReason(Check):
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
        for unit in units_read_at_once(self, handle):
            since_ns = asked_ns(self, unit)
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
        next_ns = None if after is None else asked_ns(self, after)
        over = unit.first.t_ns >= due_ns or next_ns is None or next_ns >= due_ns
        return Closing.DELAY if over or self._by_timer_before(limits, unit) else None

    def _by_timer_before(self, limits: Limits, unit: Unit) -> bool:
        """The time of the batch in front was up just when this one left."""
        before = unit.line.units[unit.index - 1] if unit.index else None
        began_ns = None if before is None else asked_ns(self, before)
        return began_ns is not None and abs(unit.first.t_ns - began_ns - limits.delay_ms * MS) <= CROSSING_NS

    def _told(self, limits: Limits, unexplained: list[Unit], explained: int) -> None:
        one, *others = unexplained[:2]
        since_ns = asked_ns(self, one) or 0
        self.breach(
            "left-early",
            f"{one.line}: {len(unexplained)} of {len(unexplained) + explained} batches left for no reason, such as "
            f"{one} at {ms(one.first.t_ns)}: its first message was asked for at {ms(since_ns)}, it may hold "
            f"{limits.messages} messages and {limits.bytes} bytes and wait {limits.delay_ms} ms, nobody flushed it, "
            "and there was room for more",
            one.first,
            *(other.first for other in others),
        )


def is_alone(send: Operation) -> bool:
    """It leaves by itself, and makes the open batch leave in front of it."""
    args = send.invoke.args
    return any(args.get(key) is not None for key in ("deliver_after_ms", "deliver_at_ms", "sequence_id"))
