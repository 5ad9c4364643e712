from __future__ import annotations

from assay_conformance.pulsar.checks.ack_timeout._held import EndedHold, Held
from assay_conformance.pulsar.checks.ack_timeout._in_time import in_time, waits
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("ack-timeout.redelivery-requested-in-time", of=lambda timeline: waits(timeline, even=True))
def ack_timeout_redelivery_requested_in_time(timeline: Timeline, wait: tuple[EndedHold, Held]) -> Says:
    """ack-timeout.redelivery-requested-in-time: redelivery of a message that the application holds is requested within
    two ticks after its time-out, not before. Time-outs that are not a multiple of the tick are judged by
    `ack-timeout.tick-within-timeout`."""
    yield from in_time(timeline, wait)
