"""Seeks: where the application goes on, what it must not see any more, and when the call may end."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import acked_entries, entry_on, in_force, late
from assay_conformance.checks.parts import takes_several
from assay_conformance.checks.seek.seeking import SeekCheck, Sought, lost_its_place, target_of
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Completion, Event, Frame, MessageId, Outcome, Received, Sides, Stored
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

Message = tuple[Entry, int]
"""One message: its entry, and its index in a batch, 0 where there is none."""


class StartsAtTarget(SeekCheck):
    """The first message behind a seek is the first one behind the message sought, or itself where the consumer is to
    begin with it, or of the time sought or later.

    Not judged where the application acknowledged something meanwhile, or a fault took a MESSAGE out of its stream; nor
    where nobody knows which stream is its consumer's.
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
        if seek is None or session is None or seek.asked is None or session.request.seq < seek.asked.seq:
            return
        if event.sides is not Sides.BOTH and not seek.delivered:
            seek.undisturbed = False
        self._arrived.setdefault((seek.consumer.handle, entry_on(session, event.ids[0])), event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """What came last on a connection that is gone may not have been read, and comes again."""
        del event
        gone = (session.conn, session.consumer_id)
        self._arrived = {key: frame for key, frame in self._arrived.items() if (frame.conn, frame.consumer_id) != gone}

    def handed_over(self, seek: Sought, event: Received) -> None:
        if seek.delivered or seek.asked is None or lost_its_place(seek.consumer, seek.invoke, event):
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
            f"{ms(seek.completion.t_ns)}; the first message handed over behind it is {got[0]} (index {got[1]}), "
            f"expected {entry} (index {index})",
            seek.invoke,
            seek.asked,
            event,
        )

    @on(Completion, "receive")
    def nothing_came(self, event: Completion) -> None:
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
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}; {expected[0]} came behind it at "
            f"{ms(arrived.t_ns)}, and a receive ended with nothing at {ms(event.t_ns)}",
            seek.invoke,
            arrived,
            event,
        )

    def _expected(self, seek: Sought) -> Message | None:
        """The message that comes first; None where the topic holds none, or the target is not known there.

        Nor is it known among chunks, which come as their last one, and among messages that may come later than others.
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
        behind = 0 if in_force(self.view, seek.consumer, "start_inclusive") else 1
        target = (MessageId(*id).position, MessageId(*id).batch_index)
        messages = [message for entry in stored for message in _messages(entry)]
        for place, (entry, index) in enumerate(messages):
            if ((entry.ledger, entry.entry), index) == (target[0], max(target[1], 0)):
                return messages[place + behind] if place + behind < len(messages) else None
        return None


class ForgetsBefore(SeekCheck, AckCheck):
    """What had come before a seek is not handed over behind it, unless it came again; nor is it acknowledged."""

    requirement = RequirementId("seek.discards-prefetched")

    def start(self) -> None:
        super().start()
        self._came: dict[int, dict[Entry, list[Frame]]] = {}
        self._taken: dict[int, set[Entry]] = {}
        self._unsent: dict[int, set[Entry]] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not Direction.TO_CLIENT or not event.to_receiver:
            return
        entry = entry_on(session, event.ids[0])
        self._came.setdefault(session.consumer.handle, {}).setdefault(entry, []).append(event)

    def asked(self, call: Call) -> None:
        """Commands of one handle reach the client in order, so this one reaches it ahead of a later seek, and behind an
        earlier one: what it settles is not of before that any more, be it the rest of a batch."""
        if call.invoke.verb == "ack" and not call.cumulative:
            self._unsent.setdefault(call.consumer.handle, set()).add(call.entry)
            if (seek := self.current.get(call.consumer.handle)) is not None:
                seek.unsent.discard(call.entry)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        handle = consumer.handle
        if event.ack_type == "Cumulative":
            return
        named = set(acked_entries(session, event))
        self._unsent.get(handle, set()).difference_update(named)
        seek = self.current.get(handle)
        if seek is None or seek.beside or seek.asked is None or event.seq < seek.asked.seq:
            return
        stale = sorted(entry for entry in named & seek.unsent if not self._came_again(seek, entry))
        if stale:
            self.breach(
                "acked-behind-seek",
                f"consumer {handle} was told to acknowledge {stale[0]} before it sought {target_of(seek.invoke)}; the "
                f"ACK left at {ms(event.t_ns)}, behind the SEEK of {ms(seek.asked.t_ns)}",
                seek.invoke,
                seek.asked,
                event,
            )

    def begun(self, seek: Sought) -> None:
        handle = seek.consumer.handle
        seek.unsent = set(self._unsent.get(handle, ()))
        seek.prefetched = set(self._came.get(handle, ())) - self._taken.get(handle, set())

    @on(Received)
    def noted_delivery(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        if consumer is not None and len(consumer.topics) == 1 and self.is_of_its_topic(consumer, event):
            self._taken.setdefault(event.handle, set()).add(self.entry_of(consumer, event))

    def handed_over(self, seek: Sought, event: Received) -> None:
        entry = self.entry_of(seek.consumer, event)
        if seek.asked is None:
            return
        if not self._came_again(seek, entry):
            came = self._came.get(seek.consumer.handle, {}).get(entry, [])
            assert seek.completion is not None
            self.breach(
                "stale-delivery",
                f"consumer {seek.consumer.handle} handed {entry} over at {ms(event.t_ns)}; it "
                f"sought {target_of(seek.invoke)}, which ended at {ms(seek.completion.t_ns)}, and nothing had brought "
                "it since",
                *came[-1:],
                seek.asked,
                event,
            )
        elif seek.prefetched or seek.unsent:
            self.exercise(event)

    def _came_again(self, seek: Sought, entry: Entry) -> bool:
        assert seek.asked is not None
        frames = self._came.get(seek.consumer.handle, {}).get(entry, [])
        return any(frame.seq > seek.asked.seq for frame in frames)


class EndsWhenConnected(SeekCheck):
    """A seek that sent its consumer away ends when that is back, not before, and soon after.

    Where the broker's answer comes ahead of the CLOSE_CONSUMER, a client that is still connected may end it then.
    """

    requirement = RequirementId("seek.completes-after-resubscribe")

    def sought(self, seek: Sought, event: Completion) -> None:
        closed, answered = seek.closed, seek.answered
        if closed is None or answered is None or closed.seq > answered.seq:
            return
        if any(session.ready is not None for session in seek.sessions()):
            self.exercise(event)
            return
        self.breach(
            "ended-while-away",
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}; the broker sent it away at "
            f"{ms(closed.t_ns)}, and the call ended at {ms(event.t_ns)}, before it was subscribed again",
            closed,
            answered,
            event,
        )

    def over(self, session: ConsumerSession, event: Event) -> None:
        seek = self.current.get(session.consumer.handle) if session.consumer is not None else None
        if seek is None or seek.completion is not None or seek.answered is None or session.ready is None:
            return
        if seek.asked is None or session.request.seq < seek.asked.seq or takes_several(self.view, seek.consumer):
            return
        since_ns = max(session.ready.t_ns, seek.answered.t_ns)
        if late("answer", since_ns, event.t_ns):
            self.overdue(
                "answer",
                since_ns,
                event.t_ns,
                "not-ended",
                f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}; the broker had answered and it was "
                f"subscribed again at {ms(since_ns)}, and the call had not ended at {ms(event.t_ns)}",
                seek.invoke,
                seek.answered,
                session.ready,
            )


def _messages(entry: Stored) -> Iterator[Message]:
    place = Entry(entry.topic, entry.id.ledger, entry.id.entry)
    for index in range(entry.meta.messages):
        yield place, index


def _first(entry: Stored) -> Message:
    return next(_messages(entry))
