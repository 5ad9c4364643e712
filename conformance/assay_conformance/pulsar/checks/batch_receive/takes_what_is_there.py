from __future__ import annotations

from assay_conformance.pulsar.timeline import Batch, Exercised, Says, Timeline, batches, breach, check, left_waiting, ms


@check("batch-receive.takes-what-is-there", of=batches)
def takes_what_is_there(timeline: Timeline, batch: Batch) -> Says:
    """batch-receive.takes-what-is-there: a batch receive that ends below its limits of messages and bytes returns every
    message that had arrived.

    It may lack messages that are redelivered, that arrived on a session that has ended, or that arrived just before its
    end. Nothing is judged once the consumer is being closed.
    """
    if timeline.closing_before(batch.consumer, batch.end):
        return
    most, count = batch.limits.full_with, len(batch.messages)
    waiting = None if most and count >= most else left_waiting(timeline, batch.consumer, batch.end)
    if waiting is not None and not _is_too_much(batch, waiting.frame.members[0].size if waiting.frame.members else 0):
        frame = waiting.frame
        yield breach(
            "left-behind",
            f"a batch receive of consumer {batch.consumer.handle} ended at {ms(batch.end.t_ns)} with {count} messages; "
            f"expected entry {frame.ids[0]} among them, which had arrived at {ms(frame.t_ns)}",
            *(frame, batch.end),
        )
    elif count:
        yield Exercised(batch.end)


def _is_too_much(batch: Batch, size: int) -> bool:
    return bool(batch.messages) and 0 < batch.limits.bytes < batch.size + size
