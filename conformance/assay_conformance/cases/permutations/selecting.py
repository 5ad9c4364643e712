"""The permutations of many Cases that are run by default: few that contain every pair.

A pair is of two values, or of a value and a chapter: whatever can meet, meets once. Cases as they stand run anyhow.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from assay_conformance.cases.permutations.covering import Row, pairs_of
from assay_conformance.cases.permutations.permuting import Allows, everything, permuted, rows
from assay_conformance.model.case import Case


def spread(cases: Iterable[Case], allows: Allows = everything) -> tuple[Case, ...]:
    """Return permutations that contain, with the Cases themselves, every pair that any permutation contains."""
    pairs = _Pairs()
    seen, offered = 0, []
    for case in cases:
        plain, *others = rows(case, allows)
        seen |= pairs.bits_of(case, plain)
        offered += [(case, row, pairs.bits_of(case, row)) for row in others]
    return tuple(permuted(case, row) for case, row in _greedy(offered, seen))


class _Pairs:
    """Pairs as bits of a number. Many Cases of a chapter have the same rows."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[str], int] = {}
        self._known: dict[Row, int] = {}

    def bits_of(self, case: Case, row: Row) -> int:
        """Return the pairs of a row."""
        words = (f"chapter {case.id.partition('/')[0]}", *row)
        bits = self._known.get(words)
        if bits is None:
            numbers = self._numbers
            bits = sum(1 << numbers.setdefault(pair, len(numbers)) for pair in pairs_of(words))
            self._known[words] = bits
        return bits


def _greedy(offered: Sequence[tuple[Case, Row, int]], seen: int) -> list[tuple[Case, Row]]:
    """Take each time the row with most that is new, of the Case that does least; what is new only ever gets less."""
    queue = [(-(bits & ~seen).bit_count(), _cost(case), number) for number, (case, _, bits) in enumerate(offered)]
    heapq.heapify(queue)
    taken = []
    while queue:
        gain, cost, number = heapq.heappop(queue)
        case, row, bits = offered[number]
        now = -(bits & ~seen).bit_count()
        if now != gain:
            heapq.heappush(queue, (now, cost, number))
        elif now:
            taken.append((case, row))
            seen |= bits
        else:
            break
    return taken


def _cost(case: Case) -> tuple[int, int]:
    return case.limits.least_wall_ms, len(case.steps)
