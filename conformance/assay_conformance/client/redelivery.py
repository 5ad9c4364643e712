"""Asking for messages again: nacked ones after their delay, and those the application neither settles nor nacks.

The broker redelivers single entries on subscriptions whose consumers share them, and on the others everything that is
not acknowledged. Not connected, there is nothing to ask: the broker delivers everything again on the new connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from assay_conformance.client.acks import MAX_IDS, Outlet
from assay_conformance.client.entries import Entry
from assay_conformance.client.nacks import MIN_DELAY_MS, DueTracker, nack_delay_ms
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.unacked import TickWheel
from assay_conformance.wire import CommandType, command, message_id
from assay_conformance.wire import pulsar_pb2 as pb


class Message(Protocol):
    """A message the application has, as far as redelivery needs it."""

    @property
    def entry(self) -> Entry: ...

    @property
    def index(self) -> int | None: ...

    @property
    def redelivery_count(self) -> int: ...


M = TypeVar("M", bound=Message)


class Redelivery(Generic[M]):
    """What one consumer will ask for. `all_again` is called with a request for everything.

    `move_to_dead_letter` may take an entry that was redelivered often enough. `new_epoch` numbers a request for
    everything (PIP-84).
    """

    MOST_IDS: ClassVar = MAX_IDS
    LEAST_NACK_DELAY_MS: ClassVar = MIN_DELAY_MS

    def __init__(
        self,
        shared: Shared,
        settings: ConsumerSettings,
        outlet: Outlet,
        all_again: Callable[[], None],
        move_to_dead_letter: Callable[[Entry], bool],
        new_epoch: Callable[[], int],
    ) -> None:
        self._shared = shared
        self._settings = settings
        self._outlet = outlet
        self._all_again = all_again
        self._move_to_dead_letter = move_to_dead_letter
        self._new_epoch = new_epoch
        self._nacks: DueTracker[M] = shared.implementation(DueTracker)(shared, self._nacks_due)
        self._held: TickWheel[M] = shared.implementation(TickWheel)(
            shared, max(1, self._timeout_ms()), settings.ack_timeout_tick_ms, self._ask
        )

    def hand_over(self, message: M) -> None:
        """Start the time-out of a message that the application has to settle from now on."""
        if self._settings.ack_timeout_ms:
            self._held.add(message.entry.position, message)

    def acked(self, message: M, *, cumulative: bool) -> None:
        """Stop waiting for an entry once all of it is settled."""
        if cumulative:
            self._held.remove_before(message.entry.position)
        if not message.entry.unacked:
            self._held.remove(message.entry.position)

    def nack(self, message: M) -> None:
        self._stop_holding(message)
        self._nacks.add(message.entry.position, self._nack_due_ns(message.redelivery_count), message)

    def at_once(self, entry: Entry) -> None:
        """Ask for this entry again, without any delay."""
        if self._outlet.ready:
            self._request([message_id(*position) for position in entry.positions])

    def everything(self) -> None:
        """Ask for all that is not acknowledged, and forget what had been prefetched of it. What was nacked keeps its
        delay: it may be asked for a second time."""
        if not self._outlet.ready:
            return
        self._request([], None if self._settings.individual_redelivery else self._new_epoch())
        self._held.clear()
        self._all_again()

    def lost(self) -> None:
        """Drop what waits for its time-out: the broker delivers it again by itself. Nacks keep their delay."""
        self._held.clear()

    def drop(self) -> None:
        """Stop: the consumer is closed."""
        self._held.clear()
        self._nacks.clear()

    # --- inside ---

    def _timeout_ms(self) -> int:
        return self._settings.ack_timeout_ms

    def _stop_holding(self, message: M) -> None:
        """Stop the time-out of a message that was negatively acknowledged."""
        self._held.remove(message.entry.position)

    def _nack_due_ns(self, redelivery_count: int) -> int:
        """Return when a message nacked now is asked for again. A coarse precision makes it earlier (PIP-393)."""
        due_ns = self._shared.now_ns + self._nack_delay_ns(redelivery_count)
        precision_ns = self._settings.nack_precision_ms * MS
        return due_ns - due_ns % precision_ns if precision_ns else due_ns

    def _nack_delay_ns(self, redelivery_count: int) -> int:
        return round(max(self._nack_delay_ms(redelivery_count), self.LEAST_NACK_DELAY_MS) * MS)

    def _nack_delay_ms(self, redelivery_count: int) -> float:
        return nack_delay_ms(self._settings, redelivery_count)

    def _nacks_due(self, due: Sequence[M]) -> None:
        self._ask(due, nacked=True)

    def _ask(self, due: Sequence[M], *, nacked: bool = False) -> None:
        if not self._outlet.ready:
            return
        if not (self._settings.individual_redelivery if nacked else self._times_out_one_by_one):
            self.everything()
            return
        left = [message for message in due if not self._move_to_dead_letter(message.entry)]
        ids = [named for message in left for named in self._named(message, nacked=nacked)]
        for start in range(0, len(ids), self.MOST_IDS):
            self._request(ids[start : start + self.MOST_IDS])

    @property
    def _times_out_one_by_one(self) -> bool:
        return self._settings.individual_redelivery

    def _request(self, ids: Sequence[pb.MessageIdData], epoch: int | None = None) -> None:
        built = command(
            CommandType.REDELIVER_UNACKNOWLEDGED_MESSAGES, consumer_id=self._outlet.consumer_id, message_ids=ids
        )
        if epoch is not None:
            built.redeliverUnacknowledgedMessages.consumer_epoch = epoch
        self._outlet.post(built)

    def _named(self, message: M, *, nacked: bool) -> Iterator[pb.MessageIdData]:
        """Yield the ids of all chunks of a chunked message; never one message of a batch."""
        del nacked
        yield from (message_id(*position) for position in message.entry.positions)
