"""What an application holds and has not settled: what a request asks for, and what is left when a call settles it or
its session ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import of_batch
from assay_conformance.checks.settled import Settled
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.checks.ack_timeout._timeouts import Span, steps, timed
from assay_conformance.pulsar.timeline import Consumer, Entry, Timeline, ended_ns
from assay_conformance.pulsar.timeline.moments import (
    CloseCalled,
    Delivered,
    ReconsumeLaterCalled,
    RedeliverWritten,
    SessionOver,
    SettleCalled,
    taken,
)


class Held(NamedTuple):
    """`event`: the agent's word of it, by which it was delivered at the latest; `frame`: what brought it, before
    which it was not. `again`: it was held on an earlier session, too, and a client may count from then on (Java)."""

    entry: Entry
    event: Received
    frame: Frame
    again: bool = False

    @property
    def done_ns(self) -> int:
        """By the agent's own clock, which no way to the bench delays."""
        return max(self.frame.t_ns, ended_ns(self.event))


class EndedHold(NamedTuple):
    """Messages that were `held` until a request, or until there was no more to ask for."""

    by: RedeliverWritten | SessionOver | CloseCalled | SettleCalled
    consumer: Consumer
    span: Span
    held: list[Held]


def ended(timeline: Timeline) -> Iterator[EndedHold]:
    """Yield whole entries that were delivered and held until something ended that.

    They were neither acknowledged nor nacked, nor to go round by a retry letter that fails.
    """
    for consumer, span in timed(timeline):
        yield from _ended(timeline, consumer, span)


def _ended(timeline: Timeline, consumer: Consumer, span: Span) -> Iterator[EndedHold]:
    """Yield the ends of what a consumer held.

    `unsure`: what may be held since an unknown time, as what was delivered twice, or not at all, as what is redelivered
    after its acknowledgment.
    """
    held: dict[Entry, Held] = {}
    settled = Settled()
    unsure: set[Entry] = set()
    nacked: set[Entry] = set()
    before: set[Entry] = set()
    for moment, _, frame, is_sure in steps(timeline, consumer):
        if isinstance(moment, Delivered) and frame is not None:
            entry, message = moment.entry, moment.event
            is_settled = settled.holds(consumer.handle, entry)
            if not is_sure or of_batch(message.message_id) or entry in held or is_settled:
                held.pop(entry, None)
                unsure.add(entry)
            elif entry not in unsure:
                held[entry] = Held(entry, message, frame, entry in before)
        elif isinstance(moment, SettleCalled):
            if not moment.is_nack:
                settled.asked(moment.call)
            covered = [entry for entry in held if moment.call.covers(entry)]
            yield EndedHold(moment, consumer, span, [held.pop(entry) for entry in covered])
            nacked |= {moment.entry} if moment.is_nack else set()
        elif isinstance(moment, ReconsumeLaterCalled) and moment.fails:
            held.pop(moment.entry, None)
            nacked.add(moment.entry)
        elif isinstance(moment, RedeliverWritten | SessionOver | CloseCalled):
            found = [one for _, one in taken(held, moment)]
            if isinstance(moment, SessionOver):
                before.update(one.entry for one in found)
            if isinstance(moment, RedeliverWritten) and moment.named:
                unsure = {entry for entry in unsure if not moment.ends(entry)}
                found = [one for one in found if one.entry not in nacked]
            elif isinstance(moment, RedeliverWritten):
                # One that names nothing requests everything: it is judged by the message that waited longest.
                is_due = not (nacked or unsure or moment.may_be_called_for)
                found = sorted(found, key=lambda one: one.event.t_ns)[:1] if is_due else []
            yield EndedHold(moment, consumer, span, found)
