from __future__ import annotations

from assay_conformance.pulsar.timeline import Batch, Exercised, Says, Timeline, batches, breach, check, ms


@check("batch-receive.within-limits", of=batches)
def within_limits(timeline: Timeline, batch: Batch) -> Says:
    """batch-receive.within-limits: a batch has no more messages and bytes than its consumer's limits; one message may
    be larger than that alone."""
    configured = timeline.setting(batch.consumer, "batch_receive_max_messages") or 0
    count, limits = len(batch.messages), batch.limits
    if 0 < configured < count:
        yield breach("too-many-messages", _described(batch, f"{configured} messages"), *batch.messages[-1:], batch.end)
    elif 0 < limits.bytes < batch.size and count > 1:
        yield breach("too-many-bytes", _described(batch, f"{limits.bytes} bytes"), *batch.messages[-1:], batch.end)
    elif count and (configured or limits.bytes):
        yield Exercised(batch.end)


def _described(batch: Batch, limit: str) -> str:
    return (
        f"a batch receive of consumer {batch.consumer.handle} ended at {ms(batch.end.t_ns)} with "
        f"{len(batch.messages)} messages of {batch.size} bytes; expected at most {limit}"
    )
