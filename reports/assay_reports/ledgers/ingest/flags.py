"""What is remembered of every message of a stream: pages of numpy, made where there is something to remember."""

from __future__ import annotations

from typing import Any

import numpy as np

PAGE_BITS = 16
PAGE = 1 << PAGE_BITS
SEEN, ACKED = 1, 2
_ALL = SEEN | ACKED
_OPEN_PAGES = 4


class Flags:
    """Two bits a message. Pages that were not used lately are packed, and those of which all is known cost nothing."""

    def __init__(self) -> None:
        self._open: dict[int, Any] = {}
        self._packed: dict[int, tuple[Any, Any] | None] = {}

    def of(self, seqs: Any) -> Any:
        """Return the flags of these messages; 0 of one that was never set."""
        found: Any = np.zeros(len(seqs), np.uint8)
        pages = seqs >> PAGE_BITS
        for page in np.unique(pages).tolist():
            flags = self._page(page, new=False)
            if flags is not None:
                at = pages == page
                found[at] = flags[seqs[at] & (PAGE - 1)]
        return found

    def set(self, seqs: Any, flag: int) -> None:
        pages = seqs >> PAGE_BITS
        for page in np.unique(pages).tolist():
            flags = self._page(page, new=True)
            flags[seqs[pages == page] & (PAGE - 1)] |= flag
        while len(self._open) > _OPEN_PAGES:
            self._pack(next(iter(self._open)))

    def _page(self, page: int, new: bool) -> Any:
        if page in self._open:
            # The last one used is the last one packed.
            self._open[page] = self._open.pop(page)
            return self._open[page]
        if page not in self._packed:
            if not new:
                return None
            self._open[page] = np.zeros(PAGE, np.uint8)
            return self._open[page]
        planes = self._packed.pop(page)
        if planes is None:
            self._open[page] = np.full(PAGE, _ALL, np.uint8)
        else:
            seen, acked = (np.unpackbits(plane) for plane in planes)
            self._open[page] = seen * SEEN | acked * ACKED
        return self._open[page]

    def _pack(self, page: int) -> None:
        flags = self._open.pop(page)
        whole = bool((flags == _ALL).all())
        self._packed[page] = None if whole else (np.packbits(flags & SEEN), np.packbits((flags & ACKED) >> 1))


class Times:
    """A time for some messages of a stream; `every`: of messages whose seq is a multiple of it alone."""

    def __init__(self, nothing: int, every: int = 1) -> None:
        self._nothing = nothing
        self._every = every
        self._pages: dict[int, Any] = {}

    def set(self, seqs: Any, times: Any) -> None:
        for page, at, index in self._places(seqs):
            if page not in self._pages:
                self._pages[page] = np.full(PAGE // self._every, self._nothing, np.int64)
            self._pages[page][index] = times[at]

    def of(self, seqs: Any) -> Any:
        found: Any = np.full(len(seqs), self._nothing, np.int64)
        for page, at, index in self._places(seqs):
            if page in self._pages:
                found[at] = self._pages[page][index]
        return found

    def _places(self, seqs: Any) -> list[tuple[int, Any, Any]]:
        pages = seqs >> PAGE_BITS
        kept = seqs % self._every == 0
        found = []
        for page in np.unique(pages[kept]).tolist():
            at = kept & (pages == page)
            found.append((page, at, (seqs[at] & (PAGE - 1)) // self._every))
        return found
