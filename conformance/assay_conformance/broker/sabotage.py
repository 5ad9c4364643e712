"""Stores that break a rule on purpose: what stands between a topic and its store when a mutation asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from assay_conformance.broker.host import Host
from assay_conformance.broker.mutations import BrokerMutation
from assay_conformance.broker.store import Append, Entry, Store
from assay_conformance.broker.timers import Timer
from assay_conformance.wire import MetadataError

Write = Callable[[Append], None]

PARKED_MS = 20
"""How long an append waits for another to change places with."""

NOWHERE = 1_000_000
"""So far behind the end of a ledger no entry of a Case ever is."""


def writer(host: Host, store: Store) -> Write:
    """How this cluster writes: the store itself for an honest one."""
    for mutation, make in _WRITERS.items():
        if host.breaks(mutation):
            return make(host, store)
    return store.append


class _Swapping:
    """Two appends of one producer change their payloads, so that their receipts keep the order."""

    def __init__(self, host: Host, store: Store) -> None:
        self._host = host
        self._store = store
        self._parked: Append | None = None
        self._timer: Timer | None = None

    def __call__(self, append: Append) -> None:
        first = self._parked
        if first is None:
            self._parked = append
            self._timer = self._host.after(PARKED_MS, self._flush)
            return
        if first.producer_name == append.producer_name:
            first.payload, append.payload = append.payload, first.payload
        self._flush()
        self._store.append(append)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._parked is not None:
            parked, self._parked = self._parked, None
            self._store.append(parked)


class _Losing(ABC):
    """What `loses` picks gets its receipt and is not stored.

    The receipt names a position that no entry has or will have: chunks share a sequence id, so that a position which
    came before would be taken for a receipt that came twice.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lost = 0

    def __call__(self, append: Append) -> None:
        # A receipt for nothing must not overtake those that wait: that would break another rule as well.
        if self.loses(append) and not self._store.waits:
            self._lost += 1
            ledger, entry = self._store.next_position
            append.lose(Entry(ledger, entry + NOWHERE + self._lost, len(self._store.entries), append.payload))
        else:
            self._store.append(append)

    @abstractmethod
    def loses(self, append: Append) -> bool: ...


class _LosingThird(_Losing):
    def __init__(self, _host: Host, store: Store) -> None:
        super().__init__(store)
        self._count = 0

    def loses(self, _append: Append) -> bool:
        self._count += 1
        return self._count % 3 == 0


class _LosingChunk(_Losing):
    def __init__(self, _host: Host, store: Store) -> None:
        super().__init__(store)

    def loses(self, append: Append) -> bool:
        try:
            return append.payload.metadata.chunk_id == 1
        except MetadataError:
            return False


_WRITERS: dict[BrokerMutation, Callable[[Host, Store], Write]] = {
    BrokerMutation.REORDERS_APPENDS: _Swapping,
    BrokerMutation.LOSES_RECEIPTED_APPEND: _LosingThird,
    BrokerMutation.LOSES_CHUNK: _LosingChunk,
}
