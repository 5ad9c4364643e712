"""Batches: messages that wait for company, and when they go out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

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

    def __init__(self, settings: ProducerSettings, first_ns: int, max_messages: int, max_bytes: int) -> None:
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
        return not self.sent or self._bytes + size <= self._max_bytes

    def add(self, sent: Sent, now_ns: int) -> None:
        self._begun_ns.append(now_ns if self.sent else self.first_ns)
        self.sent.append(sent)
        self._bytes += len(sent.message.payload)

    @property
    def full(self) -> bool:
        return self._bytes >= self._max_bytes or len(self.sent) >= self._max_messages

    def groups(self) -> list[Group]:
        """Return the messages of each entry, in the order to send them: by key where asked for, else all in one."""
        if not self._keyed:
            return [Group(self.sent, self.first_ns)]
        by_key: dict[str | None, Group] = {}
        for sent, begun_ns in zip(self.sent, self._begun_ns, strict=True):
            by_key.setdefault(key_of(sent), Group([], begun_ns)).sent.append(sent)
        return self._sorted(by_key.values())

    def _sorted(self, groups: Iterable[Group]) -> list[Group]:
        """Return the groups sorted by the sequence id that their entry names: its highest."""
        return sorted(groups, key=lambda group: group.sent[-1].sequence_id)


def key_of(sent: Sent) -> str | None:
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

    @property
    def is_open(self) -> bool:
        return self._batch is not None

    def add(self, sent: Sent) -> None:
        if self._batch is not None and (self._batch.full or not self._batch.fits(len(sent.message.payload))):
            self.close()
        if self._batch is None:
            self._batch = self._begin()
        self._take(self._batch, sent)
        if self._is_complete(self._batch):
            self.close()

    def _take(self, batch: OpenBatch, sent: Sent) -> None:
        batch.add(sent, self._shared.now_ns)

    def _is_complete(self, batch: OpenBatch) -> bool:
        """Return whether it goes out without waiting for its delay."""
        return batch.full

    def close(self) -> None:
        """Send what is batched; too large a batch fails."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        if batch.timer is not None:
            batch.timer.cancel()
        for group in batch.groups():
            try:
                op = self._build(group.sent, group.first_ns)
            except TooLargeError as error:
                self._fail(group, str(error))
                self._pending.settled()
            else:
                self._built([op])

    def _fail(self, group: Group, text: str) -> None:
        """Fail the messages of a group that is too large for an entry."""
        self._pending.release(group.sent, Failed(ErrorClass.TOO_LARGE, text, certain=True))

    def _begin(self) -> OpenBatch:
        made = self._shared.implementation(OpenBatch)
        batch = made(self._settings, self._first_ns(), self._max_messages(), self._max_bytes())
        self._arm(batch)
        return batch

    def _first_ns(self) -> int:
        """Return the time since which the first message of a new batch waits."""
        return self._shared.now_ns

    def _max_messages(self) -> int:
        return self._settings.batching_max_messages

    def _max_bytes(self) -> int:
        return self._settings.batching_max_bytes

    def _delay_ns(self) -> int:
        return self._settings.batching_max_publish_delay_ms * MS

    def _arm(self, batch: OpenBatch) -> None:
        """Let it close after the delay, unless its first message has waited too long by then."""
        if batch.timer is not None:
            batch.timer.cancel()
        delay_ns = self._delay_ns()
        due_ns = self._pending.due_ns(batch.first_ns)
        if due_ns is not None and due_ns <= self._shared.now_ns + delay_ns:
            batch.timer = self._shared.timers.at(due_ns, self._expire)
        else:
            batch.timer = self._shared.after(delay_ns, self.close)

    def _expire(self) -> None:
        """Fail the open batch: its oldest message has waited for as long as a send may."""
        self._pending.time_out()
        batch, self._batch = self._batch, None
        if batch is not None:
            text = "no receipt within the send time-out: its batch had not closed yet"
            self._pending.release(batch.sent, Failed(ErrorClass.TIMEOUT, text, certain=True))
            self._pending.settled()
