"""Clients that lose or misuse dead letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.letters import ORIGIN_MESSAGE_ID, REAL_TOPIC, DeadLetters, Letters, ignore
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import ConsumerSettings, ProducerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.client.values import Done, Outgoing, Result


class DeadLetterWithoutOrigin(Letters):
    """A dead letter does not name its original message."""

    breaks = "dead-letter.copy-is-complete"
    stands_for = "pulsar-client-go#1392: REAL_TOPIC and ORIGIN_MESSAGE_ID are lost on the way to the dead letter topic"

    def move_to_dead_letter(self, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        lost = (REAL_TOPIC, ORIGIN_MESSAGE_ID)
        kept = {name: value for name, value in letter.properties.items() if name not in lost}
        super().move_to_dead_letter(replace(letter, properties=kept), posted)


class DeadLetterBehindRetriesLosesKeys(Letters):
    """A retry letter that becomes a dead letter loses its keys."""

    breaks = "dead-letter.copy-is-complete"
    stands_for = "apache/pulsar#23181: reconsumeLater copies keys only to the retry letter topic"

    def _end_rounds(self, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        super()._end_rounds(replace(letter, key=None, ordering_key=None), posted)


class DeadLetterAcksOriginalEarly(Letters):
    """The original is acknowledged when its dead letter is sent, before its receipt."""

    breaks = "dead-letter.original-acked-after-receipt"
    stands_for = "two calls in sequence, where the second belongs into the callback of the first"

    def _send(self, producer: Producer, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        if producer.topic == self._dead_letter_topic:
            posted(Done())
            posted = ignore
        super()._send(producer, letter, posted)


class FailedDeadLetterNotRedelivered(Consumer):
    """Redelivery of a message whose dead letter could not be sent is not requested."""

    breaks = "dead-letter.original-acked-after-receipt"
    stands_for = "C++ client (read in its source): the failure of a dead letter producer is not reported"

    def _ask_again_later(self, entry: Entry) -> None:
        pass


class LettersOutliveConsumer(Letters):
    """The producers of letters stay registered when their consumer is closed."""

    breaks = "dead-letter.closes-with-consumer"
    stands_for = "apache/pulsar#14284: a consumer's close forgets the producers that it opened by itself"

    def close(self) -> None:
        pass


class DeadLetterProducersShareName(Letters):
    """The dead letter producers of a subscription's consumers have one name."""

    breaks = "dead-letter.original-acked-after-receipt"
    stands_for = "pulsar-client-go#1156: the second one is refused as busy, and retries for ever"

    def __init__(
        self, shared: Shared, pool: Pool, lookup: Lookup, topic: str, subscription: str, settings: ConsumerSettings
    ) -> None:
        super().__init__(shared, pool, lookup, topic, subscription, settings)
        self._own_name = f"{topic}-{subscription}-DLQ"

    def _settings_for(self, topic: str) -> ProducerSettings:
        settings = super()._settings_for(topic)
        if topic != self._dead_letter_topic:
            return settings
        return msgspec.structs.replace(settings, producer_name=self._own_name)


class DeadLettersTooEarly(DeadLetters):
    """A message becomes a dead letter one redelivery too early."""

    breaks = "dead-letter.max-redeliver-count"
    stands_for = "off by one"

    def _maximum(self) -> int:
        return super()._maximum() - 1


class DeliversBeyondMaxRedeliverCount(DeadLetters):
    """A message is delivered once more than maxRedeliverCount allows."""

    breaks = "dead-letter.max-redeliver-count"
    stands_for = "off by one"

    def _maximum(self) -> int:
        return super()._maximum() + 1


class DeadLettersBatched(Letters):
    """Dead letters are batched."""

    breaks = ("dead-letter.not-batched", "dead-letter.large-message-chunked")
    stands_for = "a producer opened with the application's defaults"

    def _settings_for(self, topic: str) -> ProducerSettings:
        dead = topic == self._dead_letter_topic
        return ProducerSettings(batching=True) if dead else super()._settings_for(topic)


class DeadLettersUnchunked(Letters):
    """A dead letter that is too large for one frame is not sent."""

    breaks = "dead-letter.large-message-chunked"
    stands_for = "apache/pulsar#21048: a chunked message cannot become a dead letter, and is redelivered for ever"

    def _settings_for(self, topic: str) -> ProducerSettings:
        return ProducerSettings() if topic == self._dead_letter_topic else super()._settings_for(topic)


class DeadLetterTopicWithoutSubscription(Letters):
    """The initial subscription of the dead letter topic is not created."""

    breaks = "dead-letter.initial-subscription"
    stands_for = "an option of the dead letter policy that never reaches the producer"

    def _first_subscription(self, topic: str) -> str | None:
        return None


class AckedBecomeDeadLetters(DeadLetters):
    """When messages of a batch are nacked for the last time, the whole batch goes to the dead letter topic."""

    breaks = "dead-letter.acked-stays-out"
    stands_for = (
        "apache/pulsar#26125: copies are kept by the id of their batch, and an acknowledgment removes none of them"
    )

    def move_to_dead_letter(self, entry: Entry) -> bool:
        unacked, entry.unacked = entry.unacked, -1
        is_moved = super().move_to_dead_letter(entry)
        entry.unacked = unacked
        return is_moved


class BatchNeverDeadLetter(DeadLetters):
    """Nacked messages of a batch are redelivered for ever."""

    breaks = "dead-letter.max-redeliver-count"
    stands_for = "streamnative/pulsar-rs#286: the policy is applied only to unbatched messages"

    def keep(self, entry: Entry, messages: Sequence[Opened], redelivery_count: int) -> bool:
        is_batch = any(message.index is not None for message in messages)
        return not is_batch and super().keep(entry, messages, redelivery_count)
