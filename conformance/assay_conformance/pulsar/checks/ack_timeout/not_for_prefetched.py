from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import elapsed
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.ack_timeout._timeouts import steps, timed
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import Delivered, RedeliverWritten

Waited = tuple[Consumer, Entry, Frame, Event]


def _waited(timeline: Timeline) -> Iterator[Waited]:
    """Yield entries that waited in the queue for longer than the time-out.

    They waited until they were delivered, or until a request named them.
    """
    for consumer, span in timed(timeline):
        handed: set[Entry] = set()
        for moment, last, frame, is_sure in steps(timeline, consumer):
            if isinstance(moment, Delivered):
                first, due_ns = moment.entry not in handed, span.most_ns + (0 if frame is None else frame.t_ns)
                if first and is_sure and timeline.bounds.is_past("ack-timeout", due_ns, moment.event.t_ns):
                    yield consumer, moment.entry, last[moment.entry], moment.event
                handed.add(moment.entry)
            elif isinstance(moment, RedeliverWritten):
                for entry in sorted(moment.named - handed):
                    if entry in last and last[entry].intact is not False and not _may_be_chunk(last[entry]):
                        yield consumer, entry, last[entry], moment.event


@check("ack-timeout.not-for-prefetched", of=_waited)
def not_for_prefetched(timeline: Timeline, waited: Waited) -> Says:
    """ack-timeout.not-for-prefetched: no redelivery request names an entry of which the application has received no
    message."""
    consumer, entry, frame, event = waited
    if not isinstance(event, Frame):
        yield Exercised(event)
        return
    timeline.bounds.check_fair("ack-timeout", frame.t_ns, event.t_ns, what="whether it was delivered")
    yield breach(
        "prefetched-asked-for",
        f"consumer {consumer.handle} got {entry} at {ms(frame.t_ns)} and requested its redelivery "
        f"{elapsed(event.t_ns, frame.t_ns)} later; expected no time-out while it waits in the receiver queue",
        *(frame, event),
    )


def _may_be_chunk(frame: Frame) -> bool:
    return frame.meta is None or frame.meta.chunk_id is not None
