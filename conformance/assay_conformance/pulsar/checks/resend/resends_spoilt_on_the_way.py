"""resend.resends-spoilt-on-the-way"""

from __future__ import annotations

from assay_conformance.pulsar.checks.resend._refused_sends import RefusedSend, is_sent_again, refused_sends
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("resend.resends-spoilt-on-the-way", of=lambda timeline: refused_sends(timeline, "ChecksumError"))
def resends_spoilt_on_the_way(timeline: Timeline, refused: RefusedSend) -> Says:
    """resend.resends-spoilt-on-the-way: a checksum error for bytes that left the client whole is the network's fault,
    not the message's: the send goes out again."""
    if refused.unit.first.intact:
        yield from is_sent_again(timeline, refused)
