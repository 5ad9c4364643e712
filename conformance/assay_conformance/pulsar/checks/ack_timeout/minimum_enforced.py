from __future__ import annotations

from assay_conformance.model.event import Completion, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("ack-timeout.minimum-enforced", of=lambda timeline: timeline.events.completions("open_consumer"))
def minimum_enforced(timeline: Timeline, opened: Completion) -> Says:
    """ack-timeout.minimum-enforced: opening a consumer with an acknowledgment time-out below the minimum fails. The
    minimum is a constant of the client's agent.toml."""
    consumer = timeline.consumer(opened.handle)
    asked_ms = None if consumer is None else timeline.setting(consumer, "ack_timeout_ms")
    least_ms = None if consumer is None else timeline.setting(consumer, "ack_timeout_min_ms")
    if consumer is None or not asked_ms or least_ms is None or asked_ms >= least_ms:
        return
    if opened.outcome is Outcome.FAIL:
        yield Exercised(opened)
    elif opened.outcome is Outcome.OK:
        yield breach(
            "taken",
            f"consumer {consumer.handle} opened at {ms(opened.t_ns)} with an acknowledgment time-out of {asked_ms} "
            f"ms; the client's minimum is {least_ms} ms; expected the open call to fail",
            *(consumer.invoke, opened),
        )
