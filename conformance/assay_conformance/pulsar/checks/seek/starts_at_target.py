"""seek.starts-at-target"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import entry_on, in_force, late
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Completion, Event, Frame, MessageId, Outcome, Received, Sides, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.seek._seeking import SeekCheck, Sought, lost_position, target_of

Message = tuple[Entry, int]
"""One message: its entry, and its index in a batch, 0 where there is none."""


class StartsAtTarget(SeekCheck):
    """The first message after a seek is the one after its target, or the target itself with `start_inclusive`, or the
    first one published at the target time or later.

    Not judged where the application acknowledged something meanwhile, or a fault dropped a MESSAGE or may have: it is
    unknown on which connection a consumer's messages come then.
    """

    requirement = RequirementId("seek.starts-at-target")

    def start(self) -> None:
        super().start()
        self._arrived: dict[tuple[int, Entry], Frame] = {}

    def begun(self, seek: Sought) -> None:
        self._arrived = {key: frame for key, frame in self._arrived.items() if key[0] != seek.consumer.handle}

    def asked(self, call: Call) -> None:
        seek = self.current.get(call.consumer.handle)
        if seek is not None and not seek.delivered:
            seek.undisturbed = False

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        seek = self.current.get(session.consumer.handle) if session is not None and session.consumer else None
        if seek is None or session is None or seek.command is None or session.request.seq < seek.command.seq:
            return
        if event.sides is not Sides.BOTH and not seek.delivered:
            seek.undisturbed = False
        self._arrived.setdefault((seek.consumer.handle, entry_on(session, event.ids[0])), event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """Messages that arrived last on a lost connection may not have been read, and come again."""
        del event
        gone = (session.conn, session.consumer_id)
        self._arrived = {key: frame for key, frame in self._arrived.items() if (frame.conn, frame.consumer_id) != gone}

    def received_after_seek(self, seek: Sought, event: Received) -> None:
        if seek.delivered or seek.command is None or lost_position(seek.consumer, seek.invoke, event):
            return
        expected = self._expected(seek)
        if expected is None:
            return
        entry, index = expected
        got = (self.entry_of(seek.consumer, event), max(event.message_id.batch_index, 0))
        if got == (entry, index):
            self.exercise(event)
            return
        assert seek.completion is not None
        self.breach(
            "wrong-start",
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}, which ended at "
            f"{ms(seek.completion.t_ns)}; expected {entry} (index {index}) as the first message after it; it received "
            f"{got[0]} (index {got[1]})",
            seek.invoke,
            seek.command,
            event,
        )

    @on(Completion, "receive")
    def received_nothing(self, event: Completion) -> None:
        seek = self.current.get(event.handle or 0)
        operation = self.tracker.operations.get(event.op)
        if seek is None or operation is None or not seek.done or not seek.undisturbed or seek.delivered:
            return
        completion = seek.completion
        if completion is None or operation.invoke.seq < completion.seq or event.outcome is not Outcome.OK:
            return
        expected = self._expected(seek)
        arrived = None if expected is None else self._arrived.get((seek.consumer.handle, expected[0]))
        if arrived is None or event.count or not late("answer", arrived.t_ns, event.t_ns):
            return
        assert expected is not None
        self.overdue(
            "answer",
            arrived.t_ns,
            event.t_ns,
            "nothing-delivered",
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}, and {expected[0]} arrived after it at "
            f"{ms(arrived.t_ns)}; expected a receive to return it; one ended without a message at {ms(event.t_ns)}",
            seek.invoke,
            arrived,
            event,
        )

    def _expected(self, seek: Sought) -> Message | None:
        """Return the message that comes first; None where the topic holds none, or does not hold the target.

        None also with chunks, which come as their last one, and with messages that may be delivered later than others.
        """
        stored = self.tracker.stored.get(seek.consumer.topics[0], [])
        time_ms = seek.invoke.args.get("publish_time_ms")
        id = seek.invoke.args.get("message_id")
        if any(entry.meta.chunk_id is not None or entry.meta.deliver_at_ms is not None for entry in stored):
            return None
        if time_ms is not None:
            return next((_first(entry) for entry in stored if entry.meta.publish_time_ms >= time_ms), None)
        if id is None:
            return None
        offset = 0 if in_force(self.view, seek.consumer, "start_inclusive") else 1
        target = (MessageId(*id).position, MessageId(*id).batch_index)
        messages = [message for entry in stored for message in _messages(entry)]
        for place, (entry, index) in enumerate(messages):
            if ((entry.ledger, entry.entry), index) == (target[0], max(target[1], 0)):
                return messages[place + offset] if place + offset < len(messages) else None
        return None


def _messages(entry: Stored) -> Iterator[Message]:
    place = Entry(entry.topic, entry.id.ledger, entry.id.entry)
    for index in range(entry.meta.messages):
        yield place, index


def _first(entry: Stored) -> Message:
    return next(_messages(entry))
