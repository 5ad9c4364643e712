"""Letters with more properties about their original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.letters import ORIGIN_MESSAGE_ID, DeadLetters, Letters
from assay_conformance.client.values import Outgoing, Result


class LetterNamesSubscription(Letters):
    """A letter has the subscription of the original among its properties."""

    as_in = "Java client, RetryMessageUtil: REAL_SUBSCRIPTION"
    within = ("dead-letter.copy-is-complete", "retry-letter.copy-is-complete")

    def _post(self, topic: str, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        named = {"REAL_SUBSCRIPTION": self._subscription, **letter.properties}
        super()._post(topic, replace(letter, properties=named), posted)


class LetterWithClientsProperties(Letters):
    """A letter has properties of its client's own beside those of the original."""

    as_in = "Java client, RetryMessageUtil, whose list grows: RETRY_TOPIC, REAL_SUBSCRIPTION"
    within = ("dead-letter.copy-is-complete", "retry-letter.copy-is-complete")

    def _post(self, topic: str, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        marked = {**letter.properties, "REDELIVERED_BY": "a client", "EXCEPTION": ""}
        super()._post(topic, replace(letter, properties=marked), posted)


class DeadLetterAtMaximum(DeadLetters):
    """A message that arrives with the maximum redelivery count becomes a dead letter without being delivered once
    more."""

    as_in = "Go client, dlq_router: shouldSendToDlq; pulsar-rs, ConsumerEngine"
    within = (
        "dead-letter.max-redeliver-count",
        "dead-letter.original-acked-after-receipt",
        "dead-letter.large-message-chunked",
        "dead-letter.copy-is-complete",
    )

    def _is_too_often(self, redelivery_count: int) -> bool:
        return redelivery_count >= self._maximum()


class ChunkedLetterNamesFirstChunk(DeadLetters):
    """The letter of a chunked message names the ids of its first and of its last chunk, in this order."""

    as_in = "Java client, ChunkMessageIdImpl: toString"
    within = ("dead-letter.large-message-chunked",)

    def keep(self, entry: Entry, messages: Sequence[Opened], redelivery_count: int) -> bool:
        goes = super().keep(entry, messages, redelivery_count)
        if len(entry.positions) > 1:
            ids = ";".join(f"{ledger}:{number}:-1" for ledger, number in (entry.positions[0], entry.positions[-1]))
            for index, letter in entry.letters.items():
                entry.letters[index] = replace(letter, properties={**letter.properties, ORIGIN_MESSAGE_ID: ids})
        return goes
