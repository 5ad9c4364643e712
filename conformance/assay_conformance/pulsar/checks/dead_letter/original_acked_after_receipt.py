from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.dead_letter._ambiguous_receipts import AmbiguousReceipts
from assay_conformance.pulsar.checks.dead_letter._moving import judge_letter_not_tried, moved_to_dead_letter
from assay_conformance.pulsar.checks.dead_letter._settling import judge_settled
from assay_conformance.pulsar.timeline import Registration, Says, Timeline, breach, check, each, ms


@check("dead-letter.original-acked-after-receipt")
def dead_letter_original_acked_after_receipt(timeline: Timeline) -> Says:
    """dead-letter.original-acked-after-receipt: a message that becomes a dead letter is acknowledged when the letter
    has its receipt, and not before; where the letter cannot be sent, redelivery of the message is requested."""
    ended = moved_to_dead_letter(timeline, large=False).ended
    yield from each(timeline.producer_registrations, _takes_no_others_name, timeline)
    yield from each(ended, judge_settled, timeline, AmbiguousReceipts(timeline))
    yield from each(ended, judge_letter_not_tried, timeline)


def _takes_no_others_name(timeline: Timeline, registration: Registration) -> Says:
    """Judge whether a letter's producer takes the name of another one.

    A producer that comes back may find itself still there; one that comes for the first time should not have chosen
    that name.
    """
    request, answer = registration.frame, registration.answer
    address, name = timeline.letters.address(request), request.fields.get("producer_name")
    if address is None or answer is None or not name or request.fields.get("epoch"):
        return
    if answer.fields.get("error") == "ProducerBusy" and answer.fate is Fate.PASSED:
        yield breach(
            "name-taken",
            f"a producer of {address.kind}s for subscription {address.consumer.subscription} registered with the name "
            f"{name!r} at {ms(request.t_ns)}; expected a name that no other producer has; another one has it, and its "
            "letters wait until that one is gone",
            *(request, answer),
        )
