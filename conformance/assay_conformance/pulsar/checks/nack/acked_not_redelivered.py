from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import acked_entries, elapsed, of_batch, plain_acks
from assay_conformance.model.event import Closed, ClosedBy, Frame
from assay_conformance.pulsar.checks.nack._windows import window_of
from assay_conformance.pulsar.timeline import CUMULATIVE, Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import (
    ArrivedAtBroker,
    Delivered,
    Dispatched,
    ReceiveEnded,
    SessionOver,
    SettleCalled,
    named_by,
)


@dataclass(slots=True)
class _Settled:
    """An entry that was nacked, then acknowledged by an ACK that `arrived` at the broker. `allowed`: how many
    deliveries were under way then; `dispatch`: the first MESSAGE after it."""

    arrived: Frame | None = None
    dispatch: Frame | None = None
    allowed: int = 0

    def sent(self, message: Frame) -> None:
        """Take a MESSAGE after the ACK: a frame held since before it, or a copy of one, may still be delivered."""
        if message.from_sender:
            self.dispatch = self.dispatch or message
        elif self.dispatch is None:
            self.allowed += 1


@dataclass(slots=True)
class _Entries:
    """The entries of a consumer. `requested`: their redelivery was requested; `awaited`: requested, and not dispatched
    since; `unproven`: acknowledged before any request, with the time of the nack, until it is proven that none came."""

    nacked: dict[Entry, SettleCalled] = field(default_factory=dict)
    settled: dict[Entry, _Settled] = field(default_factory=dict)
    unproven: dict[Entry, int] = field(default_factory=dict)
    requested: set[Entry] = field(default_factory=set)
    awaited: set[Entry] = field(default_factory=set)
    under_way: Counter[Entry] = field(default_factory=Counter)

    def asked(self, moment: SettleCalled) -> None:
        """Take a nack, or an ack of what was nacked."""
        if moment.session is None or of_batch(moment.call.message.message_id):
            return
        if moment.is_nack:
            self.nacked.setdefault(moment.entry, moment)
        elif not moment.call.cumulative and moment.entry in self.nacked:
            self.settled.setdefault(moment.entry, _Settled())

    def heard(self, moment: ArrivedAtBroker) -> None:
        """Take a REDELIVER or an ACK at the broker, which takes no ACK of a consumer that it has closed."""
        event, session = moment
        named = named_by(event, session)
        if moment.is_request:
            again = named & self.nacked.keys() if named else {one for one in self.nacked if one.topic == session.topic}
            self.requested |= again
            self.awaited |= again
        elif plain_acks(event) and event.ack_type != CUMULATIVE and not session.had_ended(event):
            for entry in acked_entries(session, event):
                one = self.settled.get(entry)
                if one is not None and one.arrived is None:
                    one.arrived, one.allowed = event, self.under_way[entry] + (entry in self.awaited)
                    if entry not in self.requested:
                        self.unproven[entry] = self.nacked[entry].event.t_ns

    def sent(self, moment: Dispatched) -> None:
        """Take a MESSAGE."""
        if moment.event.from_sender:
            self.awaited.discard(moment.entry)
        one = self.settled.get(moment.entry)
        if one is not None and one.arrived is not None:
            one.sent(moment.event)
        elif moment.event.to_receiver:
            self.under_way[moment.entry] += 1


@check("nack.acked-not-redelivered", of=lambda timeline: timeline.nacking)
def acked_not_redelivered(timeline: Timeline, consumer: Consumer) -> Says:
    """nack.acked-not-redelivered: a message that is acknowledged after a negative acknowledgment, before its delay has
    passed, is not delivered again.

    The REDELIVER may still be sent. What the broker had dispatched before the ACK reached it may still arrive, and so
    may what had been requested by then. A seek or an unsubscribe brings acknowledged messages back by intent; and a
    broker that ends the connection may have ended itself, with acknowledgments it had not written.
    """
    entries, window = _Entries(), window_of(timeline.view, consumer)
    for moment in timeline.moments(consumer):
        match moment:
            case SettleCalled():
                entries.asked(moment)
            case ArrivedAtBroker():
                entries.heard(moment)
            case Dispatched():
                entries.sent(moment)
            case Delivered():
                yield from _handed(entries, moment)
            case ReceiveEnded(event) if window is not None:
                # One that ended after the delay shows that nothing came.
                for entry, nacked_ns in list(entries.unproven.items()):
                    if event.t_ns >= nacked_ns + window.latest_ns:
                        del entries.unproven[entry]
                        yield Exercised(event)
            case SessionOver(event) if _forgets(event):
                entries.settled.clear()
                entries.unproven.clear()


def _forgets(event: object) -> bool:
    by_intent = isinstance(event, Frame) and event.command in ("SEEK", "UNSUBSCRIBE")
    return by_intent or (isinstance(event, Closed) and event.by is ClosedBy.BROKER)


def _handed(entries: _Entries, handed: Delivered) -> Says:
    event, entry = handed
    entries.under_way[entry] -= 1
    one = entries.settled.get(entry)
    if one is None or one.arrived is None:
        return
    one.allowed -= 1
    if one.allowed < 0:
        del entries.settled[entry]
        entries.unproven.pop(entry, None)
        yield breach(
            "redelivered-after-ack",
            f"the ACK of {entry} reached the broker at {ms(one.arrived.t_ns)}, "
            f"{elapsed(one.arrived.t_ns, entries.nacked[entry].event.t_ns)} after it was nacked; expected no "
            f"redelivery; consumer {event.handle} received it again at {ms(event.t_ns)}",
            *(one.arrived, one.dispatch, event),
        )
