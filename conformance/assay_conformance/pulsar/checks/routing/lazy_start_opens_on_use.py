from __future__ import annotations

from assay_conformance.pulsar.checks.routing._lazy import LazyProducer, lazy_producers
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("routing.lazy-start-opens-on-use", of=lazy_producers)
def lazy_start_opens_on_use(timeline: Timeline, lazy: LazyProducer) -> Says:
    """routing.lazy-start-opens-on-use: under a lazy start the producer registers with a partition when a message goes
    there; with one partition it may do so earlier.

    The partition of a message is known only once it was sent, so the registrations are compared with the number of
    sends called by then.
    """
    sends = timeline.sends_of(lazy.handle)
    for place, frame in enumerate(one.frame for one in lazy.first):
        called = sum(1 for send in sends if send.invoke.seq < frame.seq)
        if place:
            yield Exercised(frame)
        if place > called:
            yield breach(
                "opened-early",
                f"producer {lazy.handle} starts lazily; expected it to register with a partition when a message is to "
                f"go there; at {ms(frame.t_ns)} it registered with {timeline.local_topic(frame)}, its partition "
                f"number {place + 1}, when {called} messages had been sent",
                *(lazy.opening, frame),
            )
            return
