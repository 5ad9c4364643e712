"""What a refusal brings back: whole entries."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    EntryKey,
    entry_on,
    is_dead_letter,
    late,
    listed,
    of_batch,
    sent_round,
    to_client,
)
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Members:
    """A refused batch entry: the messages still open, and what came back of them."""

    call: Call
    size: int
    request: Frame | None = None
    dispatch: Frame | None = None
    back: set[int] = field(default_factory=set)


class RequestsWholeBatch(RequestCheck):
    """A refused batch message brings its entry back: the REDELIVER names no batch index, and the application gets
    every message of the entry that it has neither acknowledged nor sent round by a retry letter."""

    requirement = RequirementId("nack.requests-whole-batch")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._refused: dict[EntryKey, _Members] = {}
        self._acked: set[tuple[int, Entry, int]] = set()
        self._sizes: dict[EntryKey, int] = {}

    def asked(self, call: Call) -> None:
        id = call.message.message_id
        key = (call.consumer.handle, call.entry)
        if call.invoke.verb == "ack":
            if call.cumulative:
                self._refused.clear()
            self._acked.add((*key, id.batch_index))
        elif of_batch(id) and self.session_of(call) is not None and self._all_seen(call, self._sizes.get(key, 0)):
            self._refused.setdefault(key, _Members(call, self._sizes[key]))

    @on(Invoke, "reconsume_later")
    def sent_round(self, event: Invoke) -> None:
        for message, entry in sent_round(self.tracker, event):
            self._acked.add((event.handle or 0, entry, message.message_id.batch_index))

    def _all_seen(self, call: Call, size: int) -> bool:
        """Every message of the entry had come before, so that what comes from now on came again. A seek into the entry
        left behind what has not come since."""
        sought = self._last_seek(call.consumer)
        seen = {
            message.message_id.batch_index
            for message in self.tracker.received[call.consumer.handle]
            if message.seq > sought and self.tracker.entries.get(message.seq) == call.entry
        }
        return len(seen) >= size > 1

    def _last_seek(self, consumer: OpenedConsumer) -> int:
        """The event behind which it stands where that took it; -1 before any."""
        seek = consumer.last_seek
        return -1 if seek is None else (self.tracker.operations[seek.op].completion or seek).seq

    def redeliver(self, request: Request) -> None:
        event = request.frame
        for handle, entry in request.asks_for(self._refused):
            members = self._refused[handle, entry]
            members.request = event
            indexed = [id for id in event.ids if entry_on(request.session, id) == entry and id.batch_index >= 0]
            if indexed:
                self.breach(
                    "batch-index-sent",
                    f"consumer {handle} asked for message {indexed[0].batch_index} of batch {entry} again, expected "
                    "the whole entry, without a batch index",
                    members.call.invoke,
                    event,
                )
                del self._refused[handle, entry]

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        key = (session.consumer.handle, entry_on(session, event.ids[0]))
        self._sizes[key] = (event.meta.batch if event.meta is not None else None) or 0
        members = self._refused.get(key)
        if members is not None and members.request is not None and event.intact is not False:
            excused = any(event.ack_sets) or is_dead_letter(self.view, session.consumer, event)
            if excused or members.dispatch is not None:
                del self._refused[key]
            else:
                members.dispatch = event

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        entry = None if consumer is None else self.tracker.entries.get(event.seq)
        members = None if entry is None else self._refused.get((event.handle, entry))
        if members is None or members.dispatch is None:
            return
        members.back.add(event.message_id.batch_index)
        if not self._missing(members):
            self.exercise(event)
            del self._refused[event.handle, members.call.entry]

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        """A receive that ended short, although part of the entry had come, shows that the rest will not."""
        operation = self.tracker.operations.get(event.op)
        if operation is None or event.count is None:
            return
        if event.count >= int(operation.invoke.args.get("count", 1)):
            return
        for (handle, entry), members in list(self._refused.items()):
            dispatch = members.dispatch
            if handle != event.handle or dispatch is None or not members.back:
                continue
            if not late("answer", dispatch.t_ns, event.t_ns):
                continue
            self.suspect(
                "answer",
                dispatch.t_ns,
                event.t_ns,
                "part-of-entry",
                f"consumer {handle} got entry {entry} again at {ms(dispatch.t_ns)} and handed over messages "
                f"{listed(members.back)}, expected {listed(self._missing(members))} too",
                members.call.invoke,
                dispatch,
                event,
            )
            del self._refused[handle, entry]

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        if session.consumer is not None:
            for key in [key for key in self._refused if key[0] == session.consumer.handle]:
                del self._refused[key]

    def _missing(self, members: _Members) -> set[int]:
        handle, entry = members.call.consumer.handle, members.call.entry
        assert members.dispatch is not None
        compacted = {index for index, member in enumerate(members.dispatch.members) if member.compacted_out}
        open_ = {index for index in range(members.size) if (handle, entry, index) not in self._acked}
        return open_ - members.back - compacted
