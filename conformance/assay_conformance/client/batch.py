"""The open batch: messages that wait for company, and when it closes."""

from __future__ import annotations

from assay_conformance.client.ops import Sent
from assay_conformance.client.settings import BatchingType, ProducerSettings
from assay_conformance.client.timers import Timer


class OpenBatch:
    """It closes at the first of its message count, its bytes, and the delay since its first message.

    Bytes are those of the payloads. A message that would exceed them closes the batch before it, so that only a batch
    of one message is larger.
    """

    def __init__(self, settings: ProducerSettings, first_ns: int, max_messages: int, max_bytes: int | None) -> None:
        self.first_ns = first_ns
        self.sent: list[Sent] = []
        self.timer: Timer | None = None
        self._keyed = settings.batching_type is BatchingType.KEY_BASED
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._bytes = 0

    def fits(self, size: int) -> bool:
        return not self.sent or self._max_bytes is None or self._bytes + size <= self._max_bytes

    def add(self, sent: Sent) -> None:
        self.sent.append(sent)
        self._bytes += len(sent.message.payload)

    @property
    def full(self) -> bool:
        by_bytes = self._max_bytes is not None and self._bytes >= self._max_bytes
        return by_bytes or len(self.sent) >= self._max_messages

    def groups(self) -> list[list[Sent]]:
        """The messages of each entry, in the order to send them: by key where asked for, else all in one."""
        if not self._keyed:
            return [self.sent]
        by_key: dict[str | None, list[Sent]] = {}
        for sent in self.sent:
            key = sent.message.key if sent.message.ordering_key is None else sent.message.ordering_key
            by_key.setdefault(key, []).append(sent)
        return sorted(by_key.values(), key=lambda group: group[-1].sequence_id)
