"""Answers of has_message_available, compared with what the topic holds.

Judged on topics that are not written to after the first call, and that delete nothing by themselves, so that the answer
does not depend on when it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import in_force, is_torn
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.case import Step, Who
from assay_conformance.model.event import Completion, Fate, Frame, Invoke, MessageId, Outcome, Received, Stored
from assay_conformance.pulsar.checks.seek._seeking import lost_position, target_of

HAS_MESSAGE_AVAILABLE = "has_message_available"
_WRITES = {"store_entries", "set_policy", "delete", "migrate"}


class Answers(Check):
    """Each answer, with the reader's position at the call: after a message, at a time, or at an end of the topic."""

    needs = ((Invoke, HAS_MESSAGE_AVAILABLE),)
    place: ClassVar[type[Invoke | Received]]
    """Which answers are judged: those after a received message, or those before any."""

    def start(self) -> None:
        topology = self.view.case.topology
        shrinking = any(topic.message_ttl_s or topic.retention is not None for topic in topology.topics)
        self._judges = not shrinking and not _written_later(self.view.case.steps)
        self._at: dict[int, Invoke | Received] = {}
        """What determines a reader's position: its opening, a seek, or the last message it received."""
        self._not_judged: set[int] = set()
        self._pending: dict[int, set[int]] = {}
        self._calls: dict[int, Invoke | Received] = {}
        self._answers: list[tuple[Invoke | Received, Completion]] = []

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        """A duplicate made by a fault may be read although the topic does not hold it, and a damaged or dropped message
        may not be read although it does."""
        session = self.tracker.consumer_of(event)
        torn = event.fate is Fate.DUPLICATED or is_torn(event)
        if torn and session is not None and session.consumer is not None:
            self._not_judged.add(session.consumer.handle)

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        """Whether it was stored in time for an answer is unknown."""
        del event
        self._judges = False

    @on(Invoke, "open_consumer")
    def opened(self, event: Invoke) -> None:
        self._at[event.handle or 0] = event

    @on(Invoke, "receive", "seek")
    def moves(self, event: Invoke) -> None:
        """Until it has ended, the reader's position is unknown."""
        handle = event.handle or 0
        self._pending.setdefault(handle, set()).add(event.op)
        self._calls = {op: at for op, at in self._calls.items() if self.tracker.operations[op].invoke.handle != handle}

    @on(Completion, "receive", "seek")
    def moved(self, event: Completion) -> None:
        handle = event.handle or 0
        self._pending.get(handle, set()).discard(event.op)
        if event.verb == "seek" and event.outcome is Outcome.OK:
            self._at[handle] = self.tracker.operations[event.op].invoke
        elif event.verb == "seek" and event.outcome is Outcome.UNKNOWN:
            self._at.pop(handle, None)

    @on(Received)
    def received(self, event: Received) -> None:
        self._at[event.handle] = event

    @on(Invoke, HAS_MESSAGE_AVAILABLE)
    def called(self, event: Invoke) -> None:
        handle = event.handle or 0
        if handle in self._at and not self._pending.get(handle):
            self._calls[event.op] = self._at[handle]

    @on(Completion, HAS_MESSAGE_AVAILABLE)
    def answered(self, event: Completion) -> None:
        at = self._calls.pop(event.op, None)
        if at is not None and event.outcome is Outcome.OK and event.handle not in self._not_judged:
            self._answers.append((at, event))

    def finish(self) -> None:
        """Judge last, when it is known what the topic holds."""
        for at, answer in self._answers if self._judges else ():
            consumer = self.tracker.opened_consumers.get(answer.handle or 0)
            if consumer is None or len(consumer.topics) != 1 or lost_position(consumer, at, answer):
                continue
            if not isinstance(at, self.place):
                continue
            if not (_may_be_inclusive(at) and in_force(self.view, consumer, "start_inclusive")):
                self._judge(consumer, at, answer)

    def _judge(self, consumer: OpenedConsumer, at: Invoke | Received, answer: Completion) -> None:
        stored = self.tracker.stored.get(consumer.topics[0], [])
        if any(entry.meta.chunk_id is not None or entry.meta.deliver_at_ms is not None for entry in stored):
            return
        available = bool(answer.values.get("available"))
        if available is self._is_more(consumer, at, stored):
            self.exercise(answer)
            return
        self.breach(
            "says-more" if available else "says-no-more",
            f"reader {consumer.handle}, {_where(at)}, answered has_message_available with {available} at "
            f"{ms(answer.t_ns)}; expected {not available}; its topic holds {len(stored)} entries"
            + (f", the last of them {stored[-1].id.name}" if stored else ""),
            *stored[-1:],
            at,
            answer,
        )

    def _is_more(self, consumer: OpenedConsumer, at: Invoke | Received, stored: list[Stored]) -> bool:
        if isinstance(at, Received):
            return _is_after(stored, at.message_id)
        if at.verb == "open_consumer":
            begins = self.view.setting("consumer", "initial_position", consumer.invoke.args.get("config"))
            return bool(stored) and begins == "earliest"
        if (time_ms := at.args.get("publish_time_ms")) is not None:
            return any(entry.meta.publish_time_ms >= time_ms for entry in stored)
        return _is_after(stored, MessageId(*at.args["message_id"]))


def _is_after(stored: list[Stored], id: MessageId) -> bool:
    """Whether a message, or one of a batch, comes after this one."""
    place = (id.position, max(id.batch_index, 0))
    return any((entry.id.position, entry.meta.messages - 1) > place for entry in stored)


def _may_be_inclusive(at: Invoke | Received) -> bool:
    """Whether `start_inclusive` changes the result: after a seek to a message, or at an end of the topic."""
    return isinstance(at, Invoke) and at.args.get("publish_time_ms") is None


def _where(at: Invoke | Received) -> str:
    if isinstance(at, Received):
        index = f" (index {at.message_id.batch_index})" if at.message_id.batch_index >= 0 else ""
        return f"which had received {at.message_id.name}{index}"
    return f"which had sought {target_of(at)}" if at.verb == "seek" else "which had received nothing"


def _written_later(steps: Sequence[Step]) -> bool:
    questions = [index for index, step in enumerate(steps) if step.verb == HAS_MESSAGE_AVAILABLE]
    later = steps[questions[0] :] if questions else ()
    return any(step.who is Who.BROKER and step.verb in _WRITES for step in later)
