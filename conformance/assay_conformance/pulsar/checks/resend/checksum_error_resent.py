from __future__ import annotations

from assay_conformance.pulsar.checks.resend._refused_sends import RefusedSend, judge_sent_again, refused_sends
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("resend.checksum-error-resent", of=lambda timeline: refused_sends(timeline, "ChecksumError"))
def checksum_error_resent(timeline: Timeline, refused: RefusedSend) -> Says:
    """resend.checksum-error-resent: a SEND that got ChecksumError although its bytes left the client intact is sent
    again: the network damaged it."""
    if refused.unit.first.intact:
        yield from judge_sent_again(timeline, refused)
