"""When batches close whose queue is too small to fill them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, pairwise

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.model.event import Completion, Frame, Invoke, Overdue
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._closing import CLOSING_VERBS, Asked, is_alone
from assay_conformance.pulsar.checks.batching._limits import Limits, admitted_by, asked_ns, in_one_frame, limits_of


class SmallQueueDoesNotStall(Check):
    """Where a full queue blocks and holds fewer messages than a batch, no batch outgrows the queue, and each leaves by
    its delay: the message that would fill it waits for room that only the batch can make.

    A message counts as accepted, at the latest, when it was asked for and whatever was answered last had made room.

    That the queue is full closes no batch: two that follow each other on one connection, nothing else having closed
    either of them, are a delay apart. When the first message of a batch came does not say how early it may leave: some
    clients look at their batches by a timer that runs on, or count from the SEND before.
    """

    requirement = RequirementId("batching.small-queue-does-not-stall")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._small: dict[int, tuple[int, Limits] | None] = {}
        self._ends_ns: dict[int, list[int]] = {}
        """Producer handle -> when its sends ended, by the agent's own stamps: its words may come late."""
        self._left: list[tuple[Unit, int]] = []
        self._filled: set[int] = set()
        """Units with which a queue was full when they left, by identity."""
        self._closers: dict[int, list[int]] = {}
        self._answered_ns: dict[int, int] = {}

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, lines = self.tracker.lines.unit, self.tracker.lines
        small = None if unit is None else self._small_queue(unit.line.handle)
        if unit is None or small is None or not event.from_sender or lines.again or not unit.numbers:
            return
        queue, _ = small
        handle = unit.line.handle or 0
        if len(unit.numbers) > queue:
            self.breach(
                "larger-than-queue",
                f"{unit.line}: the batch at {ms(event.t_ns)} holds {len(unit.numbers)} messages, its queue {queue}",
                event,
            )
        waiting = len(self.tracker.sends.get(handle, ())) > unit.numbers[-1] + 1
        if _hold(unit.session.queue, queue):
            self._filled.add(id(unit))
            if waiting:
                self.exercise(event)
        self._left.append((unit, self._answered_ns.get(handle, 0)))

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answered(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is not None and event.to_receiver and unit.line.handle is not None:
            self._answered_ns[unit.line.handle] = event.t_ns

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        if event.handle is not None:
            self._ends_ns.setdefault(event.handle, []).append(ended_ns(event))

    @on(Invoke, *CLOSING_VERBS, "send")
    def asked(self, event: Invoke) -> None:
        if event.handle is not None and (event.verb in CLOSING_VERBS or event.args.get("mode") == "sync"):
            self._closers.setdefault(event.handle, []).append(event.op)

    @on(Overdue, "send")
    def overdue(self, event: Overdue) -> None:
        """Nothing is in flight, so nothing but the client's own batch keeps this send waiting."""
        small = self._small_queue(event.handle)
        operation = self.tracker.operations.get(event.op)
        if small is None or operation is None or event.handle is None:
            return
        lines = list(self.tracker.lines.of_handle(event.handle))
        number = operation.invoke.number or 0
        waits_alone = lines and all(self._idle(line) for line in lines)
        if not waits_alone or (event.handle, number) in self.tracker.lines.by_message:
            return
        since_ns = event.t_ns - event.deadline_ms * MS
        if self.tracker.load.quiet(since_ns, event.t_ns, TOLERANCES["schedule"]):
            self.breach(
                "stuck",
                f"producer {event.handle}: message {number} was asked for at {ms(operation.invoke.t_ns)} and had not "
                f"left by {ms(event.t_ns)}, with nothing in flight and a queue of {small[0]} messages",
                operation.invoke,
                event,
            )

    def _idle(self, line: Line) -> bool:
        """Its producer is admitted, on a connection that lives, and has an answer to everything it sent."""
        session = line.sessions[-1] if line.sessions else None
        if session is None or session.ready is None or session.conn in self.tracker.closed or line.closing is not None:
            return False
        return all(unit.given_up or unit.answered for unit in session.queue)

    def finish(self) -> None:
        for ends_ns in self._ends_ns.values():
            ends_ns.sort()
        for unit, answered_ns in self._left:
            self._delay(unit, max(answered_ns, self._room_ns(unit)))
        for handle in self.tracker.lines.openings:
            small = self._small_queue(handle)
            if small is not None and self._closes_by_delay_alone(handle):
                asked = Asked.of(self.tracker.operations[op] for op in self._closers.get(handle, ()))
                for line in self.tracker.lines.of_handle(handle):
                    self._apart(line, asked, in_one_frame(self.view, small[1]))

    def _closes_by_delay_alone(self, handle: int) -> bool:
        """Where nothing is said of batches by key, of memory, and of messages that leave by themselves."""
        lines, setting = self.tracker.lines, self.view.producer_setting
        known = handle not in lines.burst | lines.torn_sends | lines.forged_sends | lines.foresight.explicit
        bounded = self.view.client_setting(handle, "memory_limit_bytes")
        alone = any(is_alone(send) for send in self.tracker.sends.get(handle, ()))
        return known and not bounded and not alone and setting(handle, "batching_type") != "key_based"

    def _apart(self, line: Line, asked: Asked, limits: Limits) -> None:
        if not self.view.is_read_at_once(line.topic):
            return
        slack, load = TOLERANCES["batch-delay"], self.tracker.load
        for index, (before, unit) in enumerate(pairwise(line.units)):
            since_ns, began_ns = asked_ns(self.view, before), asked_ns(self.view, unit)
            alone = len(before.numbers) == 1 or len(unit.numbers) == 1
            if id(unit) not in self._filled or alone or since_ns is None or began_ns is None:
                continue
            if line.closing is not None and line.closing.t_ns <= unit.first.t_ns:
                continue
            after = line.units[index + 2] if index + 2 < len(line.units) else None
            full = limits.reached_by(before, unit, headers=True) or limits.reached_by(unit, after, headers=True)
            one_session = before.sends[0][0] is unit.sends[0][0] and admitted_by(before, since_ns)
            closed = asked.between(since_ns - slack.slack_ns, unit.first.t_ns)
            due_ns = before.first.t_ns + limits.delay_ms * MS - slack.slack_ns
            if full or closed or not one_session or unit.first.t_ns >= due_ns:
                continue
            if load.fair(since_ns, since_ns, slack) and load.quiet(since_ns, unit.first.t_ns, slack):
                self.breach(
                    "too-early",
                    f"{line}: the batch of messages {unit.numbers[0]} to {unit.numbers[-1]} left at "
                    f"{ms(unit.first.t_ns)}, when its queue was full, and the one before it at "
                    f"{ms(before.first.t_ns)}; it had neither its messages nor its bytes, and {limits.delay_ms} ms are "
                    "the delay",
                    before.first,
                    unit.first,
                )

    def _room_ns(self, unit: Unit) -> int:
        """When the last send of its producer ended that ended before it left."""
        ends_ns = self._ends_ns.get(unit.line.handle or 0, [])
        place = bisect_right(ends_ns, unit.first.t_ns)
        return ends_ns[place - 1] if place else 0

    def _delay(self, unit: Unit, room_ns: int) -> None:
        small, since_ns = self._small_queue(unit.line.handle), asked_ns(self.view, unit)
        if small is None or since_ns is None:
            return
        accepted_ns = max(since_ns, room_ns)
        if not admitted_by(unit, accepted_ns):
            return
        due_ns = accepted_ns + small[1].delay_ms * MS
        timing = self.tracker.load.timing(accepted_ns, due_ns, unit.first.t_ns, TOLERANCES["batch-delay"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge a batch's delay")
        elif timing is Timing.LATE:
            self.breach(
                "too-late",
                f"{unit.line}: there was room for message {unit.numbers[0]} by {ms(accepted_ns)}; its batch was due "
                f"{small[1].delay_ms} ms later and left at {ms(unit.first.t_ns)}",
                unit.first,
            )

    def _small_queue(self, handle: int | None) -> tuple[int, Limits] | None:
        """(messages it holds, limits of its batches) of a queue that blocks and is too small for a batch."""
        if handle is None:
            return None
        if handle not in self._small:
            self._small[handle] = self._configured(handle)
        return self._small[handle]

    def _configured(self, handle: int) -> tuple[int, Limits] | None:
        limits, queue = limits_of(self.view, handle), self.view.producer_setting(handle, "max_pending_messages")
        if limits is None or not queue or not self.view.producer_setting(handle, "block_if_queue_full"):
            return None
        return (int(queue), limits) if limits.messages > int(queue) else None


def _hold(units: Iterable[Unit], messages: int) -> bool:
    """Whether they hold so many messages together. Not counted to the end: as many may be waiting as were sent."""
    return any(held >= messages for held in accumulate(len(unit.numbers) for unit in units))
