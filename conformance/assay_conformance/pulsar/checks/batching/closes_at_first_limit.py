"""batching.closes-at-first-limit"""

from __future__ import annotations

import itertools

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    asked_ns,
    limits_of,
    units_read_at_once,
)


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
