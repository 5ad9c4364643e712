from collections.abc import Iterator

from assay_conformance.pulsar.checks.dead_letter._ambiguous_receipts import AmbiguousReceipts
from assay_conformance.pulsar.checks.dead_letter._settling import judge_settled
from assay_conformance.pulsar.checks.dead_letter._transferring import transfers
from assay_conformance.pulsar.checks.dead_letter._transfers import Cause
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("retry-letter.original-acked-after-receipt")
def retry_letter_original_acked_after_receipt(timeline: Timeline) -> Says:
    """retry-letter.original-acked-after-receipt: a message that the application reconsumes later is acknowledged when
    its retry letter has its receipt, and not before; where the letter cannot be sent, redelivery of the message is
    requested."""
    yield from each(
        transfers(timeline, _sent_round(timeline)).ended, judge_settled, timeline, AmbiguousReceipts(timeline)
    )


def _sent_round(timeline: Timeline) -> Iterator[Cause]:
    for one in timeline.letters.rounds:
        consumer = timeline.consumer(one.call.handle)
        if consumer is not None:
            yield Cause(one.call, consumer, one.entry, one.call.t_ns)
