"""How far the receipts of a chunked message go. They name the message alone, and come in the order of its chunks."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Receipts:
    """Those of one sending, over all its sessions. `first_without`: chunks before this one had a receipt written.

    A chunk that reached the broker spoilt, was refused for it, and was not sent again there has none in that session:
    what comes behind the receipts of the chunks before it are those of the chunks behind it.
    """

    first_without: int = 0
    _next: int = 0
    _reached: set[int] = field(default_factory=set)
    _spoilt: list[int] = field(default_factory=list)
    _refused: int | None = None

    def session_begins(self, chunk: int) -> None:
        self._next, self._refused = chunk, None
        self._reached.clear()
        self._spoilt.clear()

    def reached(self, chunk: int, *, intact: bool) -> None:
        """A chunk reached the broker. One that was there before may have its receipt still to come."""
        if not intact and chunk not in self._reached:
            self._spoilt.append(chunk)
        elif chunk == self._refused:
            self._refused = None
        self._reached.add(chunk)

    def refused(self) -> None:
        """An error for a spoilt chunk came back. To the client a receipt of before may have been that chunk's."""
        chunk = self._spoilt.pop(0) if self._spoilt else None
        if chunk is not None and chunk >= self.first_without and self._refused is None:
            self._refused = chunk

    def receipt(self) -> None:
        if self._next != self._refused:
            self._next += 1
            self.first_without = max(self.first_without, self._next)
