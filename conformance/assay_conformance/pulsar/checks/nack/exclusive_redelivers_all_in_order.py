from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import acked_entries, is_open, of_earlier_epoch, plain_acks
from assay_conformance.checks.settled import Settled
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import (
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    looked_ns,
    ms,
)
from assay_conformance.pulsar.timeline.moments import (
    ArrivedAtBroker,
    Delivered,
    Dispatched,
    ReceiveEnded,
    RedeliverWritten,
    SessionOver,
    SettleCalled,
)
from assay_conformance.pulsar.timeline.readers import is_reader


@dataclass(slots=True)
class _Again:
    """What a session's consumer was sent since it requested everything, in order, and not delivered yet.

    `stale`: copies from before, or of an earlier epoch, that the application may still get, or never.
    """

    request: Frame
    stale: Counter[tuple[Entry, int]]
    due: list[tuple[Entry, int]] = field(default_factory=list)
    frames: dict[Entry, Frame] = field(default_factory=dict)

    def is_sure_behind(self, sent: Dispatched, keys: list[tuple[Entry, int]], *, settled: bool) -> bool:
        """Take a MESSAGE; False where it is unreadable, in chunks or there twice: which of it is due is not known."""
        if of_earlier_epoch(sent.event, self.request):
            self.stale.update(keys)
            return True
        if not _is_whole(sent.event) or sent.entry in self.frames:
            return False
        self.frames[sent.entry] = sent.event
        self.due += [key for key in keys if not settled and not self.stale[key]]
        return True


@check("nack.exclusive-redelivers-all-in-order", of=lambda timeline: timeline.redelivering)
def exclusive_redelivers_all_in_order(timeline: Timeline, consumer: Consumer) -> Says:
    """nack.exclusive-redelivers-all-in-order: after a request for everything, all redelivered messages that are still
    unacknowledged are delivered again, in order.

    Copies from before the request may still be delivered in between: a message that has any is not judged. Nor are
    readers, which may drop what they have read, nor messages that the client discards and says so: whether it may is
    for other clauses.
    """
    running: dict[int, _Again] = {}
    copies, settled, asked = Counter[tuple[Entry, int]](), Settled(), False
    for moment in timeline.moments(consumer):
        match moment:
            case SessionOver():
                running.pop(moment.session.request.seq, None)
            case SettleCalled() if moment.is_nack:
                asked = True
            case RedeliverWritten() if moment.may_be_called_for:
                asked = True
            case SettleCalled():
                settled.asked(moment.call)
                for again in running.values():
                    again.due = [key for key in again.due if not settled.holds(consumer.handle, key[0])]
            case ArrivedAtBroker(event, session) if asked and _asks_for_all(moment):
                running[session.request.seq] = _Again(event, +copies)
            case ArrivedAtBroker(event, session) if event.command == "ACK" and not plain_acks(event):
                discarded = set(acked_entries(session, event))
                for again in running.values():
                    again.due = [key for key in again.due if key[0] not in discarded]
            case Dispatched(event, session, entry) if event.to_receiver:
                keys = [(entry, index) for index in range(event.messages) if is_open(event, index)]
                copies.update(keys)
                sought = (entry.ledger, entry.entry) in consumer.sought
                done = sought or settled.holds(consumer.handle, entry)
                again_there = running.get(session.request.seq)
                if again_there is not None and not again_there.is_sure_behind(moment, keys, settled=done):
                    del running[session.request.seq]
            case Delivered():
                copies[moment.entry, moment.place] -= 1
                there = timeline.session_at(consumer, moment.entry.topic, moment.event)
                if there is not None and there.request.seq in running:
                    yield from _handed(running[there.request.seq], moment)
            case ReceiveEnded(end, is_short) if is_short:
                yield from each([one for one in running.values() if one.due], _starved, timeline, consumer, end)


def _asks_for_all(heard: ArrivedAtBroker) -> bool:
    return heard.is_request and heard.session.is_ordered and not is_reader(heard.session)


def _handed(again: _Again, handed: Delivered) -> Says:
    key = (handed.entry, handed.place)
    if key not in again.due:
        return
    place, first = again.due.index(key), again.due[0][0]
    del again.due[: place + 1]
    yield (
        Exercised(handed.event)
        if not place
        else breach(
            "out-of-order",
            f"consumer {handed.event.handle} requested redelivery of everything at {ms(again.request.t_ns)} and "
            f"delivered {handed.entry} at {ms(handed.event.t_ns)}; expected {first} before it",
            *(again.frames[first], handed.event),
        )
    )


def _starved(timeline: Timeline, consumer: Consumer, end: Event, again: _Again) -> Says:
    first = again.due[0][0]
    frame = again.frames[first]
    if timeline.bounds.is_past("answer", looked_ns(timeline, consumer, frame.t_ns), end.t_ns):
        again.due.clear()
        timeline.bounds.check_fair("answer", frame.t_ns, end.t_ns, what="whether all that is open came back")
        yield breach(
            "not-back",
            f"consumer {consumer.handle} requested redelivery of everything at {ms(again.request.t_ns)} and got "
            f"{first} at {ms(frame.t_ns)}; expected it to be delivered; it was not by {ms(end.t_ns)}, when a receive "
            "ended without it",
            *(again.request, frame, end),
        )


def _is_whole(event: Frame) -> bool:
    return event.intact is not False and event.meta is not None and event.meta.chunk_id is None and bool(event.members)
