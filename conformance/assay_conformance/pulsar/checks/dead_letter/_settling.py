"""What becomes of an original: acknowledged once its letter has a receipt and not before, redelivered without one.

A message that is to become a letter waits for its client three times: until the letter is sent, until it is sent again
or given up if that failed, and until the original is acknowledged after the receipt. Each wait is bounded. Waiting for
the broker, to open the producer and for the receipt, is not.

Judged are messages that were alone in their entry, or are copies of such a message, and that the application did not
acknowledge itself. The letter of a message of a batch names only the entry, as do the letters of all others in it.
"""

from __future__ import annotations

from assay_conformance.judging.certainty import UnknownError
from assay_conformance.pulsar.checks.dead_letter._ambiguous_receipts import AmbiguousReceipts
from assay_conformance.pulsar.checks.dead_letter._transfers import EndedTransfer, TransferEnd
from assay_conformance.pulsar.timeline import MS, Consumer, Exercised, Says, Timeline, breach, ms


def judge_settled(timeline: Timeline, ambiguous: AmbiguousReceipts, ended: EndedTransfer) -> Says:
    """Judge how an original was settled, or its client's last chance to act."""
    transfer, way, _, event, _ = ended
    if way is TransferEnd.ACKED and (transfer.letter is None or not ambiguous.has(transfer.letter, event)):
        if transfer.receipt is None:
            yield breach(
                "acked-first",
                f"consumer {transfer.consumer.handle}: {transfer.source} was acknowledged at {ms(event.t_ns)}; "
                "expected the receipt of its letter first: if the letter is lost, so is the message",
                *(transfer.last, event),
            )
            return
        yield Exercised(event)
    elif way is TransferEnd.ACKED:
        return
    elif way is TransferEnd.REDELIVERY_REQUESTED and transfer.failure is not None:
        yield Exercised(event)
    yield from _judge_acted(timeline, ended)


def _judge_acted(timeline: Timeline, ended: EndedTransfer) -> Says:
    """Judge whether the client acted in time.

    A consumer that is not admitted settles nothing. If the letter failed before the consumer was admitted, the broker
    sends the message again without a request.
    """
    transfer, _, session, end, _ = ended
    ready = None if session is None else session.admitted
    if transfer.waits_ns is None or ready is None or ready.seq > end.seq:
        return
    if transfer.receipt is None and transfer.failure is not None and ready.t_ns > transfer.failure.t_ns:
        return
    due_ns = max(transfer.waits_ns, ready.t_ns) + allowed_ns(timeline, transfer.consumer)
    if not timeline.bounds.is_missing("answer", due_ns, end.t_ns, what=f"something became of {transfer.source}"):
        return
    check_delay_known(timeline, transfer.consumer)
    if transfer.receipt is not None:
        code, what = "not-acked", "its copy had a receipt, and it was not acknowledged"
    elif transfer.failure is not None:
        code = "not-redelivered"
        what = "its copy could not be sent, and the client neither sent it again nor requested redelivery"
    else:
        code, what = "not-posted", "no copy of it was sent, and its redelivery was not requested"
    yield breach(
        code,
        f"consumer {transfer.consumer.handle}: {transfer.source} had to be sent to its letter topic from "
        f"{ms(transfer.cause.t_ns)} on; between {ms(transfer.waits_ns)} and {ms(end.t_ns)} {what}",
        *(transfer.cause, transfer.last, end),
    )


def allowed_ns(timeline: Timeline, consumer: Consumer) -> int:
    """Return how long its client may wait by itself before it acts on a nack."""
    return MS * max(timeline.setting(consumer, key) or 0 for key in ("nack_delay_ms", "nack_backoff_max_ms"))


def check_delay_known(timeline: Timeline, consumer: Consumer) -> None:
    """Raise UnknownError where a client may have waited for a delay of its own that its agent.toml does not state."""
    if timeline.setting(consumer, "nack_delay_ms") is None:
        raise UnknownError("how long its client waits before it acts on a nack is not known")
