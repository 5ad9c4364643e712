"""Messages posted to another topic in place of being delivered again: retry letters and dead letters (PIP-22, PIP-58).

A message whose redelivery count has reached the policy's maximum is delivered once more; refused or held too long
then, it goes to the dead letter topic. `reconsume_later` posts a copy to the retry letter topic, delayed, which the
same subscription reads; a copy that has come round often enough goes to the dead letter topic, too. The original is
acknowledged when the copy has its receipt, and delivered again when it gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.entries import Entry, Opened, Position
from assay_conformance.client.handler import Phase
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import ConsumerSettings, ProducerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.client.values import Outgoing, Result

RECONSUME_TIMES = "RECONSUMETIMES"
DELAY_TIME = "DELAY_TIME"
REAL_TOPIC = "REAL_TOPIC"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"

LETTER_SETTINGS = ProducerSettings(batching=False, chunking=True)
"""One copy is one operation, whatever its size. The broker names the producer: no two consumers may share a name."""


def retry_topic(settings: ConsumerSettings, topic: str, subscription: str) -> str:
    return settings.retry_letter_topic or f"{topic}-{subscription}-RETRY"


def dead_letter_topic(settings: ConsumerSettings, topic: str, subscription: str) -> str:
    return settings.dead_letter_topic or f"{topic}-{subscription}-DLQ"


def letter_of(opened: Opened, topic: str, position: Position) -> Outgoing:
    """Return the copy: payload, keys, event time and properties, and its origin unless it is a copy already."""
    origin = {REAL_TOPIC: topic, ORIGIN_MESSAGE_ID: f"{position[0]}:{position[1]}"}
    return Outgoing(
        payload=opened.payload,
        key=opened.key,
        ordering_key=opened.ordering_key,
        properties={**origin, **opened.properties},
        event_time_ms=opened.event_time_ms,
    )


class Letters:
    """The copies of one subscription on `topic`. Its two producers open when they are first needed."""

    def __init__(
        self, shared: Shared, pool: Pool, lookup: Lookup, topic: str, subscription: str, settings: ConsumerSettings
    ) -> None:
        self._shared = shared
        self._pool = pool
        self._lookup = lookup
        self._settings = settings
        self._subscription = subscription
        self._retry_topic = retry_topic(settings, topic, subscription)
        self._dead_letter_topic = dead_letter_topic(settings, topic, subscription)
        self._producers: dict[str, Producer] = {}

    def move_to_dead_letter(self, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        """Move a letter to the dead letter topic."""
        self._post(self._dead_letter_topic, letter, posted)

    def retry(self, letter: Outgoing, delay_ms: int, posted: Callable[[Result], None]) -> None:
        """Send a letter to the retry letter topic, to come again after `delay_ms`.

        One that used up its rounds goes to the dead letter topic.
        """
        times = 1 + _number(letter.properties, RECONSUME_TIMES)
        own_properties = {RECONSUME_TIMES: str(times), DELAY_TIME: str(delay_ms)}
        if 0 < self._settings.max_redeliver_count < times:
            self._end_rounds(letter, posted)
            return
        self._post(self._retry_topic, self._retry_letter(letter, own_properties, delay_ms), posted)

    def _end_rounds(self, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        """Move a message that used up its rounds by the retry letter topic to the dead letter topic."""
        self.move_to_dead_letter(letter, posted)

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close(ignore)

    def _retry_letter(self, letter: Outgoing, own_properties: Mapping[str, str], delay_ms: int) -> Outgoing:
        due_ms = self._shared.unix_ms() + delay_ms
        return replace(letter, properties={**letter.properties, **own_properties}, deliver_at_ms=due_ms)

    def _post(self, topic: str, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        producer = self._producers.get(topic)
        if producer is None or producer.phase is Phase.CLOSED:
            producer = self._producers[topic] = self._producer(topic)
            producer.start()
        self._send(producer, letter, posted)

    def _send(self, producer: Producer, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        producer.send(self._shared.private_op(posted), letter)

    def _producer(self, topic: str) -> Producer:
        return self._shared.implementation(Producer)(
            self._shared,
            self._pool,
            self._lookup,
            topic,
            self._settings_for(topic),
            ignore,
            first_subscription=self._first_subscription(topic),
        )

    def _settings_for(self, topic: str) -> ProducerSettings:
        del topic
        return LETTER_SETTINGS

    def _first_subscription(self, topic: str) -> str | None:
        """Return the subscription that must exist before the first dead letter."""
        return self._settings.dead_letter_subscription if topic == self._dead_letter_topic else None


class DeadLetters:
    """What one consumer buries in place of having it redelivered, where its policy says so.

    `posted` is called for each entry buried, when all copies are stored, or with the first failure.
    """

    def __init__(
        self,
        letters: Letters | None,
        settings: ConsumerSettings,
        topic: str,
        posted: Callable[[Entry, Result], None],
    ) -> None:
        self._letters = letters
        self._most = settings.max_redeliver_count
        self._topic = topic
        self._posted = posted

    def keep(self, entry: Entry, messages: Sequence[Opened], redelivery_count: int) -> bool:
        """Keep copies of an entry that has come for the last time; whether it came once too often and goes now."""
        if not messages or not self._most or self._letters is None:
            return False
        most = self._maximum()
        if redelivery_count >= most:
            entry.letters = {each.index or 0: letter_of(each, self._topic, entry.position) for each in messages}
        return self._is_too_often(redelivery_count)

    def _is_too_often(self, redelivery_count: int) -> bool:
        """Return whether what comes with this redelivery count goes to the dead letter topic unseen."""
        return redelivery_count > self._maximum()

    def _maximum(self) -> int:
        """Return the redelivery count with which a message is delivered for the last time."""
        return self._most

    def move_to_dead_letter(self, entry: Entry) -> bool:
        """Post what was redelivered often enough to the dead letter topic; False where it was not."""
        letters = [letter for index, letter in entry.letters.items() if entry.unacked >> index & 1]
        entry.letters = {}
        if not letters or self._letters is None:
            return False
        together = AllOf(len(letters), partial(self._posted, entry))
        for letter in letters:
            self._letters.move_to_dead_letter(letter, together.one)
        return True


def _number(properties: Mapping[str, str], name: str) -> int:
    text = properties.get(name, "")
    return int(text) if text.isdecimal() else 0


def ignore(result: Result) -> None:
    del result
