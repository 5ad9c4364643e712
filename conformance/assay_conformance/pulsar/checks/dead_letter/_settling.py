"""What becomes of an original: acknowledged once its letter has a receipt and not before, redelivered without one.

A message that is to become a letter waits for its client three times: until the letter is sent, until it is sent again
or given up if that failed, and until the original is acknowledged after the receipt. Each wait is bounded. Waiting for
the broker, to open the producer and for the receipt, is not.

Judged are messages that were alone in their entry, or are copies of such a message, and that the application did not
acknowledge itself. The letter of a message of a batch names only the entry, as do the letters of all others in it.
"""

from __future__ import annotations

from assay_conformance.judging.certainty import UnknownError
from assay_conformance.pulsar.checks.dead_letter._errands import Ended, Way
from assay_conformance.pulsar.checks.dead_letter._riddles import Riddles
from assay_conformance.pulsar.timeline import MS, Consumer, Exercised, Says, Timeline, breach, ms


def is_settled(timeline: Timeline, riddles: Riddles, ended: Ended) -> Says:
    """Judge how an original was settled, or its client's last chance to act."""
    errand, way, _, event, _ = ended
    if way is Way.ACKED and (errand.letter is None or not riddles.has(errand.letter, event)):
        if errand.receipt is None:
            yield breach(
                "acked-first",
                f"consumer {errand.consumer.handle}: {errand.source} was acknowledged at {ms(event.t_ns)}; expected "
                "the receipt of its letter first: if that is lost, the message is",
                *(errand.last, event),
            )
            return
        yield Exercised(event)
    elif way is Way.ACKED:
        return
    elif way is Way.ASKED_FOR and errand.failure is not None:
        yield Exercised(event)
    yield from _has_acted(timeline, ended)


def _has_acted(timeline: Timeline, ended: Ended) -> Says:
    """Judge whether the client acted in time.

    A consumer that is not admitted settles nothing. If the letter failed before the consumer was admitted, the broker
    sends the message again without a request.
    """
    errand, _, session, end, _ = ended
    ready = None if session is None else session.admitted
    if errand.waits_ns is None or ready is None or ready.seq > end.seq:
        return
    if errand.receipt is None and errand.failure is not None and ready.t_ns > errand.failure.t_ns:
        return
    due_ns = max(errand.waits_ns, ready.t_ns) + allowed_ns(timeline, errand.consumer)
    if not timeline.bounds.is_missing("answer", due_ns, end.t_ns, what=f"something became of {errand.source}"):
        return
    check_delay_known(timeline, errand.consumer)
    if errand.receipt is not None:
        code, what = "not-acked", "its copy had a receipt, and it was not acknowledged"
    elif errand.failure is not None:
        code = "not-redelivered"
        what = "its copy could not be sent, and the client neither sent it again nor requested redelivery"
    else:
        code, what = "not-posted", "no copy of it was sent, and its redelivery was not requested"
    yield breach(
        code,
        f"consumer {errand.consumer.handle}: {errand.source} had to be sent to its letter topic from "
        f"{ms(errand.cause.t_ns)} on; between {ms(errand.waits_ns)} and {ms(end.t_ns)} {what}",
        *(errand.cause, errand.last, end),
    )


def allowed_ns(timeline: Timeline, consumer: Consumer) -> int:
    """Return how long its client may wait by itself before it acts on a nack."""
    return MS * max(timeline.setting(consumer, key) or 0 for key in ("nack_delay_ms", "nack_backoff_max_ms"))


def check_delay_known(timeline: Timeline, consumer: Consumer) -> None:
    """Raise UnknownError where a client may have waited for a delay of its own that its agent.toml does not state."""
    if timeline.setting(consumer, "nack_delay_ms") is None:
        raise UnknownError("how long its client waits before it acts on a nack is not known")
