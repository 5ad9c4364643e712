from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.checks.ack_timeout._timeouts import HeldStep, Span, steps, timed
from assay_conformance.pulsar.timeline import Breach, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals
from assay_conformance.pulsar.timeline.moments import (
    Delivered,
    Dispatched,
    RedeliverWritten,
    SessionOver,
    SettleCalled,
    SettleCompleted,
    taken,
)


@dataclass(slots=True)
class _Holdings:
    """What the application of a consumer holds, and what it has acknowledged in time: with the last call that
    did, and when the application got it. `is_unsure`: something may be held that is not in `held_since`."""

    handle: int
    span: Span
    held_since: dict[Entry, Received] = field(default_factory=dict)
    acked_in_time: dict[Entry, tuple[Call, Received]] = field(default_factory=dict)
    nacked: set[Entry] = field(default_factory=set)
    is_unsure: bool = False
    acked: dict[Entry, set[int]] = field(default_factory=dict)
    handed: dict[Entry, set[int]] = field(default_factory=dict)
    """Members of an entry that were delivered since it came last."""
    of_unknown_copy: set[Entry] = field(default_factory=set)
    """Batches that were redelivered before all of them was delivered: which copy the others are of is not known."""

    def see(self, step: HeldStep) -> None:
        """Take in what is no request and no end."""
        moment, last, frame, is_sure = step
        if isinstance(moment, Dispatched) and moment.event.to_receiver:
            self.acked_in_time.pop(moment.entry, None)
            self.acked.pop(moment.entry, None)
            if 0 < len(self.handed.pop(moment.entry, ())) < moment.event.messages:
                self.of_unknown_copy.add(moment.entry)
        elif isinstance(moment, Delivered) and frame is not None:
            self.acked_in_time.pop(moment.entry, None)
            self.handed.setdefault(moment.entry, set()).add(moment.place)
            if is_sure:
                self.held_since[moment.entry] = moment.event
            else:
                self.held_since.pop(moment.entry, None)
                self.of_unknown_copy.add(moment.entry)
                self.is_unsure = True
        elif isinstance(moment, SettleCalled) and moment.is_nack:
            self.nacked.add(moment.entry)
        elif isinstance(moment, SettleCompleted) and not moment.is_nack and moment.session is not None:
            self._called(moment.call, last)

    def _called(self, call: Call, last: Mapping[Entry, Frame]) -> None:
        frame = last.get(call.entry)
        size = 1 if frame is None else frame.messages
        older = frame is not None and (call.message.seq < frame.seq or call.entry in self.of_unknown_copy)
        if size > 1 and older and not call.cumulative:
            return  # Of an older delivery of the batch: a client may count those of each delivery for themselves.
        done = self.acked.setdefault(call.entry, set())
        done.update(call.members)
        earlier = [one for one in self.held_since if call.covers(one) and one != call.entry] if call.cumulative else []
        for entry in [*earlier, call.entry] if len(done) >= size else earlier:
            since = self.held_since.get(entry)
            # What was delivered since is another copy, with a clock of its own.
            if since is not None and since.seq <= call.invoke.seq:
                del self.held_since[entry]
                # In time, whatever tick a client looks at: half the time-out before it may be over at the earliest.
                if call.called_ns < since.t_ns + self.span.least_ns // 2:
                    self.acked_in_time[entry] = (call, since)


@check("ack-timeout.ended-by-ack")
def ended_by_ack(timeline: Timeline) -> Says:
    """ack-timeout.ended-by-ack: a message that was acknowledged before its time-out is not requested again, and a
    request names whole entries and all chunks of a message.

    The precondition: an acknowledged message whose time-out would have passed during its session, or a request for a
    chunked message. A nacked message may be requested at any time.
    """
    for consumer, span in timed(timeline):
        holdings = _Holdings(consumer.handle, span)
        for step in steps(timeline, consumer):
            moment = step.moment
            if isinstance(moment, RedeliverWritten) and moment.named:
                yield from _named(timeline, holdings, moment)
                yield from _whole_messages(timeline, holdings, moment)
                for entry in moment.named:
                    holdings.held_since.pop(entry, None)
            elif isinstance(moment, RedeliverWritten):
                yield from _everything(timeline, holdings, moment)
            elif isinstance(moment, SessionOver):
                for entry, (_, since) in taken(holdings.acked_in_time, moment):
                    due_ns, seen_ns = since.t_ns + span.most_ns, moment.event.t_ns
                    if entry not in holdings.nacked and timeline.bounds.is_past("ack-timeout", due_ns, seen_ns):
                        yield Exercised(moment.event)
                taken(holdings.held_since, moment)
            else:
                holdings.see(step)


def _named(timeline: Timeline, holdings: _Holdings, request: RedeliverWritten) -> Says:
    event, topic = request.event, request.session.topic
    for id in event.ids:
        entry = Entry(topic, id.ledger, id.entry)
        call, _ = holdings.acked_in_time.pop(entry, (None, None))
        if entry in holdings.nacked:
            continue
        if call is not None and timeline.bounds.is_past("crossing", call.called_ns, event.t_ns):
            yield _asked_after_ack(call, entry, event)


def _everything(timeline: Timeline, holdings: _Holdings, request: RedeliverWritten) -> Says:
    """Judge a request without ids, which is due when the application holds something."""
    calls = [call for _, (call, _) in taken(holdings.acked_in_time, request)]
    is_explained = holdings.held_since or holdings.is_unsure or holdings.nacked or request.may_be_called_for
    if calls and not is_explained:
        last = max(calls, key=lambda call: call.called_ns)
        if timeline.bounds.is_past("crossing", last.called_ns, request.event.t_ns):
            yield _asked_after_ack(last, last.entry, request.event)


def _asked_after_ack(call: Call, entry: Entry, event: Frame) -> Breach:
    return breach(
        "asked-after-ack",
        f"the application acknowledged {call.entry} on consumer {call.consumer.handle} at {ms(call.called_ns)}, and "
        f"the client requested redelivery of {entry} at {ms(event.t_ns)}; expected its time-out to end with the "
        "acknowledgment",
        *(call.invoke, event),
    )


def _whole_messages(timeline: Timeline, holdings: _Holdings, request: RedeliverWritten) -> Says:
    """Judge whether a request that names the last chunk of a held message names its others, too."""
    for last in sorted(request.named):
        chunks = timeline.once(Arrivals).joined(request.session, last, request.event)
        missing = [str(chunk) for chunk in chunks if chunk not in request.named]
        if not chunks or last not in holdings.held_since:
            continue
        if missing:
            yield breach(
                "chunk-left-out",
                f"consumer {holdings.handle} requested redelivery of a message in {len(chunks)} chunks at "
                f"{ms(request.event.t_ns)}; expected the ids of all chunks; it names {last} and not "
                f"{', '.join(missing)}, so that the message cannot be assembled",
                request.event,
            )
        else:
            yield Exercised(request.event)
