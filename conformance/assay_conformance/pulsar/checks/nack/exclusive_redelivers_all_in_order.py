"""What a refusal brings back where one consumer has the whole subscription: all that is open, in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    SessionKey,
    entry_on,
    is_open,
    late,
    of_earlier_epoch,
    session_key,
    to_client,
)
from assay_conformance.checks.settled import Settled
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import REDELIVER
from assay_conformance.model.event import Completion, Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.subscription._readers import is_reader


@dataclass(slots=True)
class _Again:
    """What a session's consumer was sent since it asked for everything, in order, and not handed over yet.

    `stale`: copies from before, or of an earlier epoch, that the application may still get, or never.
    """

    request: Frame
    due: list[tuple[Entry, int]] = field(default_factory=list)
    frames: dict[Entry, Frame] = field(default_factory=dict)
    stale: Counter[tuple[Entry, int]] = field(default_factory=Counter)


class ExclusiveRedeliversAllInOrder(ConsumerCheck):
    """What the broker sends again is handed over again: all of it that is still open, in its order.

    Copies from before the request may still come in between; of a message that has some, nothing is said. Nor of
    readers, which may drop what they have read.
    """

    requirement = RequirementId("nack.exclusive-redelivers-all-in-order")
    needs = ((Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES"),)

    def start(self) -> None:
        self._again: dict[SessionKey, _Again] = {}
        self._copies: dict[int, Counter[tuple[Entry, int]]] = {}
        self._refused: set[int] = set()
        self._settled = Settled()

    def asked(self, call: Call) -> None:
        handle = call.consumer.handle
        if call.invoke.verb == "nack":
            self._refused.add(handle)
            return
        self._settled.asked(call)
        for session in call.consumer.sessions:
            if (again := self._again.get(session_key(session))) is not None:
                again.due = [key for key in again.due if not self._settled.holds(handle, key[0])]

    @on(Frame, REDELIVER)
    def redeliver(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not event.at_broker:
            return
        alone = session.request.fields.get("subType") in ("Exclusive", "Failover")
        if alone and not is_reader(session) and session.consumer.handle in self._refused:
            copies = self._copies.get(session.consumer.handle, Counter())
            self._again[session_key(session)] = _Again(
                event, stale=Counter({key: n for key, n in copies.items() if n > 0})
            )

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        entry = entry_on(session, event.ids[0])
        keys = [(entry, index) for index in range(event.messages) if is_open(event, index)]
        self._copies.setdefault(session.consumer.handle, Counter()).update(keys)
        again = self._again.get(session_key(session))
        if again is None:
            return
        if of_earlier_epoch(event, again.request):
            again.stale.update(keys)
            return
        if not _is_whole(event) or entry in again.frames:
            del self._again[session_key(session)]  # Unreadable, in chunks or twice: which of it is due cannot be told.
            return
        again.frames[entry] = event
        sought = (entry.ledger, entry.entry) in session.consumer.sought
        if not sought and not self._settled.holds(session.consumer.handle, entry):
            again.due += [key for key in keys if not again.stale[key]]

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        consumer = self.tracker.opened_consumers.get(event.handle)
        if entry is None or consumer is None:
            return
        index = max(event.message_id.batch_index, 0)
        self._copies.setdefault(event.handle, Counter())[entry, index] -= 1
        session = consumer.live_on(entry.topic)
        again = None if session is None else self._again.get(session_key(session))
        if again is None or (entry, index) not in again.due:
            return
        place = again.due.index((entry, index))
        if place:
            self._out_of_order(event, again, again.due[0][0], entry)
        else:
            self.exercise(event)
        del again.due[: place + 1]

    def _out_of_order(self, event: Received, again: _Again, first: Entry, entry: Entry) -> None:
        self.breach(
            "out-of-order",
            f"consumer {event.handle} asked for everything again at {ms(again.request.t_ns)} and handed over {entry} "
            f"at {ms(event.t_ns)}, expected {first} before it",
            again.frames[first],
            event,
        )

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or event.count is None or event.count >= int(operation.invoke.args.get("count", 1)):
            return
        for again in self._again.values():
            consumer_id = again.request.consumer_id
            session = self.tracker.consumers.get((again.request.conn, consumer_id)) if consumer_id is not None else None
            if session is None or session.consumer is None or session.consumer.handle != event.handle or not again.due:
                continue
            first = again.due[0][0]
            if session.ended is None and late("answer", again.frames[first].t_ns, event.t_ns):
                self.suspect(
                    "answer",
                    again.frames[first].t_ns,
                    event.t_ns,
                    "not-back",
                    f"consumer {event.handle} asked for everything again at {ms(again.request.t_ns)} and got {first} "
                    f"at {ms(again.frames[first].t_ns)}; it was not handed over by {ms(event.t_ns)}, when a receive "
                    "ended short",
                    again.request,
                    again.frames[first],
                    event,
                )
                again.due.clear()

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        self._again.pop(session_key(session), None)


def _is_whole(event: Frame) -> bool:
    return event.intact is not False and event.meta is not None and event.meta.chunk_id is None and bool(event.members)
