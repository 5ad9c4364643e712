"""The check of `retry-letter.original-acked-after-receipt`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._letters import sent_round, sent_round_again
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.pulsar.checks.retry_letter.original_acked_after_receipt import (
    retry_letter_original_acked_after_receipt,
)


def test_letter_of_another_message_of_a_batch_is_not_taken_for_ones_own() -> None:
    """Both tell the same origin: their entry."""
    story, told = sent_round_again(batch=2)
    story.posts(number=1, letter=told)
    story.receipt(1, producer_id=5)
    story.posts(number=2, letter=told)
    story.down("SEND_ERROR", producer_id=5, sequence_id=2, fields={"error": "NotAllowedError"})
    story.ack_frame(1)
    assert codes_of(story.judged(retry_letter_original_acked_after_receipt)) == []


def test_message_sent_round_goes_with_its_letters_receipt() -> None:
    story = sent_round()
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(retry_letter_original_acked_after_receipt)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_sent_round_and_acknowledged_too_early_is_found() -> None:
    story = sent_round()
    story.acks()
    story.posts()
    assert codes_of(story.judged(retry_letter_original_acked_after_receipt)) == ["acked-first"]
