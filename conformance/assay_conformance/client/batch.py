"""Batches: messages that wait for company, and when they go out."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from assay_conformance.client.mutations import Mutation
from assay_conformance.client.ops import Op, Sent, TooLargeError
from assay_conformance.client.pending import Pending
from assay_conformance.client.settings import BatchingType, ProducerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Failed
from assay_conformance.model.event import ErrorClass


class Group(NamedTuple):
    """What becomes one entry. Its send time-out is that of the message in it that waits longest."""

    sent: list[Sent]
    first_ns: int


class OpenBatch:
    """It closes at the first of its message count, its bytes, and the delay since its first message.

    Bytes are those of the payloads. A message that would exceed them closes the batch before it, so that only a batch
    of one message is larger.
    """

    def __init__(self, settings: ProducerSettings, first_ns: int, max_messages: int, max_bytes: int | None) -> None:
        self.first_ns = first_ns
        self.sent: list[Sent] = []
        self._begun_ns: list[int] = []
        """When each of them came."""
        self.timer: Timer | None = None
        self._keyed = settings.batching_type is BatchingType.KEY_BASED
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._bytes = 0

    def fits(self, size: int) -> bool:
        return not self.sent or self._max_bytes is None or self._bytes + size <= self._max_bytes

    def add(self, sent: Sent, now_ns: int) -> None:
        self._begun_ns.append(now_ns if self.sent else self.first_ns)
        self.sent.append(sent)
        self._bytes += len(sent.message.payload)

    def begins_key(self, sent: Sent) -> bool:
        """Whether a batch by key that is open holds none of its key."""
        return self._keyed and bool(self.sent) and _key_of(sent) not in map(_key_of, self.sent)

    @property
    def full(self) -> bool:
        by_bytes = self._max_bytes is not None and self._bytes >= self._max_bytes
        return by_bytes or len(self.sent) >= self._max_messages

    def groups(self, mutations: Set[Mutation]) -> list[Group]:
        """The messages of each entry, in the order to send them: by key where asked for, else all in one."""
        if not self._keyed or Mutation.KEYS_SHARE_A_BATCH in mutations:
            return [Group(self.sent, self.first_ns)]
        by_key: dict[str | None, Group] = {}
        for sent, begun_ns in zip(self.sent, self._begun_ns, strict=True):
            by_key.setdefault(_key_of(sent), Group([], begun_ns)).sent.append(sent)
        if Mutation.KEYED_BATCHES_UNSORTED in mutations:
            return list(by_key.values())
        told = 0 if Mutation.KEYED_BATCH_TELLS_LOWEST in mutations else -1
        return sorted(by_key.values(), key=lambda group: group.sent[told].sequence_id)


def _key_of(sent: Sent) -> str | None:
    return sent.message.key if sent.message.ordering_key is None else sent.message.ordering_key


class Batching:
    """The batches of one producer, one open at a time. `build` makes a unit of some of its messages, begun then.

    `built` gets the units, in the order to send them.
    """

    def __init__(
        self,
        shared: Shared,
        settings: ProducerSettings,
        pending: Pending,
        build: Callable[[Sequence[Sent], int], Op],
        built: Callable[[Sequence[Op]], None],
    ) -> None:
        self._shared = shared
        self._settings = settings
        self._pending = pending
        self._build = build
        self._built = built
        self._batch: OpenBatch | None = None
        self._last_began_ns: int | None = None

    @property
    def is_open(self) -> bool:
        return self._batch is not None

    def add(self, sent: Sent) -> None:
        if self._batch is not None and (self._batch.full or not self._batch.fits(len(sent.message.payload))):
            self.close()
        if self._batch is None:
            self._batch = self._begin()
        if self._shared.mutated(Mutation.NEW_KEY_RESTARTS_DELAY) and self._batch.begins_key(sent):
            self._arm(self._batch, self._settings.batching_max_publish_delay_ms)
        self._batch.add(sent, self._shared.now_ns)
        waits = len(self._pending) and self._shared.mutated(Mutation.BATCH_WAITS_FOR_RECEIPT)
        if (self._batch.full and not waits) or self._closed_by_queue():
            self.close()

    def _closed_by_queue(self) -> bool:
        """Only for a mutation: what fills the queue closes the batch."""
        blocks = self._settings.block_if_queue_full and self._shared.mutated(Mutation.FULL_QUEUE_CLOSES_BATCH)
        return blocks and self._pending.why_full() is not None

    def close(self) -> None:
        """Send what is batched; too large a batch fails."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        if batch.timer is not None:
            batch.timer.cancel()
        for group in batch.groups(self._shared.mutations):
            try:
                op = self._build(group.sent, group.first_ns)
            except TooLargeError as error:
                self._pending.release(group.sent, Failed(ErrorClass.TOO_LARGE, str(error), certain=True))
                if self._shared.mutated(Mutation.OVERSIZE_BATCH_FAILS_PENDING):
                    self._pending.fail(self._pending.take(lambda _op: True), ErrorClass.TOO_LARGE, str(error))
                self._pending.settled()
            else:
                self._built([op])

    def _begin(self) -> OpenBatch:
        settings, shared = self._settings, self._shared
        extra = 1 if shared.mutated(Mutation.BATCH_OVERFILLS) else 0
        max_bytes = None if shared.mutated(Mutation.BATCH_IGNORES_BYTES) else settings.batching_max_bytes
        first_ns, before_ns, self._last_began_ns = shared.now_ns, self._last_began_ns, shared.now_ns
        if before_ns is not None and shared.mutated(Mutation.IDLE_BATCH_TIMES_OUT):
            first_ns = before_ns
        max_messages = settings.batching_max_messages + extra
        if shared.mutated(Mutation.BATCH_LEAVES_HALF_FULL):
            max_messages //= 2
        batch = OpenBatch(settings, first_ns, max_messages, max_bytes)
        if settings.block_if_queue_full and shared.mutated(Mutation.FULL_QUEUE_STOPS_BATCH_TIMER):
            return batch
        delay_ms = 1 if shared.mutated(Mutation.BATCH_DELAY_UNREAD) else settings.batching_max_publish_delay_ms
        if before_ns is None and shared.mutated(Mutation.FIRST_BATCH_HURRIES):
            delay_ms = 1
        self._arm(batch, delay_ms)
        return batch

    def _arm(self, batch: OpenBatch, delay_ms: int) -> None:
        """Let it close in `delay_ms` from now, unless its first message has waited too long by then."""
        if batch.timer is not None:
            batch.timer.cancel()
        delay_ns = delay_ms * MS + self._shared.lateness_ns(Mutation.BATCH_DELAY_LATE)
        due_ns = self._pending.due_ns(batch.first_ns)
        if due_ns is not None and due_ns <= self._shared.now_ns + delay_ns:
            batch.timer = self._shared.timers.at(due_ns, self._expire)
        else:
            batch.timer = self._shared.after(delay_ns, self.close)

    def _expire(self) -> None:
        """The oldest message of the open batch has waited for as long as a send may."""
        self._pending.time_out()
        batch, self._batch = self._batch, None
        if batch is not None:
            text = "no receipt within the send time-out: its batch had not closed yet"
            self._pending.release(batch.sent, Failed(ErrorClass.TIMEOUT, text, certain=True))
            self._pending.settled()
