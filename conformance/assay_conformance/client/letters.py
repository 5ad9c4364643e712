"""Messages posted to another topic in place of being delivered again: retry letters and dead letters (PIP-22, PIP-58).

A message whose redelivery count has reached the policy's maximum is handed over once more; refused or held too long
then, it goes to the dead letter topic. `reconsume_later` posts a copy to the retry letter topic, delayed, which the
same subscription reads; a copy that has come round often enough goes to the dead letter topic, too. The original is
acknowledged when the copy has its receipt, and delivered again when it gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from assay_conformance.client.entries import Opened, Position
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

_SETTINGS = ProducerSettings(batching=False, chunking=True)
"""One copy is one operation, whatever its size. The broker names the producer: no two consumers may share a name."""


def retry_topic(settings: ConsumerSettings, topic: str, subscription: str) -> str:
    return settings.retry_letter_topic or f"{topic}-{subscription}-RETRY"


def dead_letter_topic(settings: ConsumerSettings, topic: str, subscription: str) -> str:
    return settings.dead_letter_topic or f"{topic}-{subscription}-DLQ"


def letter_of(opened: Opened, topic: str, position: Position) -> Outgoing:
    """The copy: payload, keys, event time and properties, and where it comes from unless it is a copy already."""
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
        self._retry_topic = retry_topic(settings, topic, subscription)
        self._dead_letter_topic = dead_letter_topic(settings, topic, subscription)
        self._producers: dict[str, Producer] = {}

    def bury(self, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        """To the dead letter topic."""
        self._post(self._dead_letter_topic, letter, posted)

    def retry(self, letter: Outgoing, delay_ms: int, posted: Callable[[Result], None]) -> None:
        """To the retry letter topic, to come again after `delay_ms`, or once too often to the dead letter topic."""
        times = 1 + _number(letter.properties, RECONSUME_TIMES)
        told = {RECONSUME_TIMES: str(times), DELAY_TIME: str(delay_ms)}
        if 0 < self._settings.max_redeliver_count < times:
            self.bury(letter, posted)
            return
        due_ms = self._shared.unix_ms() + delay_ms
        copy = replace(letter, properties={**letter.properties, **told}, deliver_at_ms=due_ms)
        self._post(self._retry_topic, copy, posted)

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close(_ignore)

    def _post(self, topic: str, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        producer = self._producers.get(topic)
        if producer is None or producer.phase is Phase.CLOSED:
            producer = Producer(self._shared, self._pool, self._lookup, topic, _SETTINGS, _ignore)
            self._producers[topic] = producer
            producer.start()
        producer.send(self._shared.private_op(posted), letter)


def _number(properties: Mapping[str, str], name: str) -> int:
    text = properties.get(name, "")
    return int(text) if text.isdecimal() else 0


def _ignore(result: Result) -> None:
    del result
