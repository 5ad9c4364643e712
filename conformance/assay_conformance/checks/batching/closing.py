"""When an open batch closes: at the first of its limits, when it is flushed, and when its queue is full."""

from __future__ import annotations

import itertools
from bisect import bisect_right

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.batching.limits import Limits, admitted_by, asked_ns, limits_of, units_read_at_once
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, Frame, Invoke, Outcome, Overdue
from assay_conformance.model.requirement import RequirementId


class ClosesAtFirstLimit(Check):
    """A batch closes at the first of its three limits: messages, bytes, or the delay since its first message.

    Closing earlier is allowed (flush, a synchronous send, a full queue). The bytes limit is reached when what is inside
    comes to it, so only a message added after that is one too many. The delay is judged while the producer is admitted
    and the broker reads: a batch cannot leave without a connection, nor be seen while nobody reads it. Where a full
    queue blocks, a message may wait in front of the batch as well, which is a matter of its own.

    A batch shows something when one of its limits was reached: it was full, it had no room for the message after it, or
    its time was up.
    """

    requirement = RequirementId("batching.closes-at-first-limit")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._limits: dict[int, Limits | None] = {}

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or not event.from_sender or self.tracker.lines.again or not unit.numbers:
            return
        limits = self._limits_of(unit.line.handle)
        if limits is None:
            return
        if limits.messages and len(unit.numbers) > limits.messages:
            self.breach(
                "too-many-messages",
                f"{unit.line}: the batch at {ms(event.t_ns)} holds {len(unit.numbers)} messages, {limits.messages} "
                "are the limit",
                event,
            )
        inside = sum(member.size for member in event.members[:-1])
        if limits.bytes and inside >= limits.bytes:
            self.breach(
                "too-many-bytes",
                f"{unit.line}: the batch at {ms(event.t_ns)} held {inside} bytes, of {limits.bytes} allowed, and took "
                "one message more",
                event,
            )

    def finish(self) -> None:
        for handle, limits in self._limits.items():
            if limits is not None:
                on_time = {unit for unit in units_read_at_once(self, handle) if self._left_by_delay(unit, limits)}
                for line in self.tracker.lines.of_handle(handle):
                    for unit, after in itertools.zip_longest(line.units, line.units[1:]):
                        if unit in on_time or (unit.numbers and limits.reached_by(unit, after)):
                            self.exercise(unit.first)

    def _left_by_delay(self, unit: Unit, limits: Limits) -> bool:
        """Its time was up, and it left then; a breach where it left late."""
        since_ns, delay_ms = asked_ns(self, unit), limits.delay_ms
        if since_ns is None or not admitted_by(unit, since_ns):
            return False
        event, due_ns = unit.first, since_ns + delay_ms * MS
        timing = self.tracker.load.timing(since_ns, due_ns, event.t_ns, TOLERANCES["batch-delay"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge a batch's delay")
        elif timing is Timing.LATE:
            send = self.tracker.send_of(unit.line.handle or 0, unit.numbers[0])
            assert send is not None
            self.breach(
                "too-late",
                f"{unit.line}: message {unit.numbers[0]} was asked for at {ms(since_ns)}; its batch was due "
                f"{delay_ms} ms later and left at {ms(event.t_ns)}",
                send.invoke,
                event,
            )
        return timing is Timing.IN_TIME and event.t_ns >= due_ns - TOLERANCES["time-out-early"].slack_ns

    def _limits_of(self, handle: int | None) -> Limits | None:
        if handle is None:
            return None
        if handle not in self._limits:
            blocks = self.view.producer_setting(handle, "block_if_queue_full")
            self._limits[handle] = None if blocks else limits_of(self.view, handle)
        return self._limits[handle]


class FlushClosesBatch(Check):
    """What is in the open batch leaves when its producer is flushed, or a synchronous send joins it, and that send
    returns no earlier than its receipt comes. Batches of other partitions are none of a send's business.

    Judged where the batch would have stayed open for long: neither full, nor its delay nearly over.
    """

    requirement = RequirementId("batching.flush-closes-batch")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._flushes: list[Operation] = []
        self._returned: list[tuple[int, Invoke, Completion]] = []

    @on(Completion, "flush", "send")
    def ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or operation.completion is not event or event.handle is None:
            return
        synchronous = event.verb == "send" and operation.invoke.args.get("mode") == "sync"
        if synchronous and event.outcome is Outcome.OK:
            self._returned.append((event.handle, operation.invoke, event))
        if synchronous or event.verb == "flush":
            self._flushes.append(operation)

    def finish(self) -> None:
        for handle, invoke, event in self._returned:
            self._receipt(handle, invoke, event)
        for operation in self._flushes:
            handle = operation.invoke.handle or 0
            limits = limits_of(self.view, handle)
            if limits is not None and not self.view.producer_setting(handle, "block_if_queue_full"):
                for unit in units_read_at_once(self, handle):
                    self._judge(operation, limits, unit)

    def _receipt(self, handle: int, invoke: Invoke, event: Completion) -> None:
        lines = self.tracker.lines
        unit = lines.by_message.get((handle, invoke.number or 0))
        if unit is None or handle in lines.foresight.unsure | lines.unpaired or lines.forged_receipts:
            return
        if unit.receipts and unit.receipts[0].seq < event.seq:
            if self.view.producer_setting(handle, "batching") is True:
                self.exercise(event)
            return
        self.breach(
            "returned-early",
            f"producer {handle}: the synchronous send of message {invoke.number} succeeded at {ms(event.t_ns)}, and no "
            "receipt for it had been written to the client by then",
            invoke,
            event,
        )

    def _judge(self, operation: Operation, limits: Limits, unit: Unit) -> None:
        completion, since_ns = operation.completion, asked_ns(self, unit)
        called_ns = None if completion is None else completion.called_ns
        if called_ns is None or since_ns is None or not admitted_by(unit, called_ns):
            return
        if operation.invoke.verb == "send" and not self._joins(operation.invoke, unit):
            return
        first = self.tracker.send_of(unit.line.handle or 0, unit.numbers[0])
        was_open = first is not None and first.invoke.seq <= operation.invoke.seq and unit.first.t_ns >= called_ns
        tolerance = TOLERANCES["answer"]
        due_soon = since_ns + limits.delay_ms * MS <= called_ns + tolerance.slack_ns
        if not was_open or due_soon or limits.reached_by(unit):
            return
        self.exercise(unit.first)
        timing = self.tracker.load.timing(called_ns, called_ns, unit.first.t_ns, tolerance)
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say when a flushed batch left")
        elif timing is Timing.LATE:
            self.breach(
                "stayed-open",
                f"{unit.line}: {_called(operation.invoke)} at {ms(called_ns)} with message {unit.numbers[0]} in the "
                f"open batch, which left at {ms(unit.first.t_ns)}, expected at once",
                operation.invoke,
                unit.first,
            )

    def _joins(self, send: Invoke, unit: Unit) -> bool:
        """The message went where this unit did."""
        own = self.tracker.lines.by_message.get((unit.line.handle or 0, send.number or 0))
        return own is not None and own.line is unit.line


def _called(invoke: Invoke) -> str:
    return "flush" if invoke.verb == "flush" else f"a synchronous send of message {invoke.number}"


class SmallQueueMovesOn(Check):
    """Where a full queue blocks and holds fewer messages than a batch, no batch outgrows the queue, and each leaves by
    its delay: the message that would fill it waits for room that only the batch can make.

    A message counts as accepted, at the latest, when it was asked for and whatever was answered last had made room.
    """

    requirement = RequirementId("batching.small-queue-moves-on")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._small: dict[int, tuple[int, Limits] | None] = {}
        self._ends_ns: dict[int, list[int]] = {}
        """Producer handle -> when its sends ended, by the agent's own stamps: its words may come late."""
        self._left: list[tuple[Unit, int]] = []
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
        if waiting and sum(len(pending.numbers) for pending in unit.session.queue) >= queue:
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

    def _room_ns(self, unit: Unit) -> int:
        """When the last send of its producer ended that ended before it left."""
        ends_ns = self._ends_ns.get(unit.line.handle or 0, [])
        place = bisect_right(ends_ns, unit.first.t_ns)
        return ends_ns[place - 1] if place else 0

    def _delay(self, unit: Unit, room_ns: int) -> None:
        small, since_ns = self._small_queue(unit.line.handle), asked_ns(self, unit)
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
