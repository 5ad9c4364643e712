"""Batching: when an open batch has to close."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class ClosesAtFirstLimit(Check):
    """A batch closes at the first of its three limits: messages, bytes, or the delay since its first message.

    Closing earlier is allowed (flush, a synchronous send, a full queue). The bytes limit is reached when what is inside
    comes to it, so only a message added after that is one too many. The delay is judged while the producer is admitted
    and the broker reads: a batch cannot leave without a connection, nor be seen while nobody reads it.
    """

    requirement = RequirementId("batching.closes-at-first-limit")

    def start(self) -> None:
        self._throttled = {topic.name for topic in self.view.case.topology.topics if topic.publish_rate.messages}
        self._throttled |= {topic.name for topic in self.view.case.topology.topics if topic.publish_rate.bytes}
        self._limits: dict[int, tuple[int, int, int] | None] = {}
        self._left: list[tuple[Unit, ProducerSession, int]] = []

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or not event.from_sender or self.tracker.lines.again or not unit.numbers:
            return
        limits = self._limits_of(unit.line.handle)
        if limits is None:
            return
        messages, size, delay_ms = limits
        self.exercise(event)
        if messages and len(unit.numbers) > messages:
            self.breach(
                "too-many-messages",
                f"{unit.line}: the batch at {ms(event.t_ns)} holds {len(unit.numbers)} messages, {messages} "
                "are the limit",
                event,
            )
        inside = sum(member.size for member in event.members[:-1])
        if size and inside >= size:
            self.breach(
                "too-many-bytes",
                f"{unit.line}: the batch at {ms(event.t_ns)} held {inside} bytes, of {size} allowed, and took "
                "one message more",
                event,
            )
        if unit.line.topic.partition("-partition-")[0] not in self._throttled:
            self._left.append((unit, unit.session, delay_ms))

    def finish(self) -> None:
        for unit, session, delay_ms in self._left:
            self._delay(unit, session, delay_ms)

    def _delay(self, unit: Unit, session: ProducerSession, delay_ms: int) -> None:
        event, ready = unit.first, session.ready
        send = self.tracker.send_of(unit.line.handle or 0, unit.numbers[0])
        # An agent that waits for something else of that producer keeps the send back: only its own stamp counts.
        asked_ns = send.completion.called_ns if send is not None and send.completion is not None else None
        if send is None or asked_ns is None or ready is None or ready.t_ns > asked_ns:
            return
        due_ns = asked_ns + delay_ms * MS
        timing = self.tracker.load.timing(asked_ns, due_ns, event.t_ns, TOLERANCES["batch-delay"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge a batch's delay")
        elif timing is Timing.LATE:
            self.breach(
                "too-late",
                f"{unit.line}: message {unit.numbers[0]} was asked for at {ms(asked_ns)}; its batch was due "
                f"{delay_ms} ms "
                f"later and left at {ms(event.t_ns)}",
                send.invoke,
                event,
            )

    def _limits_of(self, handle: int | None) -> tuple[int, int, int] | None:
        """(messages, bytes, delay in ms) of a producer that batches; 0 where a limit is off."""
        if handle is None:
            return None
        if handle not in self._limits:
            self._limits[handle] = self._configured(handle)
        return self._limits[handle]

    def _configured(self, handle: int) -> tuple[int, int, int] | None:
        setting = self.view.producer_setting
        delay_ms = setting(handle, "batching_max_publish_delay_ms")
        if setting(handle, "batching") is not True or delay_ms is None or setting(handle, "block_if_queue_full"):
            return None
        messages, size = setting(handle, "batching_max_messages"), setting(handle, "batching_max_bytes")
        return max(int(messages or 0), 0), max(int(size or 0), 0), int(delay_ms)
