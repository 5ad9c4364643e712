"""Clients that lose or misuse retry letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from assay_conformance.client.letters import Letters, ignore
from assay_conformance.client.producer import Producer
from assay_conformance.client.values import Done, Outgoing, Result


class RetryLetterLosesKeys(Letters):
    """A retry letter has no keys."""

    breaks = "retry-letter.copy-is-complete"
    stands_for = "pulsar-client-go#1400: keys of the original are not copied"

    def _retry_letter(self, letter: Outgoing, own_properties: Mapping[str, str], delay_ms: int) -> Outgoing:
        return replace(super()._retry_letter(letter, own_properties, delay_ms), key=None, ordering_key=None)


class RetryLetterWithoutDelay(Letters):
    """A retry letter is delivered at once, whatever delay was requested."""

    breaks = "retry-letter.copy-is-complete"
    stands_for = "a delay that is only noted in a property"

    def _retry_letter(self, letter: Outgoing, own_properties: Mapping[str, str], delay_ms: int) -> Outgoing:
        return super()._retry_letter(letter, own_properties, 0)


class RetryLetterAcksOriginalEarly(Letters):
    """The original is acknowledged when its retry letter is sent, before its receipt."""

    breaks = "retry-letter.original-acked-after-receipt"
    stands_for = "two calls in sequence, where the second belongs into the callback of the first"

    def _send(self, producer: Producer, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        if producer.topic == self._retry_topic:
            posted(Done())
            posted = ignore
        super()._send(producer, letter, posted)
