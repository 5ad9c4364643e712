"""Retry letters: messages that reconsume_later delivers again later, by way of the retry letter topic (PIP-58)."""

from __future__ import annotations

from assay_conformance.cases.build import up
from assay_conformance.model.case import Case
from assay_conformance.model.fault import AnswerError, Fault
from assay_conformance.pulsar.cases.dead_letter import TO_RETRY, sent_round


def reconsumed_twice() -> Case:
    return sent_round(
        "reconsumed-twice", "A message with keys and properties is passed to reconsume_later twice", rounds=2
    )


def retry_letter_receipt_late() -> Case:
    return sent_round(
        "receipt-late",
        "The receipt of a retry letter takes longer than the acknowledgment group interval",
        late=True,
    )


def retry_letter_send_error() -> Case:
    """Let the first retry letter fail: the message is redelivered, and its retry letter sent then."""
    return sent_round(
        "send-error",
        "The broker refuses the first send of a retry letter",
        Fault(trigger=up("SEND"), scope=TO_RETRY, action=AnswerError("NotAllowedError")),
        rounds=2,
    )
