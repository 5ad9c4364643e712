from __future__ import annotations

from assay_conformance.pulsar.checks.resend._refused_sends import RefusedSend, judge_sent_again, refused_sends
from assay_conformance.pulsar.outcomes.errors import TRANSIENT
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("resend.retries-transient-error", of=lambda timeline: refused_sends(timeline, *TRANSIENT))
def retries_transient_error(timeline: Timeline, refused: RefusedSend) -> Says:
    """resend.retries-transient-error: a send that gets PersistenceError, MetadataError or UnknownError is sent again,
    and the error does not reach the application."""
    yield from judge_sent_again(timeline, refused)
