"""What a reader says of whether there is more, against what its topic holds.

Judged on topics that nobody writes to from the first question on, and that lose nothing by themselves: then the answer
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
from assay_conformance.pulsar.checks.seek._seeking import lost_its_place, target_of

QUESTION = "has_message_available"
_WRITES = {"store_entries", "set_policy", "delete", "migrate"}


class Answers(Check):
    """Each answer, with where the reader was when it was asked: behind a message, at a time sought, or at an end."""

    needs = ((Invoke, QUESTION),)
    place: ClassVar[type[Invoke | Received]]
    """Where answers are judged: behind a message that was handed over, or where nothing has been yet."""

    def start(self) -> None:
        topology = self.view.case.topology
        shrinking = any(topic.message_ttl_s or topic.retention is not None for topic in topology.topics)
        self._judges = not shrinking and not _written_later(self.view.case.steps)
        self._at: dict[int, Invoke | Received] = {}
        """What brought a reader to where it is: its opening, a seek, or the last message it handed over."""
        self._torn: set[int] = set()
        self._pending: dict[int, set[int]] = {}
        self._asked: dict[int, Invoke | Received] = {}
        self._answers: list[tuple[Invoke | Received, Completion]] = []

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        """A copy that a fault made is there to be read, whatever the topic holds; and what was damaged or kept from the
        reader need not be."""
        session = self.tracker.consumer_of(event)
        torn = event.fate is Fate.DUPLICATED or is_torn(event)
        if torn and session is not None and session.consumer is not None:
            self._torn.add(session.consumer.handle)

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        """Nobody knows whether it was stored in time for an answer."""
        del event
        self._judges = False

    @on(Invoke, "open_consumer")
    def opened(self, event: Invoke) -> None:
        self._at[event.handle or 0] = event

    @on(Invoke, "receive", "seek")
    def moves(self, event: Invoke) -> None:
        """From here on, until it has ended, nobody knows where the reader is."""
        handle = event.handle or 0
        self._pending.setdefault(handle, set()).add(event.op)
        self._asked = {op: at for op, at in self._asked.items() if self.tracker.operations[op].invoke.handle != handle}

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

    @on(Invoke, QUESTION)
    def asked(self, event: Invoke) -> None:
        handle = event.handle or 0
        if handle in self._at and not self._pending.get(handle):
            self._asked[event.op] = self._at[handle]

    @on(Completion, QUESTION)
    def answered(self, event: Completion) -> None:
        at = self._asked.pop(event.op, None)
        if at is not None and event.outcome is Outcome.OK and event.handle not in self._torn:
            self._answers.append((at, event))

    def finish(self) -> None:
        """What a topic holds may be known only now."""
        for at, answer in self._answers if self._judges else ():
            consumer = self.tracker.opened_consumers.get(answer.handle or 0)
            if consumer is None or len(consumer.topics) != 1 or lost_its_place(consumer, at, answer):
                continue
            if not isinstance(at, self.place):
                continue
            if not (_names_a_place(at) and in_force(self.view, consumer, "start_inclusive")):
                self._judge(consumer, at, answer)

    def _judge(self, consumer: OpenedConsumer, at: Invoke | Received, answer: Completion) -> None:
        stored = self.tracker.stored.get(consumer.topics[0], [])
        if any(entry.meta.chunk_id is not None or entry.meta.deliver_at_ms is not None for entry in stored):
            return
        said = bool(answer.values.get("available"))
        if said is self._is_more(consumer, at, stored):
            self.exercise(answer)
            return
        self.breach(
            "says-more" if said else "says-no-more",
            f"reader {consumer.handle}, {_where(at)}, said at {ms(answer.t_ns)} that there is "
            f"{'a' if said else 'no'} message available; its topic holds {len(stored)} entries"
            + (f", the last of them {stored[-1].id.name}" if stored else ""),
            *stored[-1:],
            at,
            answer,
        )

    def _is_more(self, consumer: OpenedConsumer, at: Invoke | Received, stored: list[Stored]) -> bool:
        if isinstance(at, Received):
            return _is_behind(stored, at.message_id)
        if at.verb == "open_consumer":
            begins = self.view.setting("consumer", "initial_position", consumer.invoke.args.get("config"))
            return bool(stored) and begins == "earliest"
        if (time_ms := at.args.get("publish_time_ms")) is not None:
            return any(entry.meta.publish_time_ms >= time_ms for entry in stored)
        return _is_behind(stored, MessageId(*at.args["message_id"]))


def _is_behind(stored: list[Stored], id: MessageId) -> bool:
    """Whether a message, or one of a batch, comes behind this one."""
    place = (id.position, max(id.batch_index, 0))
    return any((entry.id.position, entry.meta.messages - 1) > place for entry in stored)


def _names_a_place(at: Invoke | Received) -> bool:
    """Whether a reader may be told to take what is there with it: a message it seeks, or an end it begins at."""
    return isinstance(at, Invoke) and at.args.get("publish_time_ms") is None


def _where(at: Invoke | Received) -> str:
    if isinstance(at, Received):
        index = f" (index {at.message_id.batch_index})" if at.message_id.batch_index >= 0 else ""
        return f"which had handed over {at.message_id.name}{index}"
    return f"which had sought {target_of(at)}" if at.verb == "seek" else "which had handed nothing over"


def _written_later(steps: Sequence[Step]) -> bool:
    questions = [index for index, step in enumerate(steps) if step.verb == QUESTION]
    later = steps[questions[0] :] if questions else ()
    return any(step.who is Who.BROKER and step.verb in _WRITES for step in later)
