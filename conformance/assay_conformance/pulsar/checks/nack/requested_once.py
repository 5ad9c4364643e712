from __future__ import annotations

from assay_conformance.checks.consumption import moves_to_dead_letter
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import (
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ended_ns,
    ms,
)
from assay_conformance.pulsar.timeline.moments import (
    Delivered,
    ReconsumeLaterCalled,
    RedeliverWritten,
    SessionOver,
    SettleCalled,
)


@check("nack.requested-once", of=lambda timeline: timeline.consumers)
def requested_once(timeline: Timeline, consumer: Consumer) -> Says:
    """nack.requested-once: on one connection a message is named by one request for redelivery until the application has
    it again, or negatively acknowledges it once more.

    Judged are entries with which messages were delivered: of a message in chunks the last one. What was negatively
    acknowledged by several calls may be due several times. (Negative acknowledgments beside an
    acknowledgment time-out: `nack.ends-ack-timeout`.) A letter that cannot be sent is requested as often as that fails,
    and everything when the application calls for it.
    """
    if moves_to_dead_letter(timeline.view, consumer):
        return
    asked: dict[Entry, Frame] = {}
    delivered: set[Entry] = set()
    nacks: dict[Entry, set[int]] = {}
    times_out = bool(timeline.setting(consumer, "ack_timeout_ms"))
    for moment in timeline.moments(consumer):
        if isinstance(moment, Delivered | ReconsumeLaterCalled):
            asked.pop(moment.entry, None)
            delivered.add(moment.entry)
        elif isinstance(moment, SettleCalled) and moment.is_nack:
            asked.pop(moment.entry, None)
            nacks.setdefault(moment.entry, set()).add(moment.event.seq)
        elif isinstance(moment, SessionOver):
            asked = {entry: frame for entry, frame in asked.items() if not moment.ends(entry)}
        elif isinstance(moment, RedeliverWritten):
            for entry in sorted(moment.named & delivered):
                first, asked[entry] = asked.get(entry), moment.event
                if first is None:
                    yield Exercised(moment.event)
                elif len(calls := nacks.get(entry, ())) > 1 or (calls and times_out):
                    continue
                elif not (
                    moment.is_called_after(first) or _came_between(timeline, consumer, entry, first, moment.event)
                ):
                    yield breach(
                        "asked-again",
                        f"consumer {consumer.handle} requested redelivery of {entry} at {ms(first.t_ns)}; expected no "
                        f"other request before the application has it again; another one left at "
                        f"{ms(moment.event.t_ns)}",
                        *(first, moment.event),
                    )


def _came_between(timeline: Timeline, consumer: Consumer, entry: Entry, first: Frame, again: Frame) -> bool:
    """Return whether the application got it meanwhile, by its agent's own clock: its report may have taken longer."""
    later = (got for got in timeline.received(consumer) if got.seq > first.seq and ended_ns(got) <= again.t_ns)
    return any(timeline.entry_of(got) == entry for got in later)
