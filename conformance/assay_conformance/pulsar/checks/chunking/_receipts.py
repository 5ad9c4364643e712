"""Which chunks of a message have receipts. A receipt names the message only; they come in the order of the chunks."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Receipts:
    """Receipts of one sending, over all its sessions. `first_without`: the chunks before this one got a receipt.

    A chunk that reached the broker damaged, was refused for that, and was not sent again has no receipt in that
    session: the receipts after those for the chunks before it are for the chunks after it.
    """

    first_without: int = 0
    _next: int = 0
    _reached: set[int] = field(default_factory=set)
    _damaged: list[int] = field(default_factory=list)
    _refused: int | None = None

    def session_begins(self, chunk: int) -> None:
        self._next, self._refused = chunk, None
        self._reached.clear()
        self._damaged.clear()

    def reached(self, chunk: int, *, intact: bool) -> None:
        """Take a chunk that reached the broker. If it had arrived before, its receipt may still be to come."""
        if not intact and chunk not in self._reached:
            self._damaged.append(chunk)
        elif chunk == self._refused:
            self._refused = None
        self._reached.add(chunk)

    def refused(self) -> None:
        """Take an error for a damaged chunk. The client may take an earlier receipt for that chunk's."""
        chunk = self._damaged.pop(0) if self._damaged else None
        if chunk is not None and chunk >= self.first_without and self._refused is None:
            self._refused = chunk

    def receipt(self) -> None:
        if self._next != self._refused:
            self._next += 1
            self.first_without = max(self.first_without, self._next)
