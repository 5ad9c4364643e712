"""Retry letters: messages that an application asks to have again later, by way of a topic of their own (PIP-58)."""

from __future__ import annotations

from assay_conformance.cases.build import up
from assay_conformance.model.case import Case
from assay_conformance.model.fault import AnswerError, Fault
from assay_conformance.pulsar.cases.dead_letter import TO_RETRY, sent_round


def reconsumed_twice() -> Case:
    return sent_round("reconsumed-twice", "A message with keys and properties is to come later, twice", rounds=2)


def retry_letter_receipt_late() -> Case:
    return sent_round(
        "receipt-late",
        "The receipt of a retry letter takes longer than acknowledgments are kept together",
        late=True,
    )


def retry_letter_send_error() -> Case:
    """Fail the first retry letter: the message comes again, and is sent round after all."""
    return sent_round(
        "send-error",
        "The broker does not take a retry letter the first time",
        Fault(trigger=up("SEND"), scope=TO_RETRY, action=AnswerError("NotAllowedError")),
        rounds=2,
    )
