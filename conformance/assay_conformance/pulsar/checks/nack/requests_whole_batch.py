from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import is_dead_letter, listed, of_batch
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import (
    Delivered,
    Dispatched,
    Moment,
    ReceiveEnded,
    ReconsumeLaterCalled,
    RedeliverWritten,
    SessionOver,
    SettleCalled,
)


@dataclass(slots=True)
class _Batch:
    """A batch entry at a consumer: its size, which of it was delivered and when, and acknowledged or sent round."""

    size: int = 0
    handed: list[Delivered] = field(default_factory=list)
    settled: set[int] = field(default_factory=set)

    def all_seen(self, since: int) -> bool:
        """Return whether every message of it has come, so that what comes from now on is redelivered."""
        return len({one.event.message_id.batch_index for one in self.handed if one.event.seq > since}) >= self.size > 1


@dataclass(slots=True)
class _Nacked:
    """A nacked batch entry, the last request for it, what that brought, and what came back of it."""

    call: Call
    batch: _Batch
    size: int
    request: Frame | None = None
    dispatch: Frame | None = None
    back: set[int] = field(default_factory=set)

    @property
    def missing(self) -> set[int]:
        """What is still open and did not come back."""
        members = () if self.dispatch is None else self.dispatch.members
        compacted = {index for index, member in enumerate(members) if member.compacted_out}
        return set(range(self.size)) - self.batch.settled - self.back - compacted


def _judgements(timeline: Timeline) -> Iterator[tuple[_Nacked, Event]]:
    """Yield nacked entries with the event that decides about them.

    They came back whole (the last message), or had come back in part when a receive ended short (its end).
    """
    for consumer in timeline.nacking:
        batches, nacked = dict[Entry, _Batch](), dict[Entry, _Nacked]()
        for moment in timeline.moments(consumer):
            yield from _judged(timeline, consumer, moment, batches, nacked)


def _judged(
    timeline: Timeline, consumer: Consumer, moment: Moment, batches: dict[Entry, _Batch], nacked: dict[Entry, _Nacked]
) -> Iterator[tuple[_Nacked, Event]]:
    match moment:
        case SessionOver():
            nacked.clear()
        case Dispatched(event, _, entry) if event.to_receiver:
            batch = batches.setdefault(entry, _Batch())
            batch.size = (event.meta.batch if event.meta is not None else None) or 0
            one = nacked.get(entry)
            if one is not None and one.request is not None and event.intact is not False:
                if any(event.ack_sets) or is_dead_letter(timeline.view, consumer, event) or one.dispatch is not None:
                    del nacked[entry]
                else:
                    one.dispatch = event
        case Delivered(event, entry):
            batches.setdefault(entry, _Batch()).handed.append(moment)
            one = nacked.get(entry)
            if one is not None and one.dispatch is not None:
                one.back.add(event.message_id.batch_index)
                if not one.missing:
                    yield nacked.pop(entry), event
        case SettleCalled(event, call, there):
            batch, id = batches.setdefault(call.entry, _Batch()), call.message.message_id
            if not moment.is_nack:
                batch.settled.add(id.batch_index)
                if call.cumulative:
                    nacked.clear()
            elif of_batch(id) and there is not None and batch.all_seen(_sought(timeline, consumer, event)):
                nacked.setdefault(call.entry, _Nacked(call, batch, batch.size))
        case RedeliverWritten(event):
            for entry in [entry for entry in nacked if moment.ends(entry)]:
                nacked[entry].request = event
        case ReconsumeLaterCalled(_, entry, message):
            batches.setdefault(entry, _Batch()).settled.add(message.message_id.batch_index)
        case ReceiveEnded(end, is_short) if is_short:
            for entry, one in list(nacked.items()):
                sent = one.dispatch
                if sent is not None and one.back and timeline.bounds.is_past("answer", sent.t_ns, end.t_ns):
                    yield nacked.pop(entry), end


def _sought(timeline: Timeline, consumer: Consumer, at: Event) -> int:
    """Return the event of its last seek, where it stands after that; -1 before any.

    A seek into an entry left behind what has not come since.
    """
    seeks = [one for one in timeline.events.invokes_of(consumer.handle, "seek") if one.seq < at.seq]
    end = timeline.end_of(seeks[-1].op) if seeks else None
    return -1 if not seeks else seeks[-1].seq if end is None or end.seq > at.seq else end.seq


@check("nack.requests-whole-batch", of=_judgements)
def requests_whole_batch(timeline: Timeline, judgement: tuple[_Nacked, Event]) -> Says:
    """nack.requests-whole-batch: for a nacked batch message the whole entry is redelivered: the application gets every
    message of it that it has neither acknowledged nor reconsumed later.

    A request may name a message of it: brokers read the entry alone.
    """
    nacked, event = judgement
    call, dispatch = nacked.call, nacked.dispatch
    handle, entry = call.consumer.handle, call.entry
    if isinstance(event, Completion) and dispatch is not None:
        timeline.bounds.check_fair("answer", dispatch.t_ns, event.t_ns, what="whether the whole entry came back")
        yield breach(
            "part-of-entry",
            f"consumer {handle} got entry {entry} again at {ms(dispatch.t_ns)} and delivered its messages "
            f"{listed(nacked.back)}; expected {listed(nacked.missing)} as well",
            *(call.invoke, dispatch, event),
        )
    else:
        yield Exercised(event)
