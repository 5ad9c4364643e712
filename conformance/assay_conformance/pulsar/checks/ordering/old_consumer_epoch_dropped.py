"""Consumer epochs (PIP-84): what was sent before a redelivery of everything does not reach the application."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.consumption import of_earlier_epoch
from assay_conformance.checks.settled import Settled
from assay_conformance.model.event import FORGED, Frame
from assay_conformance.pulsar.timeline import (
    REDELIVER,
    Consumer,
    ConsumerSession,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ended_ns,
    ms,
)
from assay_conformance.pulsar.timeline.moments import Delivered, Dispatched, RedeliverWritten, SessionOver, SettleCalled
from assay_conformance.pulsar.timeline.readers import is_reader


@dataclass(slots=True)
class _Epoch:
    """Since a request for redelivery of everything: entries that came for it and are due, in order, and entries of an
    earlier epoch.

    An entry that the client may drop when it comes is due, but need not be received.
    """

    request: Frame
    stale: dict[Entry, Frame]
    due: list[Entry] = field(default_factory=list)
    fresh: set[Entry] = field(default_factory=set)
    unsure: set[Entry] = field(default_factory=set)
    received_last: Entry | None = None
    """The entry that was last received in its turn: the other messages of a batch follow it."""

    def came(self, message: Frame, entry: Entry) -> None:
        """Take a MESSAGE."""
        if of_earlier_epoch(message, self.request):
            self.stale[entry] = message
            return
        # A message in chunks is received with the position of its last one.
        if message.meta is None or not message.meta.is_early_chunk:
            self.due.append(entry)
        self.fresh.add(entry)
        if _may_be_dropped(message):
            self.unsure.add(entry)


@check(
    "ordering.old-consumer-epoch-dropped",
    of=lambda timeline: timeline.consumers if timeline.events.frames(REDELIVER) else (),
)
def old_consumer_epoch_dropped(timeline: Timeline, consumer: Consumer) -> Says:
    """ordering.old-consumer-epoch-dropped: after a request with a new epoch only what was sent in it, or in a later
    one, is received. What the application received at the time of the request may have been on its way to it. Brokers
    stamp no epoch on what several consumers share."""
    epochs: dict[int, _Epoch] = {}
    queued: dict[int, dict[Entry, Frame]] = {}
    settled = Settled()
    for moment in timeline.moments(consumer):
        match moment:
            case SettleCalled() if not moment.is_nack:
                # It stays due: an acknowledged entry may be dropped when it comes, or received all the same.
                settled.asked(moment.call)
            case RedeliverWritten(event, session, named) if (
                not named and event.fields.get("consumer_epoch") is not None and session.is_ordered
            ):
                epochs[session.request.seq] = _Epoch(event, stale=dict(queued.get(session.request.seq, {})))
            case Dispatched(event, session, entry) if event.to_receiver:
                if session.request.seq in epochs:
                    epochs[session.request.seq].came(event, entry)
                else:
                    queued.setdefault(session.request.seq, {})[entry] = event
            case Delivered(event, entry):
                there = timeline.session_at(consumer, entry.topic, event)
                if there is not None:
                    queued.get(there.request.seq, {}).pop(entry, None)
                    if there.request.seq in epochs:
                        yield from _handed(timeline, epochs[there.request.seq], there, settled, moment)
            case SessionOver():
                epochs.pop(moment.session.request.seq, None)
                queued.pop(moment.session.request.seq, None)


def _handed(timeline: Timeline, epoch: _Epoch, session: ConsumerSession, settled: Settled, handed: Delivered) -> Says:
    event, entry = handed
    if entry == epoch.received_last:
        # Or it came twice, and this is the second one.
        epoch.due = epoch.due[1:] if epoch.due[:1] == [entry] else epoch.due
        return
    stale, request = epoch.stale.get(entry), epoch.request
    place = epoch.due.index(entry) if entry in epoch.due else len(epoch.due)
    skipped = [due for due in epoch.due[:place] if due not in epoch.unsure and _is_due(session, settled, due)]
    surely_behind = timeline.bounds.is_past("crossing", request.t_ns, ended_ns(event))
    if place < len(epoch.due) and (not skipped or stale is None):
        del epoch.due[: place + 1]
        epoch.received_last = entry
        if epoch.stale:
            yield Exercised(event)
    elif stale is not None and (skipped or entry not in epoch.fresh) and surely_behind:
        yield breach(
            "stale-delivery",
            f"consumer {event.handle} requested redelivery of everything at {ms(request.t_ns)}, with epoch "
            f"{request.fields['consumer_epoch']}; {entry} came at {ms(stale.t_ns)} with an earlier epoch; expected it "
            f"to be dropped; it was received at {ms(event.t_ns)}, before it had come again",
            *(request, stale, event),
        )


def _is_due(session: ConsumerSession, settled: Settled, entry: Entry) -> bool:
    """Return whether it has to be received.

    It is neither acknowledged, nor the target of a seek (a seek may go on after it), nor on a reader, which may have
    read it.
    """
    consumer = session.consumer
    if consumer is None or is_reader(session) or (entry.ledger, entry.entry) in consumer.sought:
        return False
    return not settled.holds(consumer.handle, entry)


def _may_be_dropped(message: Frame) -> bool:
    """Return whether a fault changed it, it is unreadable, or it is a last chunk, of which others may be missing."""
    unreadable = not message.intact or not message.members
    return message.fate in FORGED or unreadable or message.meta is None or message.meta.chunk_id is not None
