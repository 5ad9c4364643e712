from __future__ import annotations

from assay_conformance.pulsar.checks.ack_timeout._held import EndedHold, Held
from assay_conformance.pulsar.checks.ack_timeout._in_time import in_time, waits
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("ack-timeout.tick-within-timeout", of=lambda timeline: waits(timeline, even=False))
def tick_within_timeout(timeline: Timeline, wait: tuple[EndedHold, Held]) -> Says:
    """ack-timeout.tick-within-timeout: redelivery of a message that the application holds is requested within two ticks
    after its time-out, not before, where the time-out is not a multiple of the tick, or shorter than one."""
    yield from in_time(timeline, wait)
