"""How far a subscription is: what is acknowledged, and what is read next.

Everything below `mark` is acknowledged, and so are the indexes in `acked` beyond it. `partial` keeps, for a batch that
is acknowledged in part, the bits of the members that are not. All numbers are indexes of the topic's store.
"""

from __future__ import annotations

from assay_conformance.broker.store import Entry, Store


class Cursor:
    """`next` is the index read next."""

    __slots__ = ("_began", "acked", "mark", "next", "partial")

    def __init__(self, mark: int) -> None:
        self.mark = mark
        self.next = mark
        self.acked: set[int] = set()
        self.partial: dict[int, int] = {}
        self._began: tuple[int, tuple[int, int]] | None = None

    def begin_behind(self, position: tuple[int, int]) -> None:
        """Begin after this position, which need not be of this topic; it stands until the cursor moves."""
        self._began = (self.mark, position)

    def mark_delete(self, store: Store) -> tuple[int, int]:
        """Return the position up to which everything is acknowledged, as in answers to clients."""
        if self._began is not None and self._began[0] == self.mark:
            return self._began[1]
        return store.mark_delete(self.mark)

    def is_acked(self, index: int) -> bool:
        return index < self.mark or index in self.acked

    def backlog(self, stored: int) -> int:
        """Return how many of the topic's `stored` entries are not acknowledged."""
        return stored - self.mark - len(self.acked)

    def read(self, entries: list[Entry], count: int) -> list[Entry]:
        """Return up to `count` entries that are not acknowledged, from where the last read ended."""
        index, end = self.next, len(entries)
        if index < self.mark:
            index = self.mark
        if not self.acked:
            self.next = min(index + count, end)
            return entries[index : self.next]
        found: list[Entry] = []
        while index < end and len(found) < count:
            if index not in self.acked:
                found.append(entries[index])
            index += 1
        self.next = index
        return found

    def ack(self, index: int) -> bool:
        """Acknowledge one entry; False when it was already."""
        if self.is_acked(index):
            return False
        self.partial.pop(index, None)
        if index != self.mark:
            self.acked.add(index)
            return True
        index += 1
        while index in self.acked:
            self.acked.remove(index)
            index += 1
        self.mark = index
        return True

    def ack_members(self, index: int, unacked: int) -> bool:
        """Clear the bits that `unacked` does not set; True when that acknowledged the whole entry. The number of
        members is not looked at: bits beyond them stay as well."""
        if self.is_acked(index):
            return False
        left = self.partial.get(index, unacked) & unacked
        if not left:
            return self.ack(index)
        self.partial[index] = left
        return False

    def ack_members_up_to(self, index: int, unacked: int) -> None:
        """Acknowledge cumulatively: these are left of the entry, unless more of its beginning was settled before."""
        known = self.partial.get(index)
        if not self.is_acked(index) and (known is None or _lowest(unacked) > _lowest(known)):
            self.partial[index] = unacked

    def ack_up_to(self, index: int) -> None:
        """Acknowledge this entry and all before it."""
        if index < self.mark:
            return
        self.mark = index + 1
        while self.mark in self.acked:
            self.mark += 1
        self.acked = {kept for kept in self.acked if kept > self.mark}
        self.partial = {kept: bits for kept, bits in self.partial.items() if kept > index}

    def rewind(self) -> None:
        """Read again from the first entry not acknowledged."""
        self.next = self.mark

    def reset(self, index: int) -> None:
        """Seek: from this entry on nothing is acknowledged, and everything before it is."""
        self.mark = self.next = index
        self.acked.clear()
        self.partial.clear()


def _lowest(bits: int) -> int:
    """Return the lowest bit that is set."""
    return bits & -bits
