"""Asking for messages again: refused ones after their delay, and those the application neither settles nor refuses.

The broker redelivers single entries on subscriptions whose consumers share them, and on the others everything that is
not acknowledged. Not connected, there is nothing to ask: the broker delivers everything again on the new connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from assay_conformance.client.acks import MAX_IDS, Outlet
from assay_conformance.client.entries import Entry, Position
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.nacks import DueTracker, nack_due_ns
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
    """What one consumer will ask for. `refused` hears of due refusals, `all_again` of a request for everything.

    `bury` may take an entry instead, when it has been redelivered often enough. `new_epoch` numbers a request for
    everything (PIP-84).
    """

    def __init__(
        self,
        shared: Shared,
        settings: ConsumerSettings,
        outlet: Outlet,
        refused: Callable[[Sequence[M]], None],
        all_again: Callable[[], None],
        bury: Callable[[Entry], bool],
        new_epoch: Callable[[], int],
    ) -> None:
        self._shared = shared
        self._settings = settings
        self._outlet = outlet
        self._refused = refused
        self._all_again = all_again
        self._bury = bury
        self._new_epoch = new_epoch
        self._nacks: DueTracker[M] = DueTracker(shared, self._nacks_due)
        timeout_ms = settings.ack_timeout_ms + shared.lateness_ns(Mutation.ACK_TIMEOUT_LATE) // MS
        if shared.mutated(Mutation.ACK_TIMEOUT_EARLY):
            timeout_ms //= 2
        self._held: TickWheel[M] = TickWheel(shared, max(1, timeout_ms), settings.ack_timeout_tick_ms, self._ask)
        self._seen: set[Position] = set()
        """Kept by one mutation alone."""

    def hand_over(self, message: M) -> None:
        """From now on the application has this one to settle."""
        if self._settings.ack_timeout_ms:
            self._held.add(message.entry.position, message)
        if self._shared.mutated(Mutation.DROPS_WHAT_IT_HANDED_OVER):
            self._seen.add(message.entry.position)

    def drops(self, position: Position) -> bool:
        """The honest client drops nothing that comes again."""
        return position in self._seen

    def acked(self, message: M, *, cumulative: bool) -> None:
        """An entry is no longer waited for when all of it is settled."""
        if self._shared.mutated(Mutation.ACK_LEAVES_TIMEOUT):
            return
        if cumulative:
            self._held.remove_before(message.entry.position)
        if not message.entry.unacked:
            self._held.remove(message.entry.position)

    def nack(self, message: M) -> None:
        if not self._shared.mutated(Mutation.NACK_LEAVES_TIMEOUT):
            self._held.remove(message.entry.position)
        due_ns = nack_due_ns(self._shared, self._settings, message.redelivery_count)
        self._nacks.add(message.entry.position, due_ns, message)

    @property
    def last_nack_ns(self) -> int | None:
        """When the last refusal is due."""
        return self._nacks.last_ns

    def at_once(self, entry: Entry) -> None:
        """Ask for this entry again, without any delay."""
        if self._outlet.ready:
            self._request([message_id(*position) for position in entry.positions])

    def lost(self) -> None:
        """The broker delivers everything again by itself; refusals keep their delay."""
        self._held.clear()

    def drop(self) -> None:
        """The consumer is gone."""
        self._held.clear()
        self._nacks.clear()

    # --- inside ---

    def _nacks_due(self, due: Sequence[M]) -> None:
        self._refused(due)
        self._seen.difference_update(message.entry.position for message in due)
        self._ask(due, refused=True)

    def _ask(self, due: Sequence[M], *, refused: bool = False) -> None:
        if not self._outlet.ready:
            return
        if not (self._settings.individual_redelivery if refused else self._times_out_one_by_one):
            self._request([], self._new_epoch())
            self._held.clear()
            self._all_again()
            return
        left = [message for message in due if not self._bury(message.entry)]
        ids = [named for message in left for named in self._named(message, refused=refused)]
        most = 1 if self._shared.mutated(Mutation.NACKS_ONE_BY_ONE) else MAX_IDS
        for start in range(0, len(ids), most):
            self._request(ids[start : start + most])

    @property
    def _times_out_one_by_one(self) -> bool:
        if self._shared.mutated(Mutation.TIMEOUT_ASKS_FOR_ALL):
            return False
        return self._settings.individual_redelivery or self._shared.mutated(Mutation.TIMEOUT_NAMES_ALWAYS)

    def _request(self, ids: Sequence[pb.MessageIdData], epoch: int | None = None) -> None:
        built = command(
            CommandType.REDELIVER_UNACKNOWLEDGED_MESSAGES, consumer_id=self._outlet.consumer_id, message_ids=ids
        )
        if epoch is not None:
            built.redeliverUnacknowledgedMessages.consumer_epoch = epoch
        self._outlet.post(built)

    def _named(self, message: M, *, refused: bool) -> Iterator[pb.MessageIdData]:
        """All chunks of a chunked message; never one message of a batch."""
        positions = message.entry.positions
        if message.index is not None and self._shared.mutated(Mutation.NACK_KEEPS_BATCH_INDEX):
            yield message_id(*positions[-1], batch_index=message.index)
        elif self._shared.mutated(Mutation.NACKS_LAST_CHUNK if refused else Mutation.ASKS_FOR_LAST_CHUNK):
            yield message_id(*positions[-1])
        else:
            yield from (message_id(*position) for position in positions)
